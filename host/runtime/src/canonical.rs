//! Which bytes stand for a JSON value when it is hashed, compared or run? RFC 8785, with one deviation: integers that
//! a double cannot hold are written exactly, since two different numbers must not share a digest.

use serde::Serialize;
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

/// Whatever can be written as JSON, in canonical form: written once, and put in order where it is not.
///
/// # Errors
/// If it cannot be written as JSON.
pub(crate) fn of(value: &impl Serialize) -> serde_json::Result<String> {
    let mut written = Vec::with_capacity(2048);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut written, Floats))?;
    let mut text = Vec::with_capacity(written.len());
    arrange(&written, 0, &mut text, &mut Vec::with_capacity(64));
    // All that is written is text.
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// JSON without white space in which doubles stand as ECMAScript writes them.
struct Floats;

impl serde_json::ser::Formatter for Floats {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> std::io::Result<()> {
        self.write_f64(writer, value.into())
    }
}

/// A key, and where the member stands in the new text.
type Member<'a> = (Key<'a>, std::ops::Range<usize>);

/// Copies the value that begins at `at`, with the members of objects in order. `from` is JSON without white space;
/// `members` are those of the objects around it. Returns where the value ends.
fn arrange<'a>(from: &'a [u8], mut at: usize, text: &mut Vec<u8>, members: &mut Vec<Member<'a>>) -> usize {
    let begins = from.get(at).copied();
    match begins {
        Some(b'{') => arrange_members(from, at, text, members),
        Some(b'[') => {
            loop {
                // The bracket, or the comma after an item.
                text.push(from[at]);
                at += 1;
                if from.get(at) != Some(&b']') {
                    at = arrange(from, at, text, members);
                }
                if from.get(at) != Some(&b',') {
                    text.push(b']');
                    return at + 1;
                }
            }
        }
        _ => {
            let end = end_of_scalar(from, at);
            text.extend_from_slice(&from[at..end]);
            end
        }
    }
}

fn arrange_members<'a>(from: &'a [u8], mut at: usize, text: &mut Vec<u8>, members: &mut Vec<Member<'a>>) -> usize {
    text.push(b'{');
    let (begin, first) = (text.len(), members.len());
    let mut in_order = true;
    while matches!(from.get(at), Some(b'{' | b',')) && from.get(at + 1) == Some(&b'"') {
        let key = Key::of(&from[at + 1..end_of_scalar(from, at + 1)]);
        in_order &= members[first..].last().is_none_or(|(last, _)| last.compare(key).is_lt());
        let start = text.len();
        text.extend_from_slice(key.quoted);
        text.push(b':');
        at = arrange(from, at + 1 + key.quoted.len() + 1, text, members);
        members.push((key, start..text.len()));
        text.push(b',');
    }
    let own = &mut members[first..];
    if !in_order {
        let written = text[begin..].to_vec();
        text.truncate(begin);
        own.sort_by(|one, other| one.0.compare(other.0));
        for (_, range) in own.iter() {
            text.extend_from_slice(&written[range.start - begin..range.end - begin]);
            text.push(b',');
        }
    }
    match own.is_empty() {
        true => at += 1,
        false => drop(text.pop()),
    }
    members.truncate(first);
    text.push(b'}');
    at + 1
}

/// A key of an object as it is written.
#[derive(Clone, Copy)]
struct Key<'a> {
    quoted: &'a [u8],
    /// Whether its bytes are its UTF-16 units.
    is_plain: bool,
}

impl<'a> Key<'a> {
    fn of(quoted: &'a [u8]) -> Key<'a> {
        Key { quoted, is_plain: quoted.is_ascii() && !quoted.contains(&b'\\') }
    }

    /// Two keys by their UTF-16 units.
    fn compare(self, other: Key<'_>) -> std::cmp::Ordering {
        if self.is_plain && other.is_plain {
            // Without the quotes: one key may begin like the other, and there are characters below a quote.
            return self.quoted[1..self.quoted.len() - 1].cmp(&other.quoted[1..other.quoted.len() - 1]);
        }
        let read = |key: Key<'_>| serde_json::from_slice::<String>(key.quoted).unwrap_or_default();
        compare_utf16(&read(self), &read(other))
    }
}

/// Where the text or the word that begins at `at` ends.
fn end_of_scalar(from: &[u8], at: usize) -> usize {
    let rest = &from[at..];
    if rest.first() != Some(&b'"') {
        return at + rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}')).unwrap_or(rest.len());
    }
    let mut end = 1;
    while let Some(byte) = rest.get(end) {
        match byte {
            b'"' => return at + end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    from.len()
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
        (None, None) => text.write_all(float(number.as_f64().unwrap_or_default()).as_bytes()),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

/// A double as ECMAScript writes it; whole ones without a fraction, so that `30.0` and `30` are one number.
fn float(float: f64) -> String {
    if float.fract() == 0.0 && float.abs() < EXACT as f64 {
        return format!("{}", float as i64);
    }
    serde_json_canonicalizer::to_string(&float).unwrap_or_else(|_| "null".to_owned())
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

    /// Any JSON, keys that need escapes and order by UTF-16 among them.
    fn values() -> impl Strategy<Value = Value> {
        let texts = || "[a-c\"\\\\\u{0}\u{1f}é€\u{fb33}😀 !]{0,4}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            texts().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((texts(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_ways_write_the_same(value in values()) {
            prop_assert_eq!(of(&value).unwrap(), to_string(&value));
        }

        #[test]
        fn writing_twice_changes_nothing(text in "[\\PC\u{0}-\u{1f}]{0,20}", number in any::<i64>()) {
            let once = to_string(&serde_json::json!({ &text: number, "z": text }));
            let again = to_string(&serde_json::from_str(&once).unwrap());
            prop_assert_eq!(once, again);
        }
    }
}
