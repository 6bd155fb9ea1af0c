//! What did the server answer? Facts, parts and failures, none of them dropped: what says of itself that it is a
//! failure is one, and nothing else is guessed to be.

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::mcp::Binding;
use crate::bindings::hermes::tool::types::{Content, ErrorKind};
use crate::blocks::Blocks;
use crate::{failure, literal};
use regex::Regex;
use serde_json::{Map, Value, json};

/// Longest text that is repeated as an error's message, in bytes.
const MESSAGE: usize = 1500;

/// The answer to a call of a tool.
pub(crate) fn of_tool(binding: &Binding, answer: &str, elapsed_ms: u64) -> Result<Output, Error> {
    let answer = object(&binding.server, answer)?;
    let mut blocks = Blocks::of(answer.get("content"));
    let text = blocks.text();
    let structured = answer.get("structuredContent").filter(|value| !value.is_null());
    if let Some(structured) = structured {
        blocks.content.retain(|part| !repeats(part, structured));
    }
    let is_error = answer.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let fits = |pattern: &String| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text));
    let in_text = !is_error && binding.failure_pattern.as_ref().is_some_and(fits);
    let data = match (binding.mapped && !is_error && !in_text, structured) {
        (true, structured) => Some(facts(&text, structured, elapsed_ms)),
        (false, Some(Value::Object(facts))) => Some(Value::Object(facts.clone())),
        (false, Some(other)) => Some(json!({ "value": other })),
        (false, None) => None,
    };
    if binding.mapped && !is_error && !in_text {
        // The facts have all texts; bytes and links remain.
        blocks.content.retain(|part| matches!(part, Content::Binary(_) | Content::Link(_)));
    }
    let output = blocks.output(data);
    if !is_error && !in_text {
        return Ok(output);
    }
    let reason = if is_error { "reported_error" } else { "reported_in_text" };
    let said = if text.trim().is_empty() { "it says no more".to_owned() } else { cut(text.trim()) };
    let message = format!("the server `{}` reports a failure: {said}", binding.server);
    Err(Error { partial: Some(output), ..failure::error(ErrorKind::ToolFailed, reason, message, None) })
}

/// The content of a resource.
pub(crate) fn of_resource(server: &str, answer: &str) -> Result<Output, Error> {
    let answer = object(server, answer)?;
    let mut blocks = Blocks::default();
    let mut named = Vec::new();
    for content in answer.get("contents").and_then(Value::as_array).into_iter().flatten() {
        blocks.resource(content);
        named.push(json!({ "uri": content.get("uri"), "media_type": content.get("mimeType") }));
    }
    Ok(blocks.output(Some(json!({ "contents": named }))))
}

/// An answer that is facts as it stands.
pub(crate) fn as_it_is(server: &str, answer: &str) -> Result<Output, Error> {
    let mut answer = object(server, answer)?;
    for own in ["_meta", "resultType"] {
        answer.remove(own);
    }
    Ok(Output { data: Some(Value::Object(answer).to_string()), content: Vec::new(), metadata: None })
}

fn object(server: &str, answer: &str) -> Result<Map<String, Value>, Error> {
    let wrong = |reason, why: String| {
        Err(failure::error(ErrorKind::Upstream, reason, format!("the server `{server}`: {why}"), None))
    };
    match serde_json::from_str(answer) {
        Ok(Value::Object(answer)) => Ok(answer),
        Ok(_) => wrong("protocol_error", "its answer is no object".into()),
        Err(error) if error.to_string().starts_with("recursion limit") => {
            wrong("not_nested_so_deep", "its answer is nested deeper than 127 levels".into())
        }
        Err(error) => wrong("protocol_error", format!("its answer cannot be read: {error}")),
    }
}

/// All that can be read out of an answer, for a manifest that maps it: the text, what it means where it is JSON or a
/// literal of Python, how many items that has, the structured content, and the time that the server took.
fn facts(text: &str, structured: Option<&Value>, elapsed_ms: u64) -> Value {
    let read = || serde_json::from_str::<Value>(text).ok().or_else(|| literal::read(text));
    let value = structured.cloned().or_else(read);
    let count = match &value {
        Some(Value::Array(items)) => Some(items.len()),
        Some(Value::Object(items)) => Some(items.len()),
        Some(_) | None => None,
    };
    json!({ "text": text, "value": value, "count": count, "structured": structured, "elapsed_ms": elapsed_ms })
}

/// Whether a text only says again, as JSON, what is there as facts. The protocol asks servers for that.
fn repeats(part: &Content, structured: &Value) -> bool {
    match part {
        Content::Text(text) => serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured),
        Content::Json(_) | Content::Binary(_) | Content::Link(_) => false,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at > MESSAGE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::hermes::tool::mcp::Operation;

    fn binding(mapped: bool, failure_pattern: Option<&str>) -> Binding {
        Binding {
            server: "s".into(),
            operation: Operation::CallTool,
            mapped,
            failure_pattern: failure_pattern.map(str::to_owned),
        }
    }

    fn data(output: &Output) -> Value {
        output.data.as_deref().map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
    }

    #[test]
    fn what_says_that_it_is_an_error_is_one_whatever_comes_with_it() {
        for answer in [
            json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
            json!({ "structuredContent": { "code": "RATE_LIMITED", "retry_after": 30 }, "isError": true }),
            json!({ "content": [], "isError": true }),
        ] {
            let error = of_tool(&binding(false, None), &answer.to_string(), 0).unwrap_err();
            assert_eq!(error.kind, ErrorKind::ToolFailed);
            let kept = error.partial.unwrap();
            assert_eq!(data(&kept), answer.get("structuredContent").cloned().unwrap_or_default());
        }
        let answer = json!({ "content": [{ "type": "text", "text": "Error: none found" }] }).to_string();
        assert!(of_tool(&binding(false, None), &answer, 0).is_ok());
        let error = of_tool(&binding(false, Some("^Error: ")), &answer, 0).unwrap_err();
        assert_eq!(error.reason.as_deref(), Some("reported_in_text"));
    }

    #[test]
    fn unknown_parts_are_kept_and_said() {
        let answer = json!({ "content": [
            { "type": "text", "text": "a", "annotations": { "audience": ["system"] } },
            { "type": "resource_link", "uri": "file:///x", "name": "x" },
            { "type": "hologram", "shape": 1 },
            { "type": "image", "data": "%%", "mimeType": "image/png" },
            7,
        ] });
        let output = of_tool(&binding(false, None), &answer.to_string(), 0).unwrap();
        assert_eq!(output.content.len(), 5);
        assert!(matches!(&output.content[1], Content::Link(link) if link.uri == "file:///x"));
        assert!(matches!(&output.content[2], Content::Json(json) if json.contains("hologram")));
        assert_eq!(output.metadata.unwrap().matches("as it came").count(), 3);
    }

    #[test]
    fn structured_content_of_any_kind_is_facts_and_its_repetition_is_not() {
        let answer = json!({ "content": [{ "type": "text", "text": "{\"a\": 1}" }], "structuredContent": { "a": 1 } });
        let output = of_tool(&binding(false, None), &answer.to_string(), 0).unwrap();
        assert_eq!((data(&output), output.content.len()), (json!({ "a": 1 }), 0));
        let output = of_tool(&binding(false, None), &json!({ "structuredContent": [1] }).to_string(), 0).unwrap();
        assert_eq!(data(&output), json!({ "value": [1] }));
    }

    #[test]
    fn a_mapped_answer_offers_what_can_be_read_out_of_it() {
        let answer = json!({ "content": [{ "type": "text", "text": "[{'id': 1, 'name': \"O'Hara\"}]" }] });
        let facts = data(&of_tool(&binding(true, None), &answer.to_string(), 12).unwrap());
        assert_eq!(facts["value"], json!([{ "id": 1, "name": "O'Hara" }]));
        assert_eq!((&facts["count"], &facts["elapsed_ms"]), (&json!(1), &json!(12)));
    }

    #[test]
    fn what_is_no_answer_is_said() {
        let deep = format!("{{\"content\":{}{}}}", "[".repeat(1000), "]".repeat(1000));
        for (answer, reason) in [("[]", "protocol_error"), ("{", "protocol_error"), (&deep, "not_nested_so_deep")] {
            let error = of_tool(&binding(false, None), answer, 0).unwrap_err();
            assert_eq!(error.reason.as_deref(), Some(reason));
        }
    }
}
