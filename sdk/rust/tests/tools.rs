//! Does a function become the tool that its author means? Schema, defaults, failures, and what the runtime hands in.
#![expect(clippy::too_many_arguments, reason = "a tool has as many arguments as it needs")]

use hermes_sdk::native::World;
use hermes_sdk::{Answer, Call, Failure, Files, Http, Kind, Level, Result, Schema, Secrets, plugin, tool};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(serde::Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Bytes,
    WordsOnly,
}

#[derive(serde::Deserialize, Schema)]
struct Range {
    /// The first one.
    #[arg(min = 0)]
    from: u32,
    to: Option<u32>,
}

/// Count what a file has.
///
/// Lines end with a line feed.
#[tool]
fn count(
    /// A virtual path.
    #[arg(max_length = 4096, pattern = "^/")]
    path: String,
    unit: Unit,
    /// Only these.
    range: Option<Range>,
    #[arg(default = 10_u8, min = 1, max = 100)] most: u8,
    tags: Vec<String>,
    options: BTreeMap<String, bool>,
    files: &Files,
    call: &Call,
) -> Result<Value> {
    call.log(Level::Info, "counting");
    let text = files.read_text(&path, 1000)?;
    let from = range.map_or(0, |range| range.from + range.to.unwrap_or_default());
    let _ = (tags, options);
    let found = match unit {
        Unit::Bytes => text.len(),
        Unit::WordsOnly => text.split_whitespace().count(),
    };
    Ok(json!({ "found": found, "from": from, "most": most }))
}

/// Answer with a text.
#[tool(name = "plain-text")]
fn plain() -> &'static str {
    "hello"
}

/// Ask a service.
#[tool]
fn ask(http: &Http, secrets: &Secrets) -> Result<Answer> {
    let request = hermes_sdk::Request::get("https://a.test/").header("x-key", secrets.handle("api")?);
    Ok(Answer::text(String::from_utf8_lossy(&http.send(&request)?.success()?.body)).note("asked", true))
}

fn sick() -> Result<()> {
    Err(Failure::new(Kind::Unavailable, "not today"))
}

plugin! { name: "test", tools: [count, plain, ask], health: sick }

#[test]
fn the_schema_is_that_of_types_and_documentation() {
    let tool = &plugin().tools[0];
    assert_eq!((tool.name, tool.description), ("count", "Count what a file has.\n\nLines end with a line feed."));
    let expect = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "maxLength": 4096, "pattern": "^/", "description": "A virtual path." },
            "unit": { "type": "string", "enum": ["bytes", "words_only"] },
            "range": {
                "type": "object",
                "properties": {
                    "from": { "type": "integer", "minimum": 0, "maximum": u32::MAX, "description": "The first one." },
                    "to": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
                },
                "required": ["from"], "additionalProperties": false, "description": "Only these.",
            },
            "most": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "options": { "type": "object", "additionalProperties": { "type": "boolean" } },
        },
        "required": ["path", "unit", "tags", "options"], "additionalProperties": false,
    });
    assert_eq!(tool.schema(), expect, "{:#}", tool.schema());
}

#[test]
fn arguments_come_typed_with_their_defaults() {
    let arguments =
        json!({ "path": "/workspace/a", "unit": "words_only", "tags": [], "options": {}, "range": { "from": 2 } });
    let world = World::new().file("/workspace/a", "one two");
    let (answer, world) = world.run(|| plugin().tools[0].run(&arguments.to_string(), &Call::for_test()));
    assert_eq!(Value::Object(answer.unwrap().facts.unwrap()), json!({ "found": 2, "from": 2, "most": 10 }));
    assert_eq!(world.log, [(Level::Info, "counting".to_owned())]);
}

#[test]
fn failures_of_capabilities_keep_their_reasons() {
    let arguments = json!({ "path": "/workspace/none", "unit": "bytes", "tags": [], "options": {} }).to_string();
    let failure = plugin().tools[0].run(&arguments, &Call::for_test()).unwrap_err();
    assert_eq!((failure.kind, failure.reason.as_deref()), (Kind::ToolFailed, Some("not_found")));
    let failure = plugin().tools[0].run("{}", &Call::for_test()).unwrap_err();
    assert_eq!(failure.kind, Kind::InvalidInput);
}

#[test]
fn texts_and_answers_are_answers_too() {
    let answer = plugin().tools[1].run("{}", &Call::for_test()).unwrap();
    assert_eq!((plugin().tools[1].name, answer), ("plain-text", Answer::text("hello")));
    let world = World::new().secret("api").answer("GET", "https://a.test/", 200, "fine");
    let (answer, world) = world.run(|| plugin().tools[2].run("{}", &Call::for_test()));
    assert_eq!(answer.unwrap().notes.unwrap()["asked"], true);
    assert_eq!(world.requests[0].headers[0].1, "hermes-secret-of-test-api");
    assert_eq!(plugin().check_health().unwrap_err().message, "not today");
}

/// What a newcomer writes first and what the compiler says to it.
#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
