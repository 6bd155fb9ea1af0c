//! Which bytes stand for a JSON value when it is hashed, compared or run? RFC 8785, with one deviation: integers that
//! a double cannot hold are written exactly, since two different numbers must not share a digest.

use serde_json::{Number, Value};
use std::io::Write;

/// The largest integer below which a double holds every integer.
const EXACT: u64 = 1 << 53;

/// A value in canonical form: keys sorted by UTF-16 units, no white space, numbers as ECMAScript writes them.
pub(crate) fn to_string(value: &Value) -> String {
    let mut text = Vec::with_capacity(128);
    write_value(&mut text, value);
    // All that is written is text.
    String::from_utf8(text).unwrap_or_default()
}

fn write_value(text: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => text.extend_from_slice(b"null"),
        Value::Bool(true) => text.extend_from_slice(b"true"),
        Value::Bool(false) => text.extend_from_slice(b"false"),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push(b'[');
            for (index, item) in items.iter().enumerate() {
                write_separator(text, index);
                write_value(text, item);
            }
            text.push(b']');
        }
        Value::Object(members) => {
            text.push(b'{');
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_by(|a, b| compare_utf16(a.0, b.0));
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                write_separator(text, index);
                write_string(text, key);
                text.push(b':');
                write_value(text, member);
            }
            text.push(b'}');
        }
    }
}

fn compare_utf16(a: &str, b: &str) -> std::cmp::Ordering {
    match a.is_ascii() && b.is_ascii() {
        true => a.cmp(b),
        false => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

fn write_separator(text: &mut Vec<u8>, index: usize) {
    if index > 0 {
        text.push(b',');
    }
}

fn write_number(text: &mut Vec<u8>, number: &Number) {
    let written = match (number.as_u64(), number.as_i64()) {
        (Some(unsigned), _) => write!(text, "{unsigned}"),
        (None, Some(signed)) => write!(text, "{signed}"),
        (None, None) => write!(text, "{}", float(number)),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

/// A double as ECMAScript writes it; whole ones without a fraction, so that `30.0` and `30` are one number.
fn float(number: &Number) -> String {
    let float = number.as_f64().unwrap_or_default();
    if float.fract() == 0.0 && float.abs() < EXACT as f64 {
        return format!("{}", float as i64);
    }
    serde_json_canonicalizer::to_string(&float).unwrap_or_else(|_| number.to_string())
}

fn write_string(text: &mut Vec<u8>, string: &str) {
    // serde_json escapes just what RFC 8785 wants escaped, in the same way.
    let written = serde_json::to_writer(text, string);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(input: &str, expect: &str) {
        assert_eq!(to_string(&serde_json::from_str(input).unwrap()), expect);
    }

    #[test]
    fn the_form_is_that_of_rfc_8785() {
        check(r#"{ "b": 1, "a": [true, null, "€"] }"#, r#"{"a":[true,null,"€"],"b":1}"#);
        check(r#"[1.0, 1e21, 1E-7, -0.0, 333333333.33333329]"#, "[1,1e+21,1e-7,0,333333333.3333333]");
        check(r#"{"\ud83d\ude00":1,"\ufb33":2}"#, "{\"😀\":1,\"\u{fb33}\":2}");
        check("\"\\u001f\\n\\/\"", r#""\u001f\n/""#);
    }

    #[test]
    fn integers_beyond_a_double_stay_what_they_are() {
        check("[9007199254740993, 18446744073709551615]", "[9007199254740993,18446744073709551615]");
    }

    proptest! {
        #[test]
        fn writing_twice_changes_nothing(text in "[\\PC\u{0}-\u{1f}]{0,20}", number in any::<i64>()) {
            let once = to_string(&serde_json::json!({ &text: number, "z": text }));
            let again = to_string(&serde_json::from_str(&once).unwrap());
            prop_assert_eq!(once, again);
        }
    }
}
