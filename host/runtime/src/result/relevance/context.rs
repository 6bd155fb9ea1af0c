//! Which lines explain those that matter? What follows them, what stands right before, what they are indented beneath.
//! Pure; must not know why a line matters.

use super::{Feature, Features, Part};

/// What stands around a line that matters explains it: what follows, a little of what comes before, and the lines that
/// it is indented beneath.
pub(super) fn context(parts: &[Part<'_>], own: &[f32], features: &mut [Features]) {
    const DEEPER: f32 = 0.85;
    const AFTER: f32 = 0.65;
    const BEFORE: f32 = 0.5;
    let (mut carried, mut from) = (0.0, 0);
    for (index, part) in parts.iter().enumerate() {
        if !part.is_line || part.index == 0 {
            carried = 0.0;
        }
        let depth = depth(part.text);
        // What is indented beneath a line belongs to it, what stands beside it may not, and a blank line ends a block.
        carried *= depth.map_or(0.5, |depth| if depth > from { DEEPER } else { AFTER });
        features[index][Feature::Context as usize] = carried;
        if own[index] > carried {
            (carried, from) = (own[index], depth.unwrap_or_default());
        }
    }
    carried = 0.0;
    for (index, part) in parts.iter().enumerate().rev() {
        if !part.is_line || part.index + 1 == part.among {
            carried = 0.0;
        }
        carried *= BEFORE;
        let context = &mut features[index][Feature::Context as usize];
        *context = context.max(carried);
        carried = f32::max(carried, own[index]);
    }
    headings(parts, own, features);
}

/// A line that others are indented beneath is their heading, together with the lines right above it.
fn headings(parts: &[Part<'_>], own: &[f32], features: &mut [Features]) {
    const HEADING: f32 = 0.7;
    const LINES: usize = 4;
    // The lines that the present one is indented beneath, with their indentation.
    let mut above: Vec<(usize, usize)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if !part.is_line || part.index == 0 {
            above.clear();
        }
        let Some(indentation) = depth(part.text).filter(|_| part.is_line) else { continue };
        while above.last().is_some_and(|(_, other)| *other >= indentation) {
            above.pop();
        }
        let mut worth = own[index];
        for (heading, beneath) in above.iter().rev().take(LINES) {
            worth *= HEADING;
            for line in (heading.saturating_sub(LINES - 1)..=*heading).rev() {
                if !parts[line].is_line || depth(parts[line].text) != Some(*beneath) {
                    break;
                }
                let context = &mut features[line][Feature::Context as usize];
                *context = context.max(worth);
            }
        }
        above.push((index, indentation));
    }
}

/// How far a line is indented; a blank one is not a line.
fn depth(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let text = line.trim_start_matches([' ', '\t']);
    (!text.is_empty()).then(|| line.len() - text.len())
}
