//! Which part of a result fits the caller's budget? Cuts on line and item borders, keeps head and tail, and says what
//! is missing. Pure.

use crate::document::floor_char_boundary;
use crate::envelope::{Omission, Truncation};
use serde_json::{Map, Value};

/// Bytes that one token stands for.
const BYTES_PER_TOKEN: usize = 4;
/// Least bytes that a part is cut to; a shorter one says nothing.
const LEAST: usize = 64;

/// Cuts a value to a budget in tokens, if it does not fit.
pub fn truncate(data: &mut Value, budget_tokens: u32) -> Option<Truncation> {
    let budget = (budget_tokens as usize).saturating_mul(BYTES_PER_TOKEN).max(LEAST);
    let total = size(data);
    if total <= budget {
        return None;
    }
    let mut ranges = Vec::new();
    cut(data, "", budget, &mut ranges);
    Some(Truncation {
        total,
        kept: size(data),
        ranges,
        reason: format!("the result's budget is {budget_tokens} tokens"),
    })
}

/// About how long a value is as JSON, in bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(members) => 2 + members.iter().map(|(key, member)| key.len() + 4 + size(member)).sum::<usize>(),
    }
}

fn cut(value: &mut Value, path: &str, budget: usize, ranges: &mut Vec<Omission>) {
    if size(value) <= budget {
        return;
    }
    match value {
        Value::String(text) => cut_text(text, path, budget, ranges),
        Value::Array(items) => cut_array(items, path, budget, ranges),
        Value::Object(members) => cut_object(members, path, budget, ranges),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Keeps two thirds of the budget from the head and one third from the tail, in whole lines where there are lines.
fn cut_text(text: &mut String, path: &str, budget: usize, ranges: &mut Vec<Omission>) {
    let from = whole_lines_end(text, budget / 3 * 2);
    let to = whole_lines_start(text, text.len() - (budget / 3).min(text.len())).max(from);
    let note = format!("[… {} bytes left out …]\n", to - from);
    ranges.push(Omission { path: path.to_owned(), unit: "bytes".into(), from, to });
    text.replace_range(from..to, &note);
}

fn whole_lines_end(text: &str, at: usize) -> usize {
    let at = floor_char_boundary(text, at);
    text[..at].rfind('\n').map_or(at, |newline| newline + 1)
}

fn whole_lines_start(text: &str, at: usize) -> usize {
    let mut at = at;
    while !text.is_char_boundary(at) {
        at += 1;
    }
    match text[at..].find('\n') {
        Some(newline) if at + newline + 1 < text.len() => at + newline + 1,
        _ => at,
    }
}

fn cut_array(items: &mut Vec<Value>, path: &str, budget: usize, ranges: &mut Vec<Omission>) {
    let fitting = |items: &mut dyn Iterator<Item = &Value>, room: usize| {
        let mut left = room;
        items.take_while(|item| left.checked_sub(size(item) + 1).map(|rest| left = rest).is_some()).count()
    };
    let head = fitting(&mut items.iter(), budget / 3 * 2).max(1).min(items.len());
    let tail = fitting(&mut items[head..].iter().rev(), budget / 3);
    let to = items.len() - tail;
    if head < to {
        ranges.push(Omission { path: path.to_owned(), unit: "items".into(), from: head, to });
        items.drain(head..to);
    }
    if let Some(first) = items.first_mut() {
        cut(first, &format!("{path}/0"), budget / 3 * 2, ranges);
    }
}

/// Small members stay whole; what is left of the budget is shared among the large ones.
fn cut_object(members: &mut Map<String, Value>, path: &str, budget: usize, ranges: &mut Vec<Omission>) {
    if let Some(Value::String(bytes)) = members.get_mut("base64").filter(|bytes| size(bytes) > budget) {
        // Half of an image is none.
        let to = std::mem::take(bytes).len();
        ranges.push(Omission { path: format!("{path}/base64"), unit: "bytes".into(), from: 0, to });
    }
    let mut order: Vec<(usize, String)> = members.iter().map(|(key, member)| (size(member), key.clone())).collect();
    order.sort();
    let mut left = budget.saturating_sub(2);
    let mut count = order.len();
    for (length, key) in order {
        let share = (left / count.max(1)).saturating_sub(key.len() + 4).max(LEAST);
        if let Some(member) = members.get_mut(&key).filter(|_| length > share) {
            let escaped = key.replace('~', "~0").replace('/', "~1");
            cut(member, &format!("{path}/{escaped}"), share, ranges);
        }
        let used = members.get(&key).map_or(0, size) + key.len() + 4;
        left = left.saturating_sub(used);
        count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_fits_is_left_alone() {
        let mut data = json!({ "text": "short" });
        assert!(truncate(&mut data, 8000).is_none());
        assert_eq!(data, json!({ "text": "short" }));
    }

    #[test]
    fn text_is_cut_between_lines_and_keeps_head_and_tail() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let mut data = json!({ "path": "/workspace/a", "text": lines.join("\n") });
        let truncation = truncate(&mut data, 100).unwrap();
        let text = data["text"].as_str().unwrap();
        assert!(text.starts_with("line 0\n") && text.ends_with("line 999"));
        let kept = text.lines().filter(|line| !line.starts_with("[…"));
        assert!(kept.clone().all(|line| lines.contains(&line.to_owned())));
        assert_eq!(truncation.ranges[0].path, "/text");
        assert_eq!(data["path"], "/workspace/a");
    }

    #[test]
    fn arrays_lose_whole_items() {
        let mut data = json!((0..1000).map(|n| json!({ "n": n })).collect::<Vec<_>>());
        let truncation = truncate(&mut data, 100).unwrap();
        let items = data.as_array().unwrap();
        assert_eq!((&items[0]["n"], &items[items.len() - 1]["n"]), (&json!(0), &json!(999)));
        let gap = &truncation.ranges[0];
        assert_eq!(items.len(), 1000 - (gap.to - gap.from));
    }

    proptest! {
        #[test]
        fn whatever_is_cut_fits_about_its_budget(text in "[a-zé€😀\n]{0,3000}", tokens in 30u32..500) {
            let mut data = json!({ "text": text, "n": 1 });
            let truncation = truncate(&mut data, tokens);
            if truncation.is_some() {
                prop_assert!(size(&data) <= tokens as usize * BYTES_PER_TOKEN + LEAST + 80);
            }
        }
    }
}
