//! Is JSON read as everybody reads it, and what they disagree on refused?

use super::*;
use proptest::prelude::*;

fn refusal(text: &str) -> (String, String) {
    let problem = parse(text).unwrap_err();
    (problem.rule, problem.path)
}

#[test]
fn what_parsers_disagree_on_is_refused_with_its_place() {
    let check = |text: &str, rule: &str, path: &str| assert_eq!(refusal(text), (rule.into(), path.into()), "{text}");
    check(r#"{"a":{"b":1,"b":2}}"#, "duplicate_key", "/a/b");
    check(r#"{"a":[{"\u0062":1,"b":2}]}"#, "duplicate_key", "/a/0/b");
    check(r#"{"a/b":{"~":1,"~":2}}"#, "duplicate_key", "/a~1b/~0");
    check(r#"{"a":["x","\ud83d"]}"#, "surrogate", "/a/1");
    check(r#"{"\ud83d":1}"#, "surrogate", "");
    check(r#"{"a":[1,1e999]}"#, "number", "/a/1");
    check(r#"{"a":-1e999}"#, "number", "/a");
    for broken in [
        r#"{"a":1} x"#,
        r#"{"a":1}{"#,
        "",
        " ",
        "{",
        "[1,]",
        r#"{"a":1,}"#,
        "{'a':1}",
        "{a:1}",
        r#"{"a":01}"#,
        r#"{"a":NaN}"#,
        r#"{"a":Infinity}"#,
        r#"{"a":+1}"#,
        r#"{"a":.5}"#,
        r#"{"a":tru}"#,
        r#"{"a" 1}"#,
        "[1 2]",
        "{\"a\":\"\n\"}",
        "{\"a\":1}\u{0}",
        "\u{a0}{}",
        "/**/{}",
        r#"{"a":"\x"}"#,
    ] {
        assert_eq!(refusal(broken).0, "json", "{broken}");
    }
    let received = parse("{\"a\":1,\n  \"é\": x}").unwrap_err();
    assert_eq!(
        (received.path.as_str(), received.received.as_str()),
        ("/é", "no JSON value begins so: line 2, column 8")
    );
}

#[test]
fn what_cannot_be_held_is_said_with_its_place() {
    let parsed = parse(r#"{"a":[1,18446744073709551616],"b":3.141592653589793238,"c":0.5}"#).unwrap();
    let said: Vec<_> = parsed.inexact.iter().map(|it| (pointer_of(&it.path), it.literal.as_str())).collect();
    assert_eq!(said, [("/a/1".to_owned(), "18446744073709551616"), ("/b".to_owned(), "3.141592653589793238")]);
}

#[test]
fn depth_is_counted_and_never_overflows() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(DEPTH - 1)).is_ok());
    assert_eq!(refusal(&nested(DEPTH)).0, "depth");
    assert_eq!(refusal(&nested(100_000)).0, "depth");
    assert_eq!(refusal(&"{\"a\":".repeat(100_000)).0, "depth");
}

#[test]
fn size_is_counted_in_bytes_and_in_values() {
    let items = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert!(parse(&items(VALUES)).is_ok());
    assert_eq!(refusal(&items(VALUES + 1)).0, "size");
    assert_eq!(refusal(&format!("[\"{}\"]", "x".repeat(SIZE))).0, "size");
}

#[test]
fn a_value_that_a_program_built_has_the_bounds_of_text() {
    let mut deep = Value::from(1);
    for level in 1..=DEPTH + 1 {
        deep = Value::Array(vec![deep]);
        assert_eq!(check_bounds(&deep).is_ok(), parse(&deep.to_string()).is_ok(), "{level}");
    }
    for count in [VALUES, VALUES + 1] {
        let wide = Value::Array(vec![Value::Null; count]);
        assert_eq!(check_bounds(&wide).is_ok(), parse(&wide.to_string()).is_ok(), "{count}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_arguments() {
    assert!(parse("\u{feff}{}").is_ok());
    assert!(parse("{}\u{feff}").is_err());
    assert!(parse("\u{feff}\u{feff}{}").is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |float| serde_json::Number::from_f64(float).map(Value::Number)),
        "[\\PC\u{0}-\u{1f}\"\\\\]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z\\PC]{0,4}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_everybody_writes_is_read_as_it_is(value in any_json(), spaced in any::<bool>()) {
        let text = if spaced { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let parsed = parse(&text).unwrap();
        prop_assert!(parsed.inexact.is_empty(), "{:?}", parsed.inexact);
        prop_assert_eq!(parsed.value, value);
    }

    /// No text is read that `serde_json` would not read, and none otherwise; and no text breaks the reader.
    #[test]
    fn no_text_is_read_otherwise_than_by_everybody(text in "[\\[\\]{}:,\"\\\\ntrue0-9.eE+ \n-]{0,24}|\\PC{0,24}") {
        match parse(&text) {
            Ok(parsed) => {
                let theirs: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
                prop_assert_eq!(parsed.value.to_string().replace("-0.0", "0"), theirs.to_string().replace("-0.0", "0"));
            }
            Err(problem) if problem.rule == "json" => prop_assert!(serde_json::from_str::<Value>(&text).is_err(), "{}", text),
            Err(_) => {}
        }
    }
}
