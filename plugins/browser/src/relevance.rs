//! Which lines of an outline are worth showing when not all can be? Those that have words of the task, those that can be
//! used, those that say what a part is about, each with what contains it; then the rest from the top. Pure.

use std::collections::HashSet;

use crate::outline::Line;

/// Words that say nothing about a task.
const COMMON: &[&str] = &["the", "and", "for", "with", "that", "this", "from", "into", "page", "then", "click", "find"];

/// An outline as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) text: String,
    /// Lines that were left out.
    pub(crate) omitted: usize,
}

/// Puts lines together, at most so many bytes of them.
pub(crate) fn cut(lines: &[Line], task: Option<&str>, budget: usize) -> Cut {
    let cost = |line: &Line| line.text.len() + 2 * line.level + 1;
    if lines.iter().map(cost).sum::<usize>() <= budget {
        return Cut { text: put_together(lines, &vec![true; lines.len()]), omitted: 0 };
    }
    let words = words(task.unwrap_or_default());
    let mut order: Vec<usize> = (0..lines.len()).collect();
    // Stable, so that equals stay in reading order.
    order.sort_by_key(|at| std::cmp::Reverse(score(&lines[*at], &words)));
    let parents = parents(lines);
    let mut kept = vec![false; lines.len()];
    let mut left = budget;
    for at in order {
        // A line without what contains it would seem to belong elsewhere.
        let mut needed = Vec::new();
        let mut next = Some(at);
        while let Some(line) = next.filter(|line| !kept[*line]) {
            needed.push(line);
            next = parents[line];
        }
        // What stands for a gap is counted too.
        let sum: usize = needed.iter().map(|line| cost(&lines[*line]) + 8).sum();
        if sum > left {
            continue;
        }
        left -= sum;
        needed.into_iter().for_each(|line| kept[line] = true);
    }
    let omitted = kept.iter().filter(|kept| !**kept).count();
    Cut { text: put_together(lines, &kept), omitted }
}

fn score(line: &Line, words: &HashSet<String>) -> usize {
    let text = line.text.to_lowercase();
    let hits = words.iter().filter(|word| text.contains(word.as_str())).count();
    hits * 4 + usize::from(line.interactive) * 2 + usize::from(line.landmark) * 2
}

fn words(task: &str) -> HashSet<String> {
    let words = task.split(|sign: char| !sign.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2 && !COMMON.contains(&word.as_str())).take(50).collect()
}

/// The line that contains each line.
fn parents(lines: &[Line]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut parents = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        while open.last().is_some_and(|last| lines[*last].level >= line.level) {
            open.pop();
        }
        parents.push(open.last().copied());
        open.push(at);
    }
    parents
}

/// Lines with their indentation; a gap is shown, so that nobody takes two lines for neighbours that are not.
fn put_together(lines: &[Line], kept: &[bool]) -> String {
    let mut text = String::new();
    let mut is_gap = false;
    for (line, kept) in lines.iter().zip(kept) {
        if !kept {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap) {
            text.push_str("…\n");
        }
        text.push_str(&"  ".repeat(line.level));
        text.push_str(&line.text);
        text.push('\n');
    }
    if is_gap {
        text.push_str("…\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: usize, text: &str, interactive: bool) -> Line {
        Line { level, text: text.into(), interactive, landmark: false }
    }

    #[test]
    fn what_the_task_names_survives_with_what_contains_it() {
        let mut lines: Vec<Line> =
            (0..500).map(|number| line(0, &format!("- filler number {number}"), false)).collect();
        lines.push(line(0, "- list \"Invoices\"", false));
        lines.push(line(1, "- button \"Pay invoice 77\"", true));
        let cut = cut(&lines, Some("pay the invoice"), 400);
        assert!(cut.text.contains("- list \"Invoices\"\n  - button \"Pay invoice 77\""), "{}", cut.text);
        assert!(cut.text.len() <= 400 && cut.omitted > 450, "{} bytes", cut.text.len());
    }

    #[test]
    fn what_fits_is_whole() {
        let lines = [line(0, "- a", false), line(1, "- b", false)];
        assert_eq!(cut(&lines, None, 100), Cut { text: "- a\n  - b\n".into(), omitted: 0 });
    }
}
