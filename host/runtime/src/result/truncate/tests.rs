//! Is what is left of a result valid, in order, within its budget, and what a reader needs?

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn cut(data: &mut Value, budget_tokens: u32, task: &str) -> Option<Truncation> {
    truncate(data, Measure { budget_tokens, texts: &[task], weights: &Weights::default() }).map(|cut| cut.truncation)
}

#[test]
fn what_fits_is_left_alone() {
    let mut data = json!({ "text": "short" });
    assert!(cut(&mut data, 8000, "").is_none());
    assert_eq!(data, json!({ "text": "short" }));
}

#[test]
fn text_is_cut_between_lines_and_keeps_head_and_tail() {
    let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
    let mut data = json!({ "path": "/workspace/a", "text": lines.join("\n") });
    let truncation = cut(&mut data, 100, "").unwrap();
    let text = data["text"].as_str().unwrap();
    assert!(text.starts_with("line 0\n") && text.ends_with("line 999"), "{text}");
    let kept = text.lines().filter(|line| !line.starts_with("[…"));
    assert!(kept.clone().all(|line| lines.contains(&line.to_owned())));
    assert_eq!((truncation.ranges[0].path.as_str(), truncation.ranges[0].unit.as_str()), ("/text", "lines"));
    assert_eq!(data["path"], "/workspace/a");
}

#[test]
fn arrays_lose_whole_items() {
    let mut data = json!((0..1000).map(|n| json!({ "n": n })).collect::<Vec<_>>());
    let truncation = cut(&mut data, 100, "").unwrap();
    let items = data.as_array().unwrap();
    assert_eq!((&items[0]["n"], &items[items.len() - 1]["n"]), (&json!(0), &json!(999)));
    let left_out: usize = truncation.ranges.iter().map(|gap| gap.to - gap.from).sum();
    assert_eq!(items.len(), 1000 - left_out);
}

#[test]
fn of_ten_thousand_names_those_that_the_task_is_about_are_seen() {
    let mut names: Vec<String> =
        (0..9800).map(|n| format!("node_modules/pkg{}/src/api/index{n}.js", n % 300)).collect();
    names.extend((0..150).map(|n| format!("docs/page{n}.md")));
    let wanted: Vec<String> = (0..50).map(|n| format!("src/api/handler{n}.ts")).collect();
    names.extend(wanted.iter().cloned());
    names.sort();
    let mut data = json!({ "path": "/workspace", "entries": names });
    cut(&mut data, 1000, "Fix the error handling in src/api").unwrap();
    let kept: Vec<&str> = data["entries"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(wanted.iter().all(|name| kept.contains(&name.as_str())), "{kept:?}");
    assert!(kept.is_sorted(), "the order is that of the result");
}

#[test]
fn an_error_in_the_middle_survives() {
    let mut lines: Vec<String> = (0..5000).map(|n| format!("   Compiling crate_{n} v1.0.{n}")).collect();
    lines.insert(
        2500,
        "error[E0308]: mismatched types\n  --> src/lib.rs:4:5\n   |\n4  |     x\n   |     ^ expected `u8`".into(),
    );
    let mut data = json!(lines.join("\n"));
    cut(&mut data, 500, "").unwrap();
    let text = data.as_str().unwrap();
    assert!(
        text.contains("mismatched types\n  --> src/lib.rs:4:5\n   |\n4  |     x\n   |     ^ expected `u8`"),
        "{text}"
    );
}

#[test]
fn a_long_line_is_cut_in_pieces_and_says_where() {
    let mut data = json!({ "text": format!("{} needle {}", "é".repeat(20_000), "x".repeat(20_000)) });
    let truncation = cut(&mut data, 500, "needle").unwrap();
    assert!(data["text"].as_str().unwrap().contains("needle"));
    assert!(truncation.ranges.iter().all(|gap| gap.unit == "bytes" && gap.path == "/text"));
}

#[test]
fn half_of_an_image_is_none() {
    let mut data =
        json!({ "content": [{ "type": "binary", "media_type": "image/png", "base64": "A".repeat(100_000) }] });
    let truncation = cut(&mut data, 200, "").unwrap();
    assert_eq!(data["content"][0]["base64"], "");
    assert!(truncation.ranges.iter().any(|gap| gap.path == "/content/0/base64" && gap.to == 100_000));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z é€😀\n/]{0,400}".prop_map(Value::from),
        "[a-z]{600,900}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 256, 40, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
            prop::collection::btree_map("[a-z~/]{1,8}", inner, 0..40).prop_map(|map| json!(map)),
        ]
    })
}

/// Whether `part` is `whole` with things left out.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Array(part), Value::Array(whole)) => {
            let mut rest = whole.iter();
            part.iter().all(|item| rest.any(|other| is_part(item, other)))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|other| is_part(value, other)))
        }
        (Value::String(part), Value::String(whole)) => {
            let mut from = 0;
            part.split("[…").enumerate().all(|(index, piece)| {
                let piece =
                    if index == 0 { piece } else { piece.split_once("left out …]").map_or("", |(_, rest)| rest) };
                let piece = piece.trim_matches('\n');
                whole[from..].find(piece).map(|at| from += at + piece.len()).is_some()
            })
        }
        (part, whole) => part == whole,
    }
}

proptest! {
    #[test]
    fn whatever_is_cut_fits_about_its_budget_and_is_a_part_in_order(
        data in any_json(), tokens in 100u32..1000, task in "[a-z/ ]{0,30}"
    ) {
        let mut part = data.clone();
        if cut(&mut part, tokens, &task).is_some() {
            // What an object keeps whatever its budget is, is bounded by its number of members.
            let always = 32 * 200;
            prop_assert!(size(&part) <= tokens as usize * BYTES_PER_TOKEN + always, "{} of {tokens}", size(&part));
            prop_assert!(is_part(&part, &data), "{part:#}");
        }
    }

    #[test]
    fn text_fits_its_budget(text in "[a-zé€😀\n]{0,6000}", tokens in 60u32..500) {
        let mut data = json!({ "text": text, "n": 1 });
        if cut(&mut data, tokens, "a b").is_some() {
            prop_assert!(size(&data) <= tokens as usize * BYTES_PER_TOKEN, "{} of {tokens}", size(&data));
        }
    }
}
