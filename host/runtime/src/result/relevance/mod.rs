//! How much does a reader want to see each part of a result? Features that can be computed from the parts alone, and
//! the weights that make a score of them. Pure; must not know how parts are cut out or put together.

mod context;
mod look;

use super::query::Query;
use aho_corasick::{AhoCorasick, MatchKind};
use look::Seen;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a part is judged by. The names are those of weights in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Words of the task (BM25), the best part being 1.
    Terms,
    /// How near its paths are to those of the task.
    Path,
    /// It tells of an error, as few others do.
    Error,
    /// It tells of a warning, as few others do.
    Warning,
    /// It sums up.
    Summary,
    /// It stands near a part that matters.
    Context,
    /// It stands at the beginning.
    Head,
    /// It stands at the end.
    Tail,
    /// No other part is like it.
    Rarity,
    /// It is newer than others.
    Recency,
    /// It is a fact beside other facts.
    Fact,
    /// It comes from a folder of generated or foreign things.
    Foreign,
}

/// How many features there are.
pub const FEATURES: usize = 12;

/// The features of one part.
pub type Features = [f32; FEATURES];

impl Feature {
    /// All of them, in the order of [`Features`].
    pub const ALL: [Feature; FEATURES] = [
        Feature::Terms,
        Feature::Path,
        Feature::Error,
        Feature::Warning,
        Feature::Summary,
        Feature::Context,
        Feature::Head,
        Feature::Tail,
        Feature::Rarity,
        Feature::Recency,
        Feature::Fact,
        Feature::Foreign,
    ];
}

/// What each feature counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights(pub Features);

impl Default for Weights {
    /// Fitted by hand on the corpus of the tests; `results tune` fits them to a user's own records.
    fn default() -> Weights {
        let mut weights = [0.0; FEATURES];
        let of = [
            (Feature::Terms, 3.0),
            (Feature::Path, 4.0),
            (Feature::Error, 3.5),
            (Feature::Warning, 0.8),
            (Feature::Summary, 2.0),
            (Feature::Context, 0.75),
            (Feature::Head, 1.0),
            (Feature::Tail, 1.5),
            (Feature::Rarity, 0.8),
            (Feature::Recency, 0.3),
            (Feature::Fact, 3.0),
            (Feature::Foreign, -2.5),
        ];
        of.into_iter().for_each(|(feature, weight)| weights[feature as usize] = weight);
        Weights(weights)
    }
}

impl Weights {
    pub(crate) fn score(&self, features: &Features) -> f32 {
        self.0.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }
}

/// One part of a result as it is judged.
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    /// Its place among its neighbours, and how many there are.
    pub(super) index: usize,
    pub(super) among: usize,
    /// Whether its neighbours are lines, so that what is around it explains it.
    pub(super) is_line: bool,
    /// Whether it is a fact with a name of its own.
    pub(super) is_fact: bool,
}

/// Folders whose content nobody wrote here.
const FOREIGN: &[&str] = &[
    "node_modules/",
    "target/debug/",
    "target/release/",
    "vendor/",
    "dist/",
    ".git/",
    "__pycache__/",
    ".venv/",
    "site-packages/",
    ".cache/",
    "bower_components/",
    ".next/",
    ".cargo/registry/",
    "third_party/",
    ".tox/",
    "usr/include/",
    "usr/lib/",
    "rustc/",
    "node:internal/",
];

/// The features of every part.
pub(super) fn features(parts: &[Part<'_>], query: &Query) -> Vec<Features> {
    let seen: Vec<Seen> = parts.iter().map(|part| look::look(part.text, query)).collect();
    let mut features = vec![[0.0; FEATURES]; parts.len()];
    terms(&seen, query, &mut features);
    paths(parts, query, &mut features);
    trouble(&seen, &mut features);
    likeness(&seen, &mut features);
    for (part, features) in parts.iter().zip(&mut features) {
        place(part, features);
    }
    let own: Vec<f32> = features.iter().map(matters).collect();
    context::context(parts, &own, &mut features);
    features
}

/// How much a part matters by itself, which what stands around it gets a share of.
fn matters(features: &Features) -> f32 {
    let weights = Weights::default();
    let of = |feature: Feature| features[feature as usize] * weights.0[feature as usize];
    let own = of(Feature::Error) + of(Feature::Terms) + of(Feature::Path);
    own * (1.0 - 0.7 * features[Feature::Foreign as usize])
}

/// BM25 over the parts of this one result. `k1` and `b` are lower than for documents: parts are lines, and a long one
/// is not less about a word for being long.
fn terms(seen: &[Seen], query: &Query, features: &mut [Features]) {
    const K1: f32 = 1.2;
    const B: f32 = 0.4;
    let mut with = vec![0_u32; query.terms.len()];
    seen.iter().flat_map(|seen| &seen.terms).for_each(|(term, _)| with[usize::from(*term)] += 1);
    let count = seen.len() as f32;
    let rare = |(with, counts): (&u32, &f32)| counts * (1.0 + (count - *with as f32 + 0.5) / (*with as f32 + 0.5)).ln();
    let rare: Vec<f32> = with.iter().zip(&query.counts).map(rare).collect();
    let mean = (seen.iter().map(|seen| seen.words as f32).sum::<f32>() / count.max(1.0)).max(1.0);
    let score = |seen: &Seen| -> f32 {
        let length = K1 * (1.0 - B + B * seen.words as f32 / mean);
        let of = |(term, count): &(u8, u16)| {
            let count = f32::from(*count);
            rare[usize::from(*term)] * count * (K1 + 1.0) / (count + length)
        };
        seen.terms.iter().map(of).sum()
    };
    let scores: Vec<f32> = seen.iter().map(score).collect();
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        // A word that every part has tells nothing, however it compares to no word at all.
        let tells = (best / (1.0 + count).ln()).min(1.0);
        scores
            .iter()
            .zip(features)
            .for_each(|(score, features)| features[Feature::Terms as usize] = tells * score / best);
    }
}

/// The nearness of a part's paths to those of the task: 1 beneath the path itself, less beneath folders above it, half
/// where it is only part of another path. Foreign folders are marked unless the task names one.
fn paths(parts: &[Part<'_>], query: &Query, features: &mut [Features]) {
    let mut needles: Vec<(String, f32)> = Vec::new();
    for path in &query.paths {
        let components: Vec<&str> = path.split('/').collect();
        for kept in (1..=components.len()).rev().take(4) {
            let missing = (components.len() - kept) as f32;
            // The topmost folder of a longer path holds half of the project.
            let near = if kept == 1 && missing > 0.0 { 0.15 } else { 0.6_f32.powf(missing) };
            needles.push((components[..kept].join("/").to_lowercase(), near));
        }
        if components.len() > 1
            && let Some(name) = components.last()
        {
            needles.push((name.to_lowercase(), 0.5));
        }
    }
    let asked = |folder: &&&str| !query.paths.iter().any(|path| format!("{path}/").contains(**folder));
    let known = needles.len();
    needles.extend(FOREIGN.iter().filter(asked).map(|folder| ((*folder).to_owned(), 0.0)));
    let texts = needles.iter().map(|(text, _)| text);
    let Ok(finder) = AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(texts)
    else {
        return;
    };
    for (part, features) in parts.iter().zip(features) {
        let bytes = part.text.as_bytes();
        for found in finder.find_overlapping_iter(part.text) {
            let before = found.start().checked_sub(1).map(|at| bytes[at]);
            let after = bytes.get(found.end()).copied();
            if before.is_some_and(is_name) {
                continue;
            }
            let number = found.pattern().as_usize();
            if number >= known {
                features[Feature::Foreign as usize] = 1.0;
                continue;
            }
            if after.is_some_and(is_name) {
                continue;
            }
            let at_start = begins_path(&part.text[..found.start()]);
            let near = needles[number].1 * if at_start { 1.0 } else { 0.5 };
            let feature = &mut features[Feature::Path as usize];
            *feature = feature.max(near);
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

/// Whether a path of the project begins where a text ends.
fn begins_path(before: &str) -> bool {
    let before = before.strip_suffix("./").unwrap_or(before);
    let before = before.strip_suffix("/workspace/").unwrap_or(before);
    !before.ends_with('/')
}

/// Errors and warnings tell the more the fewer there are, and the first of several alike tells most.
fn trouble(seen: &[Seen], features: &mut [Features]) {
    type Is = fn(&Seen) -> bool;
    let kinds: [(Feature, f32, Is); 4] = [
        (Feature::Error, 1.0, |seen| seen.failure),
        (Feature::Error, 0.35, |seen| seen.trouble && !seen.failure),
        (Feature::Warning, 1.0, |seen| seen.warning && !seen.failure),
        (Feature::Summary, 1.0, |seen| seen.summary),
    ];
    for (feature, most, is) in kinds {
        let share = seen.iter().filter(|seen| is(seen)).count() as f32 / seen.len().max(1) as f32;
        let mut alike: HashMap<u64, f32> = HashMap::new();
        for (seen, features) in seen.iter().zip(&mut *features).filter(|(seen, _)| is(seen)) {
            let before = alike.entry(seen.shape).or_default();
            features[feature as usize] = most * (1.0 - share).powi(2) / (1.0 + *before / 4.0).sqrt();
            *before += 1.0;
        }
    }
}

/// A line that is like many others is worth less than one that is like none.
fn likeness(seen: &[Seen], features: &mut [Features]) {
    let mut alike: HashMap<u64, f32> = HashMap::new();
    seen.iter().for_each(|seen| *alike.entry(seen.shape).or_default() += 1.0);
    for (seen, features) in seen.iter().zip(features) {
        let count = alike.get(&seen.shape).copied().unwrap_or(1.0);
        features[Feature::Rarity as usize] = if seen.words == 0 { 0.0 } else { 1.0 / count };
    }
}

fn place(part: &Part<'_>, features: &mut Features) {
    let from_end = part.among.saturating_sub(part.index + 1);
    features[Feature::Head as usize] = 1.0 / (1.0 + part.index as f32 / 3.0);
    features[Feature::Tail as usize] = 1.0 / (1.0 + from_end as f32 / 4.0);
    features[Feature::Recency as usize] = if part.is_line { (part.index + 1) as f32 / part.among as f32 } else { 0.0 };
    features[Feature::Fact as usize] = f32::from(u8::from(part.is_fact));
}
