//! Where in a message are its parts? Found byte by byte in constant memory, so that depth, size and broken content
//! cost nothing and the id of a refused message is still known. Must not build values or decide what is refused.

use std::ops::Range;

/// Longest key that is kept: our longest one with every character escaped.
const KEY: usize = 64;
/// Longest id that is kept, in bytes of its JSON form.
const ID: usize = 8192;

/// The members of a message that the gateway looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Id,
    Method,
    Params,
    Name,
    Arguments,
    Meta,
    Other,
}

/// Whether the scanner is within a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escape,
    Hex { left: u8, unit: u32 },
}

/// One level of the message that is watched: the message itself, or its params.
#[derive(Clone, Debug, Default)]
struct Level {
    member: Option<Member>,
    start: Option<usize>,
    seen: Vec<Member>,
    wants_key: bool,
}

/// What is known of a message after its bytes went through [`Scan::feed`].
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    at: usize,
    last: usize,
    depth: usize,
    text: Text,
    is_key: bool,
    key: Vec<u8>,
    half: bool,
    levels: [Level; 2],
    params_is_object: bool,
    /// The first byte that is not white space.
    pub(crate) first: Option<u8>,
    /// The id as it was written.
    pub(crate) id: Vec<u8>,
    /// Whether there is an id at all.
    pub(crate) has_id: bool,
    /// Where the arguments of a tool are.
    pub(crate) arguments: Option<Range<usize>>,
    /// Where the method's name is.
    pub(crate) method: Option<Range<usize>>,
    /// A member that the gateway looks at was given twice.
    pub(crate) is_ambiguous: bool,
    /// That member is the id.
    pub(crate) has_two_ids: bool,
    /// Half of a surrogate pair stands outside the arguments.
    pub(crate) has_half: bool,
    /// Deepest nesting outside the arguments.
    pub(crate) deepest: usize,
    /// Whether every bracket was closed.
    pub(crate) is_complete: bool,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan {
            at: 0,
            last: 0,
            depth: 0,
            text: Text::Outside,
            is_key: false,
            key: Vec::new(),
            half: false,
            levels: [Level::default(), Level::default()],
            params_is_object: false,
            first: None,
            id: Vec::new(),
            has_id: false,
            arguments: None,
            method: None,
            is_ambiguous: false,
            has_two_ids: false,
            has_half: false,
            deepest: 0,
            is_complete: false,
        }
    }
}

impl Scan {
    /// The scan of a whole message.
    pub(crate) fn of(bytes: &[u8]) -> Scan {
        let mut scan = Scan::default();
        scan.feed(bytes);
        scan
    }

    /// Goes on with the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
            self.at += 1;
            if !byte.is_ascii_whitespace() {
                self.last = self.at;
            }
        }
    }

    fn step(&mut self, byte: u8) {
        if self.first.is_none() && !byte.is_ascii_whitespace() {
            self.first = Some(byte);
        }
        match self.text {
            Text::Outside => self.outside(byte),
            Text::Inside => self.inside(byte),
            Text::Escape => self.escape(byte),
            Text::Hex { left, unit } => self.hex(byte, left, unit),
        }
        if self.levels[0].member == Some(Member::Id) && self.levels[0].start.is_some() && self.id.len() < ID {
            self.id.push(byte);
        }
    }

    /// The level whose members are at the present depth, if it is watched.
    fn level(&mut self) -> Option<&mut Level> {
        match self.depth {
            1 => Some(&mut self.levels[0]),
            2 if self.levels[0].member == Some(Member::Params) && self.params_is_object => Some(&mut self.levels[1]),
            _ => None,
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                self.is_key = self.level().is_some_and(|level| level.wants_key);
                self.key.clear();
                self.text = Text::Inside;
                if !self.is_key {
                    self.begin();
                }
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b',' => {
                self.end();
                if let Some(level) = self.level() {
                    level.wants_key = true;
                }
            }
            b':' => {
                if let Some(level) = self.level() {
                    level.wants_key = false;
                }
            }
            _ => self.begin(),
        }
    }

    fn open(&mut self, byte: u8) {
        self.begin();
        if self.depth == 1 && self.levels[0].member == Some(Member::Params) {
            self.params_is_object = byte == b'{';
            self.levels[1] = Level::default();
        }
        self.depth += 1;
        if !self.is_within_arguments() {
            self.deepest = self.deepest.max(self.depth);
        }
        let is_object = byte == b'{';
        if let Some(level) = self.level() {
            level.wants_key = is_object;
        }
    }

    fn close(&mut self) {
        self.end();
        self.depth = self.depth.saturating_sub(1);
        self.is_complete = self.depth == 0;
    }

    /// A value begins here, unless it has begun.
    fn begin(&mut self) {
        let at = self.at;
        if let Some(level) = self.level()
            && level.member.is_some()
        {
            level.start.get_or_insert(at);
        }
    }

    /// The value of the present level ends before this byte.
    fn end(&mut self) {
        let last = self.last;
        let Some(level) = self.level() else { return };
        let (member, start) = (level.member.take(), level.start.take());
        if let (Some(member), Some(start)) = (member, start) {
            match member {
                Member::Arguments => self.arguments = Some(start..last),
                Member::Method => self.method = Some(start..last),
                Member::Id | Member::Params | Member::Name | Member::Meta | Member::Other => {}
            }
        }
    }

    fn is_within_arguments(&self) -> bool {
        self.depth >= 2
            && self.levels[1].member == Some(Member::Arguments)
            && self.levels[0].member == Some(Member::Params)
    }

    fn inside(&mut self, byte: u8) {
        match byte {
            b'\\' => self.text = Text::Escape,
            b'"' => {
                self.whole();
                self.text = Text::Outside;
                if self.is_key {
                    self.name_member();
                    return;
                }
            }
            _ => self.whole(),
        }
        self.keep(byte);
    }

    fn escape(&mut self, byte: u8) {
        self.keep(byte);
        self.text = match byte {
            b'u' => Text::Hex { left: 4, unit: 0 },
            _ => {
                self.whole();
                Text::Inside
            }
        };
    }

    fn hex(&mut self, byte: u8, left: u8, unit: u32) {
        self.keep(byte);
        let unit = unit << 4 | char::from(byte).to_digit(16).unwrap_or_default();
        self.text = if left > 1 { Text::Hex { left: left - 1, unit } } else { Text::Inside };
        if left == 1 {
            match unit {
                0xd800..=0xdbff => {
                    self.whole();
                    self.half = true;
                }
                0xdc00..=0xdfff if self.half => self.half = false,
                0xdc00..=0xdfff => self.has_half |= !self.is_within_arguments(),
                _ => self.whole(),
            }
        }
    }

    /// What comes now does not complete a surrogate pair.
    fn whole(&mut self) {
        if std::mem::take(&mut self.half) {
            self.has_half |= !self.is_within_arguments();
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.is_key && self.key.len() <= KEY {
            self.key.push(byte);
        }
    }

    fn name_member(&mut self) {
        let quoted = [b"\"", self.key.as_slice(), b"\""].concat();
        let name: String = serde_json::from_slice(&quoted).unwrap_or_default();
        let member = match (self.depth, name.as_str()) {
            (1, "id") => Member::Id,
            (1, "method") => Member::Method,
            (1, "params") => Member::Params,
            (2, "name") => Member::Name,
            (2, "arguments") => Member::Arguments,
            (2, "_meta") => Member::Meta,
            _ => Member::Other,
        };
        self.is_key = false;
        let Some(level) = self.level() else { return };
        level.wants_key = false;
        level.member = Some(member);
        let is_twice = level.seen.contains(&member);
        if member != Member::Other {
            level.seen.push(member);
        }
        self.is_ambiguous |= is_twice;
        if member == Member::Id {
            self.has_two_ids |= is_twice;
            self.has_id = true;
            self.id.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn arguments(text: &str) -> Option<&str> {
        Scan::of(text.as_bytes()).arguments.map(|range| &text[range])
    }

    #[test]
    fn the_arguments_are_found_as_they_were_written() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(arguments(text), expect, "{text}");
        check(r#"{"params":{"arguments": {"a":"}"} ,"name":"x"}}"#, Some(r#"{"a":"}"}"#));
        check(r#"{"params":{"name":"x","arguments":{"a":"\ud83d"}}}"#, Some(r#"{"a":"\ud83d"}"#));
        check(r#"{"params":{"\u0061rguments":1}}"#, Some("1"));
        check(r#"{"params":{"x":{"arguments":1}},"arguments":2}"#, None);
        check(r#"{"params":["arguments"]}"#, None);
        check(r#"{"params":{"arguments":"a\"b"}}"#, Some(r#""a\"b""#));
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let id = |text: &str| String::from_utf8(Scan::of(text.as_bytes()).id).unwrap();
        assert_eq!(id(r#"{"params":{"id":1},"id": 7}"#), "7");
        assert_eq!(id(r#"{"id":"a,b","x":1}"#), "\"a,b\"");
        assert!(!Scan::of(br#"{"params":{"id":1}}"#).has_id);
    }

    #[test]
    fn halves_of_pairs_count_only_outside_the_arguments() {
        let half = |text: &str| Scan::of(text.as_bytes()).has_half;
        assert!(half(r#"{"a":"\ud83d"}"#));
        assert!(half(r#"{"a":"\ude00\ud83d"}"#));
        assert!(half(r#"{"a":"\ud83d\n"}"#));
        assert!(!half(r#"{"a":"\ud83d\ude00"}"#));
        assert!(!half(r#"{"params":{"arguments":{"a":"\ud83d"}}}"#));
    }

    proptest! {
        #[test]
        fn whatever_is_valid_is_cut_where_a_parser_would(text in ".{0,40}", key in "[a-z\"\\\\{}]{0,6}", deep in 0_usize..6) {
            let mut inner = json!({ key.clone(): text, "n": [1, {"x": null}] });
            for _ in 0..deep {
                inner = json!([inner, {"arguments": 1}]);
            }
            let whole = json!({ "a": {"params": 1}, "params": { key: 2, "arguments": inner, "z": "}" }, "id": 3 }).to_string();
            let found = arguments(&whole).unwrap();
            let parsed: Value = serde_json::from_str(&whole).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(found).unwrap(), parsed["params"]["arguments"].clone());
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Scan::of(&bytes);
        }
    }
}
