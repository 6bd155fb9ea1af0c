//! Is what a component returned within its limits? Its bytes, and the number of values that its JSON comes to, since a
//! value in memory is many times larger than its text.

use super::limits::Limits;
use super::{Content, Output};
use crate::error::Kind;

/// Most values of all JSON in one output. Each takes up to some hundred bytes of the host's memory.
const JSON_VALUES: usize = 1_000_000;

/// Which limit an output exceeds, if it does.
pub(super) fn exceeds(output: &Output, limits: &Limits) -> Option<(Kind, &'static str)> {
    if size(output) > limits.output {
        return Some((Kind::OutputLimit, "bytes"));
    }
    (json_values(output) > JSON_VALUES).then_some((Kind::OutputLimit, "json_values"))
}

/// Bytes of an output.
pub(super) fn size(output: &Output) -> usize {
    let content: usize = output.content.iter().map(content_size).sum();
    let facts = [&output.data, &output.metadata].into_iter().flatten().map(String::len).sum::<usize>();
    content + facts
}

/// The size of one part, with something for the part itself, so that many empty ones are large too.
fn content_size(content: &Content) -> usize {
    const PART: usize = 32;
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    PART + match content {
        Content::Text(text) | Content::Json(text) => text.len(),
        Content::Binary(blob) => blob.data.len() + blob.media_type.len(),
        Content::Link(link) => {
            link.uri.len() + link.name.len() + optional(&link.media_type) + optional(&link.description)
        }
    }
}

fn json_values(output: &Output) -> usize {
    let parts = output.content.iter().filter_map(|content| match content {
        Content::Json(text) => Some(text),
        Content::Text(_) | Content::Binary(_) | Content::Link(_) => None,
    });
    [&output.data, &output.metadata].into_iter().flatten().chain(parts).map(|text| at_most(text)).sum()
}

/// How many values a JSON text can have: one more than it has signs that begin another one.
fn at_most(json: &str) -> usize {
    // A short text cannot have many, and most are short.
    if json.len() <= JSON_VALUES / 64 {
        return 1;
    }
    let mut quoted = false;
    let mut escaped = false;
    let mut count = 1;
    for byte in json.bytes() {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b',' | b'[' | b'{' | b':') => count += 1,
            (true | false, _) => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: String) -> Output {
        Output { data: Some(text), content: Vec::new(), metadata: None }
    }

    #[test]
    fn values_are_counted_and_what_stands_in_a_text_is_none() {
        let list = format!("{{\"a\": [{}0]}}", "0,".repeat(JSON_VALUES));
        assert!(json_values(&json(list)) > JSON_VALUES);
        let text = format!("{{\"a\": \"{}\"}}", ",[{\\\"".repeat(JSON_VALUES));
        assert_eq!(json_values(&json(text)), 3);
    }
}
