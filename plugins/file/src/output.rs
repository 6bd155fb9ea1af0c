//! How is an answer put together? JSON objects for facts, and remarks beside the content.

use serde::Serialize;

use crate::bindings::exports::hermes::tool::tool_execution::Output;
use crate::bindings::hermes::tool::types::Content;

/// One JSON object. Only keys that are no text could make this fail, and there are none.
pub(crate) fn json(facts: &impl Serialize) -> Option<String> {
    serde_json::to_string(facts).ok()
}

/// Content with its facts; a remark is a part of its own, so that it is not taken for content.
pub(crate) fn with_note(mut content: Vec<Content>, facts: &impl Serialize, note: Option<&str>) -> Output {
    content.extend(note.map(|note| Content::Text(format!("[{note}]"))));
    Output { data: json(facts), content, metadata: None }
}

#[derive(Serialize)]
struct OnDisk<'a> {
    on_disk_path: &'a str,
    matched: &'static str,
}

/// Says under which name the file is on disk, if that differs from the one asked for.
pub(crate) fn on_disk(path: Option<&str>) -> Option<String> {
    path.and_then(|on_disk_path| json(&OnDisk { on_disk_path, matched: "unicode_normal_form" }))
}
