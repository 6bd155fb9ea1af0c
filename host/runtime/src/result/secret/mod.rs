//! Which parts of a result are secrets, and what does a reader see in their place? Masks with ids that nobody can
//! guess. The same secret gives the same mask, so that a reader still sees that two are one. Must not know where a text
//! comes from or goes.
//!
//! A mask reads `[masked:RULE:ID]`. Its id is made with a key that never leaves the state folder, half of it from the
//! secret and half from the first half, so that a mask which comes back is known without anything being remembered.

mod known;
mod rules;

use crate::error::{Error, Kind, Step};
use crate::record::Masking;
use known::Known;
use regex::Regex;
use rules::Found;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// The name of the rule in masks of configured secrets.
const CONFIGURED: &str = "configured";
/// Bytes of an id that come from the secret, and that prove the id.
const HALF: usize = 8;
/// A text that is shorter holds no secret.
const SHORTEST: usize = 6;

/// Finds and masks secrets. Lifetime: the runtime.
#[derive(Debug)]
pub struct Masks {
    key: [u8; 32],
    known: Known,
    /// Whether texts that look like secrets are masked, too.
    by_look: bool,
}

impl Masks {
    /// `key` makes the ids of masks; `secrets` are masked in whatever form they come.
    pub fn new<'a>(key: [u8; 32], secrets: impl IntoIterator<Item = &'a str>) -> Masks {
        Masks { key, known: Known::new(secrets), by_look: true }
    }

    /// The same, with only configured secrets masked. For a measurement of what looking for others costs.
    pub fn configured_only(self) -> Masks {
        Masks { by_look: false, ..self }
    }

    /// Whether there is nothing that could be found.
    pub(crate) fn look_for_nothing(&self) -> bool {
        !self.by_look && self.known.is_empty()
    }

    /// Masks a text. Returns how many masks were made.
    pub fn text<'a>(&self, text: &'a str) -> (Cow<'a, str>, usize) {
        let found = self.found(text);
        match found.is_empty() {
            true => (Cow::Borrowed(text), 0),
            false => (Cow::Owned(self.replace(text, &found)), found.len()),
        }
    }

    fn found(&self, text: &str) -> Vec<Found> {
        match text {
            short if short.len() < SHORTEST || self.look_for_nothing() => Vec::new(),
            coloured if coloured.contains('\x1b') => self.find_under_colours(coloured),
            plain => self.find(plain),
        }
    }

    /// Masks every text of a value, names of members included. Returns how many masks were made.
    pub fn value(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => match self.text(text) {
                (Cow::Owned(masked), count) => {
                    *text = masked;
                    count
                }
                (Cow::Borrowed(_), _) => 0,
            },
            Value::Array(items) => items.iter_mut().map(|item| self.value(item)).sum(),
            Value::Object(members) => {
                let mut count = 0;
                let secret_names: Vec<String> = members.keys().filter(|key| self.text(key).1 > 0).cloned().collect();
                for name in secret_names {
                    if let Some(member) = members.shift_remove(&name) {
                        let (masked, masks) = self.text(&name);
                        count += masks;
                        members.insert(masked.into_owned(), member);
                    }
                }
                for (name, member) in members.iter_mut() {
                    count += self.value(member);
                    if let Value::String(text) = member
                        && self.by_look
                        && !MASK.is_match(text)
                        && rules::is_secret(name, text)
                    {
                        *text = self.mask("assigned", text);
                        count += 1;
                    }
                }
                count
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Masks what an error says. Returns how many masks were made.
    pub(crate) fn error(&self, error: &mut Error) -> usize {
        let error = &mut **error;
        let mut texts: Vec<&mut String> = vec![&mut error.message];
        texts.extend(&mut error.hint);
        for problem in &mut error.problems {
            texts.extend([&mut problem.path, &mut problem.received, &mut problem.expected]);
            texts.extend(&mut problem.hint);
        }
        let mask = |text: &mut String| match self.text(text) {
            (Cow::Owned(masked), count) => {
                *text = masked;
                count
            }
            (Cow::Borrowed(_), _) => 0,
        };
        texts.into_iter().map(mask).sum()
    }

    /// Refuses arguments that hold a mask of ours: writing it would put the mask in the secret's place.
    ///
    /// # Errors
    /// `conflict`, with what to do instead.
    pub fn refuse_written_back(&self, canonical: &str) -> Result<(), Error> {
        if !canonical.contains("[masked:") {
            return Ok(());
        }
        match MASK.captures_iter(canonical).find(|mask| self.is_ours(&mask["id"])) {
            None => Ok(()),
            Some(mask) => Err(Error::new(
                Step::Validation,
                Kind::Conflict,
                format!("the arguments contain `{}`, which stands for a secret that was not shown", &mask[0]),
            )
            .reason("masked_secret")
            .hint(
                "the secret itself is untouched; change only the text around it, for example by replacing a passage \
                 that does not include it",
            )),
        }
    }

    fn is_ours(&self, id: &str) -> bool {
        id.len() == 4 * HALF && self.proof(&id[..2 * HALF]) == id[2 * HALF..]
    }

    fn mask(&self, rule: &str, secret: &str) -> String {
        let first = &blake3::keyed_hash(&self.key, secret.as_bytes()).to_hex()[..2 * HALF];
        format!("[masked:{rule}:{first}{}]", self.proof(first))
    }

    fn proof(&self, first: &str) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"proof of a mask").update(first.as_bytes());
        hasher.finalize().to_hex()[..2 * HALF].to_owned()
    }

    /// What is to be masked, in order, without overlaps.
    fn find(&self, text: &str) -> Vec<Found> {
        let mut found: Vec<Found> = self.known.find(text).map(|range| Found { range, rule: CONFIGURED }).collect();
        if self.by_look {
            found.extend(rules::find(text));
        }
        if found.is_empty() {
            return found;
        }
        // What is a mask already stays one.
        if text.contains("[masked:") {
            let masks: Vec<Range<usize>> = MASK.find_iter(text).map(|mask| mask.range()).collect();
            found
                .retain(|found| !masks.iter().any(|mask| mask.start < found.range.end && found.range.start < mask.end));
        }
        found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        let mut merged: Vec<Found> = Vec::with_capacity(found.len());
        for next in found {
            match merged.last_mut() {
                Some(last) if next.range.start < last.range.end => {
                    last.range.end = last.range.end.max(next.range.end);
                }
                Some(_) | None => merged.push(next),
            }
        }
        merged
    }

    /// The same for a text with colours, which may stand in the middle of a secret.
    fn find_under_colours(&self, text: &str) -> Vec<Found> {
        let mut plain = String::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len() + 1);
        let mut at = 0;
        for code in COLOUR.find_iter(text) {
            places.extend(at..code.start());
            plain.push_str(&text[at..code.start()]);
            at = code.end();
        }
        places.extend(at..text.len());
        plain.push_str(&text[at..]);
        let back = |found: Found| {
            let start = places.get(found.range.start).copied().unwrap_or(text.len());
            let last = found.range.end.checked_sub(1).and_then(|last| places.get(last)).copied();
            Found { range: start..last.map_or(text.len(), |last| last + 1), rule: found.rule }
        };
        self.find(&plain).into_iter().map(back).collect()
    }

    fn replace(&self, text: &str, found: &[Found]) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for found in found {
            masked.push_str(&text[at..found.range.start]);
            masked.push_str(&self.mask(found.rule, &text[found.range.clone()]));
            at = found.range.end;
        }
        masked.push_str(&text[at..]);
        masked
    }
}

impl Masking for Masks {
    fn masked(&self, text: &str) -> Option<String> {
        match self.text(text) {
            (Cow::Owned(masked), _) => Some(masked),
            (Cow::Borrowed(_), _) => None,
        }
    }

    fn crossed_out(&self, text: &str) -> Option<String> {
        let found = self.found(text);
        let mut crossed_out = (!found.is_empty()).then(|| text.to_owned())?;
        for Found { range, .. } in found {
            let stars = "*".repeat(range.len());
            crossed_out.replace_range(range, &stars);
        }
        Some(crossed_out)
    }
}

/// A mask, ours or one that looks so.
static MASK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[masked:(?<rule>[a-z0-9-]{1,40}):(?<id>[0-9a-f]{32})\]").expect("the pattern of masks is a constant")
});

/// What a terminal obeys and does not show.
static COLOUR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
        .expect("the pattern is a constant")
});

#[cfg(test)]
mod tests;
