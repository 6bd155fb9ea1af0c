//! How much of a component did a call reach? Counters are put into its core modules before it is loaded: one for each
//! way that a branch can go. At the end of each call it tells them to the host, through an interface that is added to it.
//! Must not know which inputs are tried.

mod compare;
mod component;
mod count;
mod module;
mod nested;
mod tell;

use hermes_runtime::authority::Authority;
use hermes_runtime::sandbox::component::binary;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The capability by which a counted component is given the interface.
pub(crate) const CAPABILITY: &str = "coverage";
/// The interface.
pub(crate) const WIT: &str =
    "package hermes-testkit:coverage@0.1.0; interface edges { ran: func(edges: string, compared: string); }";
/// Its full name.
const INTERFACE: &str = "hermes-testkit:coverage/edges@0.1.0";
/// Most counters of one component. Those of interpreters have more branches; some share a counter then.
const MOST: u32 = 1 << 20;
/// Where the counters begin. Before them are the texts and the letters that were compared.
const FIRST: u32 = LETTERS + (1 << 14);
/// Where it is noted which letters were compared with which: a byte for each pair of seven bits each.
const LETTERS: u32 = compare::SIZE;
/// What a counted component needs beside its own memory, in MiB: texts, a byte for each counter and six to tell it.
pub(crate) const MEMORY_MB: u64 = 8;

/// A component with counters.
pub(crate) struct Counted {
    pub(crate) component: Vec<u8>,
    /// How many counters there are.
    pub(crate) counters: u32,
    pub(crate) words: Words,
    /// By the first of their counters, comparisons with a number: how many counters each has, and the number.
    pub(crate) compares: BTreeMap<u32, (u32, i64)>,
}

/// What a component compares with, found in its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Numbers that read as text are texts, too.
    pub(crate) texts: Vec<String>,
    pub(crate) numbers: Vec<i64>,
    /// A part of an input, and what it was compared with.
    pub(crate) swaps: Vec<[String; 2]>,
}

/// Puts counters into a component, which may be text.
///
/// # Errors
/// It is no component, or none of its modules can be counted.
pub(crate) fn counted(bytes: &[u8]) -> Result<Counted, String> {
    let binary = binary(bytes).map_err(|error| error.to_string())?;
    component::counted(&binary)
}

/// Numbers for counters. A span is so many one after the other.
#[derive(Default)]
struct Counters {
    next: u32,
    all: u32,
    compares: BTreeMap<u32, (u32, i64)>,
}

impl Counters {
    fn take(&mut self, span: u32) -> u32 {
        self.all = self.all.saturating_add(span);
        if self.next + span > MOST {
            self.next = 0;
        }
        self.next += span;
        self.next - span
    }

    /// The same for a comparison with a number.
    fn take_for(&mut self, span: u32, number: Option<i64>) -> u32 {
        let first = self.take(span);
        if let Some(number) = number.filter(|_| self.all <= MOST) {
            self.compares.insert(first, (span, number));
        }
        first
    }
}

/// Constants that stand before a comparison, and how often.
#[derive(Default)]
struct Constants {
    seen: BTreeMap<i64, u32>,
}

impl Constants {
    /// Most that are kept: a large program has many, and those that come up seldom say the most.
    const KEPT: usize = 2000;

    fn note(&mut self, value: i64) {
        *self.seen.entry(value).or_default() += 1;
    }

    fn words(self) -> Words {
        let mut all: Vec<(u32, i64)> = self.seen.into_iter().map(|(value, count)| (count, value)).collect();
        all.sort_unstable();
        all.truncate(Constants::KEPT);
        let mut words = Words::default();
        all.into_iter().for_each(|(_, value)| words.add(value));
        words
    }
}

impl Words {
    /// Takes in a number, and the text that it is.
    pub(crate) fn add(&mut self, number: i64) {
        self.numbers.push(number);
        // The code does not say whether a negative one is meant.
        self.numbers.extend(
            i32::try_from(number).ok().filter(|number| *number < 0).map(|number| i64::from(number.cast_unsigned())),
        );
        self.texts.extend(text(number));
    }
}

/// The letters that lie one after the other in memory where a number does.
fn text(value: i64) -> Option<String> {
    let bytes = match u32::try_from(value).or(i32::try_from(value).map(i32::cast_unsigned)) {
        Ok(narrow) => narrow.to_le_bytes().to_vec(),
        Err(_) => value.to_le_bytes().to_vec(),
    };
    let end = bytes.iter().rposition(|byte| *byte != 0)? + 1;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (!text.contains(char::is_control)).then(|| text.to_owned())
}

/// What the calls since the last look told. Lifetime: the fuzzing run.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Heard>>);

/// What calls told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Counters that are not 0 with what they are at.
    pub(crate) counters: Vec<(u32, u8)>,
    /// Texts that were compared and are not the same.
    pub(crate) compared: Vec<[String; 2]>,
}

impl Told {
    /// The capability that hears it.
    pub(crate) fn authority(&self) -> Authority {
        let told = self.clone();
        Authority::new(CAPABILITY, WIT).function("ran", move |asked| {
            let mut heard = told.0.lock().unwrap_or_else(PoisonError::into_inner);
            heard.counters.extend(read(asked.args["edges"].as_str().unwrap_or_default()));
            heard.compared.extend(compare::read(asked.args["compared"].as_str().unwrap_or_default()));
            Box::pin(std::future::ready(Ok(serde_json::Value::Null)))
        })
    }

    /// What was told since the last time.
    pub(crate) fn take(&self) -> Heard {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Six letters are one counter: four for its number, two for its count, six bits each.
fn read(edges: &str) -> impl Iterator<Item = (u32, u8)> {
    let bits = |letter: &u8| u32::from(letter.wrapping_sub(b'0') & 63);
    edges.as_bytes().chunks_exact(6).map(move |letters| {
        let number = letters[..4].iter().fold(0, |number, letter| number << 6 | bits(letter));
        let count = bits(&letters[4]) << 6 | bits(&letters[5]);
        (number, count as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_compared_with_are_words() {
        let mut constants = Constants::default();
        for value in [i64::from(u32::from_le_bytes(*b"zqkw")), 7, 7, i64::from_le_bytes(*b"abcdefgh"), -1] {
            constants.note(value);
        }
        let words = constants.words();
        assert_eq!(words.texts, ["zqkw", "abcdefgh"]);
        assert_eq!(words.numbers[..2], [-1, i64::from(u32::MAX)], "which of the two is meant is not known");
        assert_eq!(words.numbers[4], 7, "what comes up often comes last");
    }

    #[test]
    fn what_is_told_is_read() {
        assert_eq!(read("000100000a3o").collect::<Vec<_>>(), [(1, 0), (0x31, 255)]);
    }
}
