//! Into which parts does a result fall? Lines, items, members and pieces of long lines, each with its size and text;
//! what is too large for one part falls into parts itself. Pure; must not know which parts are kept.

use crate::document::floor_char_boundary;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Members of an object up to this size are kept with it.
const SMALL: usize = 200;
/// An object with more members than this is a table, whose rows can be left out.
const TABLE: usize = 32;
/// Bytes of a piece of a line that is too long.
const PIECE: usize = 512;

/// What stands in a result for lines or pieces that were left out, at most.
pub(super) const MARKER: usize = 34;

/// Of which kind the parts of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lines,
    Pieces,
    Items,
    Members,
}

impl Kind {
    pub(super) fn unit(self) -> &'static str {
        match self {
            Kind::Lines => "lines",
            Kind::Pieces => "bytes",
            Kind::Items => "items",
            Kind::Members => "members",
        }
    }

    /// What a gap costs.
    pub(super) fn gap(self) -> usize {
        match self {
            Kind::Lines | Kind::Pieces => MARKER,
            // It is only told in the metadata, which costs about as much.
            Kind::Items | Kind::Members => 24,
        }
    }
}

/// Parts that belong together: the lines of one text, the items of one array, the members of one object.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// Where it is in the result, as a JSON Pointer.
    pub(super) path: String,
    /// The group and the place in it that this group is.
    pub(super) parent: Option<(usize, usize)>,
    /// Bytes that it costs without its parts.
    pub(super) overhead: usize,
    /// Its parts, in order.
    pub(super) parts: Vec<Part>,
}

/// What one part is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// It is kept or left out as a whole; the number of its leaf.
    Leaf(usize),
    /// It falls into parts itself; the number of its group.
    Group(usize),
    /// It is kept whenever its group is.
    Always,
}

/// A part that is kept or left out as a whole.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    pub(super) group: usize,
    pub(super) index: usize,
    pub(super) size: usize,
    pub(super) text: Cow<'a, str>,
    pub(super) whole: Whole,
}

/// What keeping a leaf keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The part itself.
    Part,
    /// Bytes that a program has to have all of, such as an image.
    Blob,
    /// What its group always keeps, which otherwise comes with the group's other parts.
    Facts,
}

/// A result in parts.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) groups: Vec<Group>,
    pub(super) leaves: Vec<Leaf<'a>>,
    grain: usize,
}

/// Splits a result. No part is larger than about `grain` bytes, except a blob.
pub(super) fn split(data: &Value, grain: usize) -> Parts<'_> {
    let mut parts = Parts { grain, ..Parts::default() };
    parts.group(data, String::new(), None);
    parts
}

impl<'a> Parts<'a> {
    fn group(&mut self, value: &'a Value, path: String, parent: Option<(usize, usize)>) -> usize {
        match value {
            Value::String(text) => self.text(text, path, parent),
            Value::Array(items) => {
                let group = self.open(Kind::Items, path, parent, 2);
                for (index, item) in items.iter().enumerate() {
                    let part = self.part(group, index, item, 1, || index.to_string());
                    self.groups[group].parts.push(part);
                }
                group
            }
            Value::Object(members) => {
                let group = self.open(Kind::Members, path, parent, 2);
                let mut facts = String::new();
                for (index, (key, member)) in members.iter().enumerate() {
                    let around = key.len() + 4;
                    let length = size(member) + around;
                    let part = if members.len() <= TABLE && length <= SMALL {
                        self.groups[group].overhead += length;
                        say_member(key, member, &mut facts);
                        Part::Always
                    } else if key == "base64" && member.is_string() {
                        self.groups[group].overhead += around;
                        self.leaf(group, index, length, Cow::Borrowed(""), Whole::Blob)
                    } else {
                        self.part(group, index, member, around, || key.replace('~', "~0").replace('/', "~1"))
                    };
                    self.groups[group].parts.push(part);
                }
                self.leaf(group, 0, 0, Cow::Owned(facts), Whole::Facts);
                group
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.open(Kind::Members, path, parent, size(value)),
        }
    }

    /// Lines, or pieces where there are none or one is too long.
    fn text(&mut self, text: &'a str, path: String, parent: Option<(usize, usize)>) -> usize {
        if !text.contains('\n') {
            let group = self.open(Kind::Pieces, path, parent, 2);
            self.pieces(group, text);
            return group;
        }
        let group = self.open(Kind::Lines, path.clone(), parent, 2);
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let part = if line.len() <= self.grain {
                self.leaf(group, index, line.len(), Cow::Borrowed(line), Whole::Part)
            } else {
                let inner = self.open(Kind::Pieces, path.clone(), Some((group, index)), 0);
                self.pieces(inner, line);
                Part::Group(inner)
            };
            self.groups[group].parts.push(part);
        }
        group
    }

    fn pieces(&mut self, group: usize, line: &'a str) {
        for (index, range) in pieces(line).enumerate() {
            let part = self.leaf(group, index, range.len(), Cow::Borrowed(&line[range]), Whole::Part);
            self.groups[group].parts.push(part);
        }
    }

    fn part(&mut self, group: usize, index: usize, value: &'a Value, around: usize, key: impl Fn() -> String) -> Part {
        let length = size(value);
        let falls_apart = matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_));
        if length <= self.grain || !falls_apart {
            return self.leaf(group, index, length + around, said(value), Whole::Part);
        }
        let path = format!("{}/{}", self.groups[group].path, key());
        let inner = self.group(value, path, Some((group, index)));
        self.groups[inner].overhead += around;
        Part::Group(inner)
    }

    fn leaf(&mut self, group: usize, index: usize, size: usize, text: Cow<'a, str>, whole: Whole) -> Part {
        self.leaves.push(Leaf { group, index, size, text, whole });
        Part::Leaf(self.leaves.len() - 1)
    }

    fn open(&mut self, kind: Kind, path: String, parent: Option<(usize, usize)>, overhead: usize) -> usize {
        self.groups.push(Group { kind, path, parent, overhead, parts: Vec::new() });
        self.groups.len() - 1
    }
}

/// The pieces of a line that is too long, on borders of characters.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let range = from..floor_char_boundary(line, (from + PIECE).min(line.len()));
        from = range.end;
        (!range.is_empty()).then_some(range)
    })
}

/// About how long a value is as JSON, in bytes.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(members) => 2 + members.iter().map(|(key, member)| key.len() + 4 + size(member)).sum::<usize>(),
    }
}

/// What a value says, for a reader who looks for words: a member that is `null`, `false`, zero or empty says nothing.
fn said(value: &Value) -> Cow<'_, str> {
    if let Value::String(text) = value {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(128);
    say(value, &mut text);
    Cow::Owned(text)
}

fn say(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => text.push_str("true"),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => text.push_str(string),
        Value::Array(items) => items.iter().for_each(|item| {
            say(item, text);
            text.push('\n');
        }),
        Value::Object(members) => members.iter().for_each(|(key, member)| say_member(key, member, text)),
    }
}

fn say_member(key: &str, member: &Value, text: &mut String) {
    if !is_nothing(member) {
        text.push_str(key);
        text.push_str(": ");
        say(member, text);
        text.push('\n');
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
