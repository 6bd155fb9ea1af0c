//! Which bytes stand for a JSON value when it is hashed, compared or run? RFC 8785, with one deviation: integers that
//! a double cannot hold are written exactly, since two different numbers must not share a digest.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Number, Value};
use std::cell::RefCell;
use std::cmp::Ordering;
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
    let text = RefCell::new(Vec::with_capacity(2048));
    let order = Order { text: &text, members: Vec::with_capacity(64), objects: Vec::with_capacity(8) };
    value.serialize(&mut serde_json::Serializer::with_formatter(Text(&text), order))?;
    // All that is written is text.
    Ok(String::from_utf8(text.into_inner()).unwrap_or_default())
}

/// Where the text is written, shared with who puts it in order.
struct Text<'a>(&'a RefCell<Vec<u8>>);

impl Write for Text<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// JSON without white space in which doubles stand as ECMAScript writes them and members in order.
struct Order<'a> {
    text: &'a RefCell<Vec<u8>>,
    /// The members of the objects that are not at their end, those of the outermost first.
    members: Vec<Member>,
    /// How many there were when each of these objects began.
    objects: Vec<usize>,
}

/// Where a member of an object stands in the text.
#[derive(Clone, Copy, Default)]
struct Member {
    begin: usize,
    key_end: usize,
    end: usize,
    /// Whether the bytes of its key are its UTF-16 units.
    is_plain: bool,
    /// The first bytes of a plain key, in whose order keys mostly are.
    rank: u64,
}

impl Member {
    /// What stands between the quotes of its key.
    fn key<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.begin + 1..self.key_end - 1]
    }

    /// Two members by the UTF-16 units of their keys.
    fn compare(&self, other: &Member, text: &[u8]) -> Ordering {
        if self.is_plain && other.is_plain {
            return self.rank.cmp(&other.rank).then_with(|| self.key(text).cmp(other.key(text)));
        }
        let read = |it: &Member| serde_json::from_slice::<String>(&text[it.begin..it.key_end]).unwrap_or_default();
        compare_utf16(&read(self), &read(other))
    }
}

impl Formatter for Order<'_> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> std::io::Result<()> {
        self.write_f64(writer, value.into())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.objects.push(self.members.len());
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.members.push(Member { begin: self.text.borrow().len(), ..Member::default() });
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        if let Some(member) = self.members.last_mut() {
            let text = self.text.borrow();
            member.key_end = text.len();
            let key = member.key(&text);
            member.is_plain = key.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
            // No byte of a key is zero, so that a shorter one comes first.
            let (mut first, count) = ([0; 8], key.len().min(8));
            first[..count].copy_from_slice(&key[..count]);
            member.rank = u64::from_be_bytes(first);
        }
        Ok(())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        if let Some(member) = self.members.last_mut() {
            member.end = self.text.borrow().len();
        }
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        let first = self.objects.pop().unwrap_or_default();
        arrange(&mut self.text.borrow_mut(), &mut self.members[first..]);
        self.members.truncate(first);
        writer.write_all(b"}")
    }
}

/// Puts the members of the object that the text ends with in order.
fn arrange(text: &mut Vec<u8>, members: &mut [Member]) {
    let is_after = |one: &Member, other: &Member| one.compare(other, text).is_gt();
    if !members.iter().zip(members.iter().skip(1)).any(|(one, other)| is_after(one, other)) {
        return;
    }
    let begin = members[0].begin;
    members.sort_by(|one, other| one.compare(other, text));
    let mut arranged = Vec::with_capacity(text.len() - begin);
    for (index, member) in members.iter().enumerate() {
        write_separator(&mut arranged, index);
        arranged.extend_from_slice(&text[member.begin..member.end]);
    }
    text.truncate(begin);
    text.extend_from_slice(&arranged);
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

fn compare_utf16(a: &str, b: &str) -> Ordering {
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
