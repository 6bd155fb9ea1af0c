//! Which value does a literal of Python stand for? Some servers print their rows that way. Lists, tuples, tables,
//! texts, numbers and the three names are read; anything else makes the whole unreadable.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
const DEPTH: usize = 100;

/// Reads a literal that is the whole text.
pub(crate) fn read(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim() };
    let value = reader.value(0)?;
    reader.rest.trim_start().is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.rest = self.rest.trim_start();
        if depth > DEPTH {
            return None;
        }
        for (word, value) in [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))] {
            if self.eat(word) {
                return Some(value);
            }
        }
        match self.rest.chars().next()? {
            '[' => self.items('[', ']', depth),
            '(' => self.items('(', ')', depth),
            '{' => self.table(depth),
            '\'' | '"' => self.text().map(Value::String),
            _ => self.number(),
        }
    }

    fn eat(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Option<Value> {
        self.eat(open.encode_utf8(&mut [0; 4])).then_some(())?;
        let close = close.to_string();
        let mut items = Vec::new();
        loop {
            if self.eat(&close) {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.eat(",") {
                return self.eat(&close).then_some(Value::Array(items));
            }
        }
    }

    fn table(&mut self, depth: usize) -> Option<Value> {
        self.eat("{").then_some(())?;
        let mut table = Map::new();
        loop {
            if self.eat("}") {
                return Some(Value::Object(table));
            }
            let key = match self.value(depth + 1)? {
                Value::String(key) => key,
                other => other.to_string(),
            };
            self.eat(":").then_some(())?;
            table.insert(key, self.value(depth + 1)?);
            if !self.eat(",") {
                return self.eat("}").then_some(Value::Object(table));
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut characters = self.rest[1..].char_indices();
        let mut text = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    let (_, escaped) = characters.next()?;
                    let digits = match escaped {
                        'x' => 2,
                        'u' => 4,
                        'U' => 8,
                        _ => 0,
                    };
                    text.push(match escaped {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        '\\' | '\'' | '"' => escaped,
                        'x' | 'u' | 'U' => {
                            let code: String = characters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                            char::from_u32(u32::from_str_radix(&code, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER)
                        }
                        _ => return None,
                    });
                }
                end if end == quote => {
                    self.rest = &self.rest[1 + at + 1..];
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let end =
            self.rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let whole = digits.parse::<i64>().map(Number::from).ok();
        whole.or_else(|| Number::from_f64(digits.parse().ok()?)).map(Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_become_values_and_other_texts_do_not() {
        for (text, value) in [
            (
                "[{'id': 1, 'n': None, 'ok': True}, {'id': -2.5}]",
                json!([{ "id": 1, "n": null, "ok": true }, { "id": -2.5 }]),
            ),
            ("[]", json!([])),
            ("('a', \"it's\", 'b\\n\\x41\\u00e9')", json!(["a", "it's", "b\nAé"])),
            ("{1: 'x'}", json!({ "1": "x" })),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in ["Table created", "[1", "[b'x']", "{'a': }", "'a' 'b'", "", "[nan]", &"[".repeat(100_000)] {
            assert_eq!(read(text), None, "{}", &text[..text.len().min(20)]);
        }
    }
}
