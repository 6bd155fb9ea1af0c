//! Which part of a result fits the caller's budget? The parts that matter most for what the caller is doing, in their
//! order and in valid structure, and what is missing where. Pure.

mod choose;
pub(crate) mod parts;

use super::query::Query;
use super::relevance::{self, Features, Weights};
use crate::envelope::{Omission, Truncation};
use choose::Kept;
pub(crate) use parts::size;
use parts::{Kind, Part, Parts, Whole};
use serde_json::{Map, Value};

/// Bytes that one token stands for.
const BYTES_PER_TOKEN: usize = 4;
/// Least bytes that a result is cut to; a shorter one says nothing.
const LEAST: usize = 64;
/// A part is at most this share of the budget, within these bounds in bytes.
const SHARE: usize = 16;
const GRAIN: std::ops::RangeInclusive<usize> = 256..=4096;
/// Gaps that are told one by one.
const GAPS: usize = 64;

/// By what a result is cut.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'a> {
    /// How much of it there may be.
    pub budget_tokens: u32,
    /// What the caller says that it looks for, or its last arguments.
    pub texts: &'a [&'a str],
    /// What counts how much.
    pub weights: &'a Weights,
}

/// What was cut.
#[derive(Clone, Debug)]
pub struct Cut {
    /// What is missing.
    pub truncation: Truncation,
    /// What it was before.
    pub whole: Value,
}

/// Cuts a value to a budget in tokens, if it does not fit.
pub fn truncate(data: &mut Value, measure: Measure<'_>) -> Option<Cut> {
    let budget = (measure.budget_tokens as usize).saturating_mul(BYTES_PER_TOKEN).max(LEAST);
    let total = size(data);
    if total <= budget {
        return None;
    }
    let whole = std::mem::take(data);
    let parts = parts::split(&whole, (budget / SHARE).clamp(*GRAIN.start(), *GRAIN.end()));
    let scores: Vec<f32> = judge(&parts, &Query::of_all(measure.texts.iter().copied()))
        .iter()
        .map(|features| measure.weights.score(features))
        .collect();
    let kept = choose::choose(&parts, &scores, budget);
    let mut omitted = Omitted::default();
    *data = rebuild(&whole, &parts, &kept, 0, &mut omitted);
    let truncation = Truncation {
        total,
        kept: size(data),
        ranges: omitted.ranges,
        more_ranges: omitted.more,
        reason: format!("the result's budget is {} tokens", measure.budget_tokens),
        handle: None,
    };
    drop(parts);
    Some(Cut { truncation, whole })
}

/// Tokens that so many bytes count as.
pub fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// The features of the parts of a value, with the text of each, as they are for a budget. What weights are fitted to.
pub fn features(data: &Value, budget_tokens: u32, query: &Query) -> Vec<(String, Features)> {
    let budget = (budget_tokens as usize).saturating_mul(BYTES_PER_TOKEN).max(LEAST);
    let parts = parts::split(data, (budget / SHARE).clamp(*GRAIN.start(), *GRAIN.end()));
    let features = judge(&parts, query);
    parts.leaves.iter().map(|leaf| leaf.text.to_string()).zip(features).collect()
}

fn judge(parts: &Parts<'_>, query: &Query) -> Vec<Features> {
    let judged: Vec<relevance::Part<'_>> = parts
        .leaves
        .iter()
        .map(|leaf| {
            let group = &parts.groups[leaf.group];
            relevance::Part {
                text: &leaf.text,
                index: leaf.index,
                among: group.parts.len(),
                is_line: matches!(group.kind, Kind::Lines | Kind::Pieces),
                is_fact: group.kind == Kind::Members && leaf.whole != Whole::Blob,
            }
        })
        .collect();
    relevance::features(&judged, query)
}

/// What was left out, gap by gap.
#[derive(Default)]
struct Omitted {
    ranges: Vec<Omission>,
    more: usize,
}

impl Omitted {
    fn put(&mut self, path: &str, unit: &str, from: usize, to: usize) {
        match self.ranges.len() < GAPS {
            true => self.ranges.push(Omission { path: path.to_owned(), unit: unit.to_owned(), from, to }),
            false => self.more += 1,
        }
    }
}

/// The gaps between the parts that are kept, as ranges of places.
fn gaps(kept: &[bool]) -> Vec<(usize, usize)> {
    let mut gaps = Vec::new();
    let mut from = 0;
    while let Some(start) = kept[from..].iter().position(|kept| !kept).map(|at| from + at) {
        let end = kept[start..].iter().position(|kept| *kept).map_or(kept.len(), |at| start + at);
        gaps.push((start, end));
        from = end;
    }
    gaps
}

/// The value of a group with only the parts that are kept.
fn rebuild(value: &Value, parts: &Parts<'_>, kept: &Kept, group: usize, omitted: &mut Omitted) -> Value {
    let of = &parts.groups[group];
    let is_kept = &kept.parts[group];
    match value {
        Value::String(text) => Value::String(rebuild_text(text, parts, kept, group, 0, omitted)),
        Value::Array(items) => {
            gaps(is_kept).into_iter().for_each(|(from, to)| omitted.put(&of.path, of.kind.unit(), from, to));
            let part = |(index, item)| rebuild_part(item, parts, kept, of.parts[index], omitted);
            Value::Array(items.iter().enumerate().filter(|(index, _)| is_kept[*index]).map(part).collect())
        }
        Value::Object(members) => {
            let mut rest = Map::new();
            let mut gap = None;
            for (index, (key, member)) in members.iter().enumerate() {
                if is_kept[index] {
                    close(&mut gap, index, of, omitted);
                    rest.insert(key.clone(), rebuild_part(member, parts, kept, of.parts[index], omitted));
                } else if matches!(of.parts[index], Part::Leaf(leaf) if parts.leaves[leaf].whole == Whole::Blob) {
                    // Half of an image is none.
                    close(&mut gap, index, of, omitted);
                    let length = member.as_str().map_or(0, str::len);
                    omitted.put(&format!("{}/{key}", of.path), Kind::Pieces.unit(), 0, length);
                    rest.insert(key.clone(), Value::String(String::new()));
                } else {
                    gap.get_or_insert(index);
                }
            }
            close(&mut gap, members.len(), of, omitted);
            Value::Object(rest)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn close(gap: &mut Option<usize>, to: usize, of: &parts::Group, omitted: &mut Omitted) {
    if let Some(from) = gap.take() {
        omitted.put(&of.path, of.kind.unit(), from, to);
    }
}

fn rebuild_part(value: &Value, parts: &Parts<'_>, kept: &Kept, part: Part, omitted: &mut Omitted) -> Value {
    match part {
        Part::Group(inner) => rebuild(value, parts, kept, inner, omitted),
        Part::Leaf(_) | Part::Always => value.clone(),
    }
}

/// The lines or pieces that are kept, with a line in brackets for each gap. `at` is where the text begins in the text
/// of the result.
fn rebuild_text(text: &str, parts: &Parts<'_>, kept: &Kept, group: usize, at: usize, omitted: &mut Omitted) -> String {
    let of = &parts.groups[group];
    let is_kept = &kept.parts[group];
    let units: Vec<&str> = match of.kind {
        Kind::Lines => text.split_inclusive('\n').collect(),
        Kind::Pieces | Kind::Items | Kind::Members => parts::pieces(text).map(|range| &text[range]).collect(),
    };
    let mut rest = String::new();
    let mut offset = at;
    let mut gap: Option<(usize, usize)> = None;
    for (index, unit) in units.iter().enumerate() {
        if is_kept[index] {
            end_gap(&mut gap, (index, offset), of, &mut rest, omitted);
            match of.parts[index] {
                Part::Group(inner) => rest.push_str(&rebuild_text(unit, parts, kept, inner, offset, omitted)),
                Part::Leaf(_) | Part::Always => rest.push_str(unit),
            }
        } else {
            gap.get_or_insert((index, offset));
        }
        offset += unit.len();
    }
    end_gap(&mut gap, (units.len(), offset), of, &mut rest, omitted);
    rest
}

fn end_gap(
    gap: &mut Option<(usize, usize)>,
    end: (usize, usize),
    of: &parts::Group,
    rest: &mut String,
    omitted: &mut Omitted,
) {
    let Some(start) = gap.take() else { return };
    let is_lines = of.kind == Kind::Lines;
    let (from, to) = if is_lines { (start.0, end.0) } else { (start.1, end.1) };
    omitted.put(&of.path, of.kind.unit(), from, to);
    if is_lines {
        let break_before = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
        rest.push_str(&format!("{break_before}[… {} lines left out …]\n", to - from));
    } else {
        rest.push_str(&format!("[… {} bytes left out …]", to - from));
    }
}

#[cfg(test)]
mod tests;
