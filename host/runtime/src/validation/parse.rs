//! Is the text one JSON value, read the way everybody would read it? Keys given twice, half surrogates, numbers that
//! no machine word holds, depth and size are answered here, with their place, before anything looks at the arguments.
//! Also for whoever has to look at a message before its protocol library does. Pure.
//!
//! A parser of our own, since `serde_json` keeps the last of two equal keys without a word, names no place for a half
//! surrogate, and hands over the nearest double for a number that it cannot hold, when the digits are gone.

use super::number;
use super::text;
use crate::error::Problem;
use serde_json::{Map, Value};

/// Deepest nesting inside arguments.
pub const DEPTH: usize = 120;
/// Longest arguments, in bytes.
pub const SIZE: usize = 16 << 20;
/// Most values in all arrays and objects together.
pub const VALUES: usize = 100_000;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// Numbers whose value is not quite what was written. They are right only where any number is wanted.
    pub inexact: Vec<Inexact>,
}

/// A number that no 64-bit integer and no double holds exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexact {
    /// Where it stands.
    pub path: Vec<Part>,
    /// As it was written.
    pub literal: String,
}

/// One part of the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A member of an object.
    Key(String),
    /// An item of an array.
    Item(usize),
}

/// The way to a value, as a JSON Pointer (RFC 6901).
pub fn pointer_of(path: &[Part]) -> String {
    path.iter().fold(String::new(), |pointer, part| match part {
        Part::Key(key) => super::problems::pointer(&pointer, key),
        Part::Item(index) => format!("{pointer}/{index}"),
    })
}

/// Reads one JSON value. A byte order mark before it is no part of it.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str) -> Result<Parsed, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, at: 0, values: 0, path: Vec::new(), inexact: Vec::new() };
    if text.len() > SIZE {
        return Err(reader.problem("size", format!("at most {SIZE} bytes"), format!("{} bytes", text.len()), None));
    }
    let value = reader.value()?;
    match reader.peek() {
        None => Ok(Parsed { value, inexact: reader.inexact }),
        Some(_) => Err(reader.broken("more after the value")),
    }
}

/// Where the reader is: the key as it stands in the text, or the index.
#[derive(Clone, Copy)]
enum Here {
    Key { start: usize, end: usize },
    Item(usize),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    path: Vec<Here>,
    inexact: Vec<Inexact>,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, Problem> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.broken("no JSON value begins so")),
            None => Err(self.broken("it ends where a value belongs")),
        }
    }

    fn object(&mut self) -> Result<Value, Problem> {
        self.enter()?;
        let mut object = Map::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(object));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.broken("a key in double quotes belongs there"));
            }
            let start = self.at + 1;
            let key = self.string()?;
            let end = self.at - 1;
            self.path.push(Here::Key { start, end });
            if object.contains_key(&key) {
                return Err(self.twice(&key));
            }
            self.skip(b':', "a colon belongs there")?;
            self.count()?;
            let value = self.value()?;
            object.insert(key, value);
            self.path.pop();
            if !self.more(b'}')? {
                return Ok(Value::Object(object));
            }
        }
    }

    fn array(&mut self) -> Result<Value, Problem> {
        self.enter()?;
        let mut array = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(array));
        }
        loop {
            self.path.push(Here::Item(array.len()));
            self.count()?;
            array.push(self.value()?);
            self.path.pop();
            if !self.more(b']')? {
                return Ok(Value::Array(array));
            }
        }
    }

    /// Steps over a comma, or over the bracket that ends an array or object.
    fn more(&mut self, close: u8) -> Result<bool, Problem> {
        let next = self.peek();
        match next {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.broken(&format!("a comma or `{}` belongs there", char::from(close)))),
        }
    }

    /// Steps over the bracket that opens an array or object.
    fn enter(&mut self) -> Result<(), Problem> {
        self.at += 1;
        // Each of those that are open has put its place on the path.
        match self.path.len() < DEPTH {
            true => Ok(()),
            false => Err(self.problem("depth", format!("at most {DEPTH} levels"), "more".into(), None)),
        }
    }

    fn count(&mut self) -> Result<(), Problem> {
        self.values += 1;
        match self.values <= VALUES {
            true => Ok(()),
            false => Err(self.problem("size", format!("at most {VALUES} values"), "more".into(), None)),
        }
    }

    fn skip(&mut self, byte: u8, what: &str) -> Result<(), Problem> {
        match self.peek() == Some(byte) {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(self.broken(what)),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Problem> {
        match self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            true => {
                self.at += word.len();
                Ok(value)
            }
            false => Err(self.broken("no JSON value begins so")),
        }
    }

    fn number(&mut self) -> Result<Value, Problem> {
        let rest = &self.text[self.at..];
        let literal = number::literal(rest);
        let Some(read) = number::read(literal) else {
            return Err(self.broken("that is no JSON number"));
        };
        match read {
            number::Read::Exact(number) => {
                self.at += literal.len();
                Ok(Value::Number(number))
            }
            number::Read::Near(number) => {
                let path = self.path.iter().map(|here| self.part(*here)).collect();
                self.inexact.push(Inexact { path, literal: literal.to_owned() });
                self.at += literal.len();
                Ok(Value::Number(number))
            }
            number::Read::TooLarge => Err(self.problem(
                "number",
                "a number that a computer holds".into(),
                crate::document::excerpt(literal, 40),
                Some("the largest is about 1.8e308; send larger ones as text, where text is taken".into()),
            )),
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        match text::read(self.text, self.at) {
            Ok((string, end)) => {
                self.at = end;
                Ok(string)
            }
            Err(text::Broken::Surrogate { at }) => {
                self.at = at;
                let place = self.line_and_column();
                Err(self.problem(
                    "surrogate",
                    "whole characters".into(),
                    format!("half of a surrogate pair at {place}"),
                    Some(r"write characters beyond \uffff as they are, or as both halves: \ud83d\ude00".into()),
                ))
            }
            Err(text::Broken::Other { at, what }) => {
                self.at = at;
                Err(self.broken(what))
            }
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn twice(&self, key: &str) -> Problem {
        self.problem(
            "duplicate_key",
            "each key once".into(),
            format!("`{}` twice", super::reveal::name(key)),
            Some("send the one value that is meant".into()),
        )
    }

    fn broken(&self, what: &str) -> Problem {
        let received = format!("{what}: {}", self.line_and_column());
        let hint = "send one JSON object, with keys and text in double quotes and nothing before or after it";
        self.problem("json", "valid JSON".into(), received, Some(hint.into()))
    }

    fn problem(&self, rule: &str, expected: String, received: String, hint: Option<String>) -> Problem {
        let parts: Vec<Part> = self.path.iter().map(|here| self.part(*here)).collect();
        Problem { path: pointer_of(&parts), rule: rule.into(), expected, received, hint }
    }

    fn part(&self, here: Here) -> Part {
        match here {
            Here::Item(index) => Part::Item(index),
            Here::Key { start, end } => {
                let read = text::read(self.text, start - 1).map(|(key, _)| key);
                Part::Key(read.unwrap_or_else(|_| self.text[start..end].to_owned()))
            }
        }
    }

    fn line_and_column(&self) -> String {
        let before = &self.text[..crate::document::floor_char_boundary(self.text, self.at)];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("line {line}, column {column}")
    }
}

/// Checks the depth and size of a value that an embedding program built: they are those of text.
pub(super) fn check_bounds(value: &Value) -> Result<(), Problem> {
    fn walk(value: &Value, depth: usize, left: &mut usize) -> Result<(), (&'static str, String)> {
        let mut children: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(items) => Box::new(items.iter()),
            Value::Object(members) => Box::new(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(()),
        };
        if depth > DEPTH {
            return Err(("depth", format!("at most {DEPTH} levels")));
        }
        children.try_for_each(|child| {
            *left = left.checked_sub(1).ok_or_else(|| ("size", format!("at most {VALUES} values")))?;
            walk(child, depth + 1, left)
        })
    }
    walk(value, 1, &mut VALUES.clone()).map_err(|(rule, expected)| Problem {
        path: String::new(),
        rule: rule.into(),
        expected,
        received: "more".into(),
        hint: None,
    })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
