//! How much of what came is said back? Enough to find it, printable, and nothing that looks like a secret. Pure.

use crate::document;
use serde_json::Value;

/// Longest text that is said back, in bytes.
const LONG: usize = 60;
/// Longest text in the note of a repair.
const LONG_NOTE: usize = 200;

/// A value in a problem: what it is, and its text where that is short.
pub(super) fn value(value: &Value, is_secret: bool) -> String {
    match value {
        Value::String(text) if is_secret || looks_secret(text) => {
            format!("string of {} characters", text.chars().count())
        }
        Value::String(text) => format!("string \"{}\"", document::excerpt(text, LONG)),
        Value::Array(items) => format!("array of {} items", items.len()),
        Value::Object(members) => format!("object of {} keys", members.len()),
        _ if is_secret => super::problems::kind_of(value).to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("{} {value}", super::problems::kind_of(value)),
    }
}

/// A value in the note of a repair.
pub(super) fn note(value: &Value, is_secret: bool) -> Value {
    let hidden = || Value::String("(not shown)".into());
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        _ if is_secret => hidden(),
        Value::Number(_) => value.clone(),
        Value::String(text) if looks_secret(text) || names_secret(text) => hidden(),
        Value::String(text) => Value::String(document::excerpt(text, LONG_NOTE)),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            match text.len() > LONG_NOTE || holds_secret(value) {
                true => Value::String(format!("({})", self::value(value, false))),
                false => value.clone(),
            }
        }
    }
}

/// A text in the note of a repair of which only the beginning is known.
pub(super) fn excerpt(text: &str) -> String {
    match looks_secret(text) || names_secret(text) {
        true => "(not shown)".to_owned(),
        false => document::excerpt(text, LONG_NOTE),
    }
}

/// A key that nobody declared.
pub(super) fn name(key: &str) -> String {
    match looks_secret(key) {
        true => format!("a key of {} characters", key.chars().count()),
        false => document::excerpt(key, 80),
    }
}

/// Whether a member of that name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let ends = [
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "apikey",
        "accesskey",
        "privatekey",
        "credential",
        "credentials",
        "authorization",
        "cookie",
    ];
    ends.iter().any(|end| plain.ends_with(end))
}

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| is_secret_name(key) || holds_secret(value)),
        Value::Array(items) => items.iter().any(holds_secret),
        Value::String(text) => looks_secret(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether JSON in a text names a secret.
fn names_secret(text: &str) -> bool {
    text.split('"').any(is_secret_name)
}

/// Beginnings of what services give out as secrets, and of headers that carry them.
const BEGINNINGS: [&str; 16] = [
    "sk-",
    "sk_",
    "pk_live",
    "rk_live",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "eyJ",
    "AIza",
    "npm_",
];

/// Whether a text looks like a secret. Rather too often: it is only said back or not.
pub(super) fn looks_secret(text: &str) -> bool {
    if text.contains("-----BEGIN") || text.contains("://") && text.contains('@') {
        return true;
    }
    let is_break = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ':' | ',' | ';' | '(' | ')' | '<' | '>' | '&' | '?')
    };
    text.split(is_break).any(|word| {
        let begins = BEGINNINGS.iter().any(|beginning| word.starts_with(beginning)) && word.len() >= 12;
        begins || is_random(word)
    })
}

/// Long, without structure, of letters in both cases and digits, or of hexadecimal digits.
fn is_random(word: &str) -> bool {
    let is_word =
        word.len() >= 20 && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'));
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    let is_hexadecimal = word.len() >= 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    is_word && (is_hexadecimal || has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_looks_like_a_secret_is_not_said_back() {
        for secret in [
            "sk-proj-0123456789abcdef",
            "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x",
            "ghp_abcdefghijkl",
            "postgres://a:b@host/db",
            "key=AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN PRIVATE KEY-----",
            "d41d8cd98f00b204e9800998ecf8427e",
            "aB3dE6gH9jK2mN5pQ8rS",
        ] {
            assert!(!value(&json!(secret), false).contains(secret), "{secret}");
            assert!(!note(&json!({ "x": secret }), false).to_string().contains(secret), "{secret}");
        }
        for plain in [
            "many",
            "src/main.rs",
            "/workspace/a/very/long/path/to/some/file_2026.txt",
            "SELECT 1",
            "2026-01-31T00:00:00Z",
        ] {
            assert!(value(&json!(plain), false).contains(plain), "{plain}");
        }
        assert_eq!(value(&json!("hunter2"), true), "string of 7 characters");
        assert_eq!(note(&json!({ "api_key": "x" }), false), json!("(object of 1 keys)"));
        assert_eq!(note(&json!("{\"password\":\"x\"}"), false), json!("(not shown)"));
    }

    #[test]
    fn what_deceives_is_made_visible() {
        assert_eq!(value(&json!("a\u{202e}b"), false), "string \"a\\u{202e}b\"");
    }
}
