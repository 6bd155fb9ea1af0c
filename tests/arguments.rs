//! Which arguments reach a tool, and in which form? A guest that answers with its own arguments shows what really
//! arrived; what is refused reaches nothing.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::call::Arguments;
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Problem;
use hermes_runtime::{Call, Runtime};
use proptest::prelude::*;
use serde_json::{Value, json};

const INPUTS: &str = r#"
[[tool.inputs]]
name = "files"
type = "array"
items = "string"
[[tool.inputs]]
name = "options"
type = "object"
[[tool.inputs]]
name = "note"
type = "string"
validation = { format = "text" }
[[tool.inputs]]
name = "count"
type = "integer"
default = 30
range = [-1000, 1000]
[[tool.inputs]]
name = "ratio"
type = "number"
[[tool.inputs]]
name = "deep"
type = "boolean"
"#;

struct Echo {
    _house: House,
    runtime: Runtime,
}

fn echo() -> Echo {
    let house = House::empty();
    Guest { inputs: INPUTS.into(), ..Guest::default() }.put(&house);
    let open = r#"input_schema = { type = "object", properties = { name = { type = ["string", "null"] } } }"#;
    Guest { name: "open".into(), inputs: " ".into(), manifest: open.into(), ..Guest::default() }.put(&house);
    let runtime = house.start(house.config());
    Echo { _house: house, runtime }
}

impl Echo {
    async fn ask(&self, tool: &str, args: Arguments) -> Envelope {
        let call = Call { args, ..call(tool, Value::Null) };
        self.runtime.call(call).await.envelope
    }

    fn text(&self, text: &str) -> Envelope {
        block_on(self.ask("probe", Arguments::Json(text.into())))
    }

    fn arrives(&self, text: &str, expected: Value) -> Envelope {
        let answer = self.text(text);
        assert_eq!(answer.data, expected, "{text}: {answer:#?}");
        answer
    }

    fn refused(&self, text: &str) -> Vec<Problem> {
        let answer = self.text(text);
        let shown: String = text.chars().take(100).collect();
        let error = answer.error.unwrap_or_else(|| panic!("{shown} was taken: {}", answer.data));
        assert_eq!((error.code, answer.metadata.attempts), (400, 0), "{shown}");
        error.problems.clone()
    }
}

#[test]
fn lists_that_come_as_text_are_read_once() {
    let echo = echo();
    let answer =
        echo.arrives(r#"{"files":"[\"a.txt\",\"b.txt\"]"}"#, json!({ "count": 30, "files": ["a.txt", "b.txt"] }));
    assert_eq!(answer.metadata.repairs[0].rule, "JSON in text");
    echo.arrives(r#"{"options":"{\"a\":1}"}"#, json!({ "count": 30, "options": { "a": 1 } }));
    echo.arrives(r#"{"note":"[1]"}"#, json!({ "count": 30, "note": "[1]" }));
    echo.arrives(r#"{"files":"a.txt"}"#, json!({ "count": 30, "files": ["a.txt"] }));
    assert_eq!(echo.refused(r#"{"options":"\"{\\\"a\\\":1}\""}"#)[0].path, "/options");
    assert_eq!(echo.refused(r#"{"options":"{\"a\":1,\"a\":2}"}"#)[0].path, "/options");
    let answer = echo.arrives(r#""{\"count\":1}""#, json!({ "count": 1 }));
    assert_eq!((answer.metadata.repairs[0].path.as_str(), answer.metadata.repairs.len()), ("", 1));
    assert_eq!(echo.refused(r#""\"{\\\"count\\\":1}\"""#)[0].rule, "type");
    assert_eq!(echo.refused(r#""{\"count\":1,\"count\":2}""#)[0].rule, "type");
}

#[test]
fn what_is_encoded_twice_is_refused() {
    let problem = &echo().refused(r#"{"files":"\"[\\\"a.txt\\\"]\""}"#)[0];
    assert_eq!((problem.path.as_str(), problem.rule.as_str()), ("/files", "type"));
    assert_eq!(problem.hint.as_deref(), Some("send the array itself, not its JSON in quotes"));
}

#[test]
fn null_is_absent_where_no_null_is_wanted() {
    let echo = echo();
    let answer = echo.arrives(r#"{"count":null,"deep":null}"#, json!({ "count": 30 }));
    assert_eq!(answer.metadata.repairs.len(), 2);
    echo.arrives(r#"{"note":"null"}"#, json!({ "count": 30, "note": "null" }));
    echo.arrives(r#"{"options":{"depth":null}}"#, json!({ "count": 30, "options": { "depth": null } }));
    let answer = block_on(echo.ask("open", Arguments::Json(r#"{"name":null}"#.into())));
    assert_eq!(answer.data, json!({ "name": null }));
}

#[test]
fn numbers_are_exact_or_refused() {
    let echo = echo();
    echo.arrives(r#"{"count":30.0}"#, json!({ "count": 30 }));
    echo.arrives(r#"{"count":"-7"}"#, json!({ "count": -7 }));
    let answer = block_on(echo.ask("open", Arguments::Json(r#"{"n":9007199254740993}"#.into())));
    assert_eq!(answer.data["n"].to_string(), "9007199254740993");
    for wrong in [
        "\"7.0\"",
        "\" 7\"",
        "\"0x7\"",
        "7.5",
        "1001",
        "true",
        "[7]",
        "1e400",
        "NaN",
        "\"\"",
        "12345678901234567890123",
    ] {
        assert_eq!(echo.refused(&format!("{{\"count\":{wrong}}}")).len(), 1, "{wrong}");
    }
}

#[test]
fn depth_and_size_have_their_bounds() {
    let echo = echo();
    let nested = |open: &str, close: &str, levels: usize| {
        format!("{{\"options\":{{\"a\":{}1{}}}}}", open.repeat(levels), close.repeat(levels))
    };
    assert!(echo.text(&nested("[", "]", 118)).error.is_none());
    for levels in [119, 124, 126, 1000, 100_000] {
        assert_eq!(echo.refused(&nested("[", "]", levels))[0].rule, "depth", "{levels}");
        assert_eq!(echo.refused(&nested("{\"a\":", "}", levels))[0].rule, "depth", "{levels}");
    }
    let keys: Vec<String> = (0..100_001).map(|n| format!("\"k{n}\":1")).collect();
    assert_eq!(echo.refused(&format!("{{\"options\":{{{}}}}}", keys.join(",")))[0].rule, "size");
    assert!(echo.text(&format!("{{\"options\":{{{}}}}}", keys[..50_000].join(","))).error.is_none());
    assert!(echo.text(&format!("{{\"note\":\"{}\"}}", "x".repeat(10 << 20))).error.is_none());
    assert_eq!(echo.refused(&format!("{{\"note\":\"{}\"}}", "x".repeat(16 << 20)))[0].rule, "size");
    echo.arrives(r#"{"count":1}"#, json!({ "count": 1 }));
}

/// Whether a program sends text or a value makes no difference.
#[test]
fn depth_is_the_same_in_text_and_in_values() {
    let echo = echo();
    let mut value = json!(1);
    for levels in 1..130 {
        value = json!([value]);
        let args = json!({ "options": { "a": value } });
        let text = echo.text(&args.to_string()).error.is_none();
        let built = block_on(echo.ask("probe", Arguments::Value(args))).error.is_none();
        assert_eq!((text, built), (levels <= 118, levels <= 118), "{levels} levels in an object in the arguments");
    }
}

#[test]
fn at_most_twenty_problems_are_told() {
    let keys: Vec<String> = (0..50).map(|n| format!("\"k{n}\":1")).collect();
    let problems = echo().refused(&format!("{{{}}}", keys.join(",")));
    assert_eq!(problems.len(), 20);
    assert!(problems.is_sorted());
}

/// Any JSON value, not deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        "[\\PC\u{0}-\u{1f}\u{200b}]{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["[]", "{}", "[1]", "true", "null", "30.0", "1", "-0"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z\\PC]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_args() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["files", "options", "note", "count", "ratio", "deep", "other"]);
    prop::collection::hash_map(name, any_json(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A tool that takes any object gets exactly what was sent.
    #[test]
    fn an_open_tool_gets_what_was_sent(args in any_args()) {
        thread_local!(static ECHO: Echo = echo());
        let answer = ECHO.with(|echo| block_on(echo.ask("open", Arguments::Json(args.to_string()))));
        if answer.error.is_none() {
            prop_assert!(same(&answer.data, &args), "{} became {}", args, answer.data);
        }
    }
}

/// Whether two values are equal, with `1.0` and `1` one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64())),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}
