//! Which weights would have shown readers more of what they then used? Fits them to samples and measures what the fit is
//! worth on samples that it has not seen. Pure.

use super::relevance::{FEATURES, Weights};
use super::truncate::{self, Measure};
use serde_json::Value;

/// One result of which a part was shown, with what was needed of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The whole result.
    pub data: Value,
    /// What the reader was looking for.
    pub texts: Vec<String>,
    /// How much could be shown.
    pub budget_tokens: u32,
    /// What the reader needed of it.
    pub needed: Vec<String>,
}

/// What a fit came to.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The weights.
    pub weights: Weights,
    /// Samples that they were fitted to.
    pub fitted: usize,
    /// Samples that they were measured on, none of which they were fitted to.
    pub held_out: usize,
    /// Recall on the held-out samples with the weights before.
    pub before: f64,
    /// And with these.
    pub after: f64,
}

/// Fewer samples than this say nothing.
pub const LEAST: usize = 12;
/// One sample in so many is held out.
const HOLD_OUT: usize = 3;
/// How often each weight is tried.
const PASSES: usize = 3;
/// What a weight is multiplied by, and what is added to it, to see whether that is better.
const STEPS: [(f32, f32); 6] = [(0.5, 0.0), (0.8, 0.0), (1.25, 0.0), (2.0, 0.0), (1.0, 0.5), (1.0, -0.5)];

/// Fits weights by changing one at a time for as long as recall rises. Nothing if there are too few samples.
pub fn tune(samples: &[Sample], known: &Weights) -> Option<Tuned> {
    if samples.len() < LEAST {
        return None;
    }
    let held: Vec<&Sample> = samples.iter().step_by(HOLD_OUT).collect();
    let fitting = |(index, sample)| (index % HOLD_OUT != 0).then_some(sample);
    let fitted: Vec<&Sample> = samples.iter().enumerate().filter_map(fitting).collect();
    let mut weights = known.clone();
    let mut best = recall(&fitted, &weights);
    for _ in 0..PASSES {
        let at_start = best;
        for feature in 0..FEATURES {
            for (factor, more) in STEPS {
                let mut other = weights.clone();
                other.0[feature] = other.0[feature] * factor + more;
                let found = recall(&fitted, &other);
                if found > best {
                    (weights, best) = (other, found);
                }
            }
        }
        if best <= at_start {
            break;
        }
    }
    let (before, after) = (recall(&held, known), recall(&held, &weights));
    Some(Tuned { weights, fitted: fitted.len(), held_out: held.len(), before, after })
}

/// The mean share of what was needed that would be shown.
pub fn recall(samples: &[&Sample], weights: &Weights) -> f64 {
    let of = |sample: &&Sample| {
        let mut data = sample.data.clone();
        let texts: Vec<&str> = sample.texts.iter().map(String::as_str).collect();
        truncate::truncate(&mut data, Measure { budget_tokens: sample.budget_tokens, texts: &texts, weights });
        shown(&data, &sample.needed)
    };
    samples.iter().map(of).sum::<f64>() / samples.len().max(1) as f64
}

/// The share of some texts that are in a value.
pub fn shown(data: &Value, needed: &[String]) -> f64 {
    let there = needed.iter().filter(|text| contains(data, text)).count();
    there as f64 / needed.len().max(1) as f64
}

/// Whether a text is in one of a value's texts.
pub fn contains(data: &Value, text: &str) -> bool {
    match data {
        Value::String(whole) => whole.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(members) => members.iter().any(|(key, member)| key.contains(text) || contains(member, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Users who always go on with what stands at the end of a list of equal lines, which nothing else distinguishes.
    fn samples() -> Vec<Sample> {
        (0..24)
            .map(|number| {
                let lines: Vec<String> = (0..400)
                    .map(|line| format!("{} step {} of run {number}", word(line), word(line + number)))
                    .collect();
                let needed = lines[lines.len() - 40..lines.len() - 20].to_vec();
                Sample { data: json!(lines.join("\n")), texts: vec![], budget_tokens: 300, needed }
            })
            .collect()
    }

    fn word(number: usize) -> String {
        (0..6).map(|place| char::from(b'a' + ((number / 7 + place * number) % 26) as u8)).collect()
    }

    #[test]
    fn weights_that_are_fitted_show_more_of_what_is_needed_also_where_they_were_not_fitted() {
        let known = Weights::default();
        let tuned = tune(&samples(), &known).unwrap();
        assert!(tuned.after > tuned.before + 0.1, "{tuned:?}");
        assert!(tuned.held_out >= 8 && tuned.fitted >= 16);
        assert!(tune(&samples()[..4], &known).is_none(), "four results say nothing");
    }
}
