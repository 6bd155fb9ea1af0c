//! Does a cut result keep what a reader needs? Outputs that were made for this with the lines marked that answer their
//! task, and what head, tail and both keep of them within the same budget.

use crate::support::house::project;
use hermes_runtime::result::relevance::Weights;
use hermes_runtime::result::truncate::{Measure, truncate};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Bytes of a token, as the runtime counts them.
const TOKEN: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Marked {
    /// How it was made, for people.
    #[expect(dead_code, reason = "for people")]
    made: String,
    /// The file with the output.
    output: String,
    /// What the reader works on.
    task: String,
    budget_tokens: u32,
    /// What it needs of the output.
    needed: Vec<String>,
}

/// What part of the needed texts each way of cutting keeps.
struct Recall {
    name: String,
    ours: f64,
    head: f64,
    tail: f64,
    both: f64,
}

fn marked() -> Vec<(String, Marked)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(project().join("tests/outputs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let read = |file: PathBuf| {
        let marked = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        (file.file_stem().unwrap().to_string_lossy().into_owned(), marked)
    };
    files.into_iter().map(read).collect()
}

fn measure(name: String, marked: &Marked) -> Recall {
    let file = project().join("tests/outputs").join(&marked.output);
    let text = std::fs::read_to_string(&file).unwrap();
    let is_json = Path::new(&marked.output).extension().is_some_and(|extension| extension == "json");
    let mut data = if is_json { serde_json::from_str(&text).unwrap() } else { json!({ "text": text }) };
    let weights = Weights::default();
    let texts = [marked.task.as_str()];
    truncate(&mut data, Measure { budget_tokens: marked.budget_tokens, texts: &texts, weights: &weights });
    // Members and items of JSON as a reader finds them: without the escapes.
    let plain = |text: String| if is_json { text.replace("\\\"", "\"") } else { text };
    let budget = (marked.budget_tokens as usize * TOKEN).min(text.len());
    let cut = |from: usize, to: usize| plain(String::from_utf8_lossy(&text.as_bytes()[from..to]).into_owned());
    let recall = |kept: &str| {
        marked.needed.iter().filter(|needed| kept.contains(needed.as_str())).count() as f64 / marked.needed.len() as f64
    };
    let shown = plain(match &data["text"] {
        Value::String(text) => text.clone(),
        _ => data.to_string(),
    });
    let (half, end) = (budget / 2, text.len());
    Recall {
        name,
        ours: recall(&shown),
        head: recall(&cut(0, budget)),
        tail: recall(&cut(end - budget, end)),
        both: recall(&format!("{}\n{}", cut(0, half), cut(end - half, end))),
    }
}

#[test]
fn what_a_task_needs_of_an_output_is_kept_where_head_and_tail_lose_it() {
    let recalls: Vec<Recall> = marked().into_iter().map(|(name, marked)| measure(name, &marked)).collect();
    assert!(recalls.len() >= 40, "{} outputs", recalls.len());
    let mean = |of: fn(&Recall) -> f64| recalls.iter().map(of).sum::<f64>() / recalls.len() as f64;
    for Recall { name, ours, head, tail, both } in &recalls {
        println!("{name:44} relevance {ours:.2}  head {head:.2}  tail {tail:.2}  head and tail {both:.2}");
    }
    let (ours, head, tail, both) = (mean(|of| of.ours), mean(|of| of.head), mean(|of| of.tail), mean(|of| of.both));
    println!("mean of {}: relevance {ours:.3}  head {head:.3}  tail {tail:.3}  head and tail {both:.3}", recalls.len());
    assert!(ours >= 0.95, "{ours}");
    assert!(head.max(tail).max(both) < 0.5, "these outputs do not need relevance: {head} {tail} {both}");
}
