//! What crossed the border of one component's capabilities, in order? Recorded while it runs, up to a size, and handed to
//! it again when the call is replayed. The clock's times and the seed of randomness belong to it. Must not know what any
//! capability does.

use crate::call::Digest;
use crate::record::{Masking, mask_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Looks at a clock that are recorded of one attempt.
const TIMES: usize = 4096;
/// Why nothing of an attempt is kept that did more than is recorded.
pub(crate) const TOO_MUCH: &str = "more crossed the border of its capabilities than is recorded";
/// What an entry costs beside its answer, in bytes.
const ENTRY: usize = 64;

/// All that a component needs to run again as it ran. Kept beside the record of its call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cassette {
    /// What it was asked.
    pub asked: Asked,
    /// From which its random numbers follow.
    pub seed: [u8; 32],
    /// What its clocks showed, in nanoseconds.
    pub times: Vec<u64>,
    /// What it asked of its capabilities and was answered.
    pub entries: Vec<Entry>,
    /// What it sent over HTTP and was answered. Requests run beside each other and beside other crossings.
    pub requests: Vec<Entry>,
    /// Digest of what it returned.
    pub outcome: Digest,
}

/// What a component is asked: the tool, its arguments, and the context of the attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The tool's name in the component.
    pub tool: String,
    /// The arguments as the backend wanted them.
    pub args: String,
    /// The call's id.
    pub call_id: String,
    /// The attempt.
    pub attempt: u32,
    /// Milliseconds that it had.
    pub deadline_ms: u64,
    /// What the agent said it was working on.
    pub task: Option<String>,
}

/// One crossing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which function, for example `files.open`.
    pub name: String,
    /// Digest of what it was given.
    pub args: Digest,
    /// What it answered, encoded.
    #[serde(with = "raw")]
    pub answer: Vec<u8>,
}

/// A recording that is made or played.
#[derive(Debug, Default)]
pub(crate) enum Tape {
    /// Neither.
    #[default]
    Off,
    /// It is made.
    Recording(Recording),
    /// It is played.
    Playing(Playing),
    /// The component runs in another process than its capabilities, and each crossing is asked there.
    Asking(Asking),
}

/// Asks for what a crossing answers: given the function's name and what it is given, encoded.
pub(crate) struct Asking(Ask);

type Ask = Box<dyn FnMut(&str, Vec<u8>) -> Result<Vec<u8>, String> + Send + Sync>;

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asking")
    }
}

/// A recording that is made. Lifetime: the attempt.
#[derive(Debug)]
pub(crate) struct Recording {
    entries: Vec<Entry>,
    left: usize,
    asked: Digest,
    /// Why it cannot be played again.
    pub(crate) lost: Option<&'static str>,
}

/// A recording that is played. Lifetime: the replay.
#[derive(Debug)]
pub(crate) struct Playing {
    entries: std::vec::IntoIter<Entry>,
    exact: bool,
    pub(crate) played: usize,
    /// The first thing that was not as it was.
    pub(crate) divergence: Option<String>,
}

impl Tape {
    /// A recording of at most so many bytes.
    pub(crate) fn record(bytes: usize) -> Tape {
        Tape::Recording(Recording { entries: Vec::new(), left: bytes, asked: Digest::NONE, lost: None })
    }

    /// Plays what was recorded. What is not `exact` holds masks, so that only the order of crossings is compared.
    pub(crate) fn play(entries: Vec<Entry>, exact: bool) -> Tape {
        Tape::Playing(Playing { entries: entries.into_iter(), exact, played: 0, divergence: None })
    }

    /// Asks for each answer.
    pub(crate) fn asking(ask: impl FnMut(&str, Vec<u8>) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> Tape {
        Tape::Asking(Asking(Box::new(ask)))
    }

    /// The recorded answer of the next crossing, or what was asked for elsewhere, or nothing where it has to be asked for. `args` are what it is given.
    ///
    /// # Errors
    /// If it is not the crossing that was recorded, or nobody answers; the attempt ends.
    pub(crate) fn next<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        args: &impl Serialize,
    ) -> wasmtime::Result<Option<T>> {
        match self {
            Tape::Off => Ok(None),
            Tape::Recording(recording) => {
                if recording.lost.is_none() {
                    recording.asked = digest(args)?;
                }
                Ok(None)
            }
            Tape::Playing(playing) => playing.next(name, digest(args)?).map(Some),
            Tape::Asking(Asking(ask)) => {
                let answer = ask(name, postcard::to_allocvec(args)?).map_err(wasmtime::Error::msg)?;
                Ok(Some(postcard::from_bytes(&answer)?))
            }
        }
    }

    /// Records what a crossing answered.
    pub(crate) fn keep(&mut self, name: &'static str, answer: &impl Serialize) -> wasmtime::Result<()> {
        let Tape::Recording(recording) = self else { return Ok(()) };
        if recording.lost.is_some() {
            return Ok(());
        }
        let answer = postcard::to_allocvec(answer)?;
        match recording.left.checked_sub(answer.len() + ENTRY) {
            Some(left) => {
                recording.left = left;
                recording.entries.push(Entry { name: name.to_owned(), args: recording.asked, answer });
            }
            None => {
                recording.lost = Some(TOO_MUCH);
                recording.entries = Vec::new();
            }
        }
        Ok(())
    }
}

impl Recording {
    /// What was recorded, if there is room for what was recorded beside it too.
    pub(crate) fn entries(self, beside: &[Entry]) -> Result<Vec<Entry>, &'static str> {
        let beside: usize = beside.iter().map(|entry| entry.answer.len() + ENTRY).sum();
        match self.lost {
            None if beside <= self.left => Ok(self.entries),
            None => Err(TOO_MUCH),
            Some(why) => Err(why),
        }
    }
}

impl Playing {
    fn next<T: DeserializeOwned>(&mut self, name: &str, args: Digest) -> wasmtime::Result<T> {
        let number = self.played + 1;
        let differs = match self.entries.next() {
            None => format!("crossing {number}: it asks for `{name}`, and nothing more was recorded"),
            Some(entry) if entry.name != name => {
                format!("crossing {number}: it asks for `{name}`, and `{}` was recorded", entry.name)
            }
            Some(entry) if self.exact && entry.args != args => {
                format!("crossing {number}: `{name}` is given something else")
            }
            Some(entry) => {
                self.played = number;
                return Ok(postcard::from_bytes(&entry.answer)?);
            }
        };
        self.divergence.get_or_insert(differs);
        Err(wasmtime::Error::msg("the replay diverges from what was recorded"))
    }

    /// What was recorded and not asked for.
    pub(crate) fn rest(&self) -> usize {
        self.entries.len()
    }
}

/// The digest of anything that can be written down.
pub(crate) fn digest(value: &impl Serialize) -> wasmtime::Result<Digest> {
    Ok(Digest::of(&postcard::to_allocvec(value)?))
}

/// The times of a component's clocks, as they are looked at. Lifetime: the attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Arc<Mutex<Looks>>);

#[derive(Debug, Default)]
struct Looks {
    seen: Vec<u64>,
    /// How many of them were played; nothing while they are recorded.
    played: Option<usize>,
    too_many: bool,
}

impl Times {
    /// Times that are played.
    pub(crate) fn play(seen: Vec<u64>) -> Times {
        Times(Arc::new(Mutex::new(Looks { seen, played: Some(0), too_many: false })))
    }

    /// The next time: the recorded one, or what the clock shows.
    pub(crate) fn look(&self, clock: impl FnOnce() -> u64) -> u64 {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(played) = looks.played {
            looks.played = Some(played + 1);
            // Past the end time stands still; what then differs is seen at the next crossing or in the outcome.
            return looks.seen.get(played).or(looks.seen.last()).copied().unwrap_or_default();
        }
        let time = clock();
        match looks.seen.len() < TIMES {
            true => looks.seen.push(time),
            false => looks.too_many = true,
        }
        time
    }

    /// What was seen.
    ///
    /// # Errors
    /// If the clock was looked at too often.
    pub(crate) fn seen(&self) -> Result<Vec<u64>, &'static str> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match looks.too_many {
            false => Ok(std::mem::take(&mut looks.seen)),
            true => Err("it looked at the clock more often than is recorded"),
        }
    }
}

/// Bytes as bytes, and not one by one.
pub(crate) mod raw {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_owned())
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// Bytes among other values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Raw(#[serde(with = "raw")] pub(crate) Vec<u8>);

/// The same, borrowed.
#[derive(Serialize)]
pub(crate) struct RawRef<'a>(#[serde(serialize_with = "raw::serialize")] pub(crate) &'a [u8]);

/// An attempt as it was recorded, and what it returned, still to be digested.
#[derive(Clone, Debug)]
pub struct Recorded {
    cassette: Cassette,
    returned: Vec<u8>,
    /// As it is kept, where that was made already.
    encoded: Option<Vec<u8>>,
}

impl Recorded {
    /// What was recorded, but for the digest of what was returned.
    pub(crate) fn new(cassette: Cassette, returned: Vec<u8>) -> Recorded {
        Recorded { cassette, returned, encoded: None }
    }

    /// Makes what is kept of it. From then on it stays what it is.
    pub(crate) fn encode(&mut self) {
        self.encoded = self.written_down();
    }

    /// As it is kept.
    pub(crate) fn encoded(&self) -> Option<Cow<'_, [u8]>> {
        match &self.encoded {
            Some(encoded) => Some(Cow::Borrowed(encoded)),
            None => self.written_down().map(Cow::Owned),
        }
    }

    /// What [`Cassette::decode`] reads: its members one after the other, with the digest of what was returned.
    fn written_down(&self) -> Option<Vec<u8>> {
        let Cassette { asked, seed, times, entries, requests, outcome: _ } = &self.cassette;
        let room = Vec::with_capacity(self.cassette.size() + 256);
        postcard::to_extend(&(asked, seed, times, entries, requests, Digest::of(&self.returned)), room).ok()
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.cassette.size() + self.returned.len()
    }

    /// Covers what is secret in it: the arguments get masks, and in answers each byte of a secret is crossed out, because
    /// the length of a text stands before it.
    pub(crate) fn cover(&mut self, masking: &dyn Masking) -> Covered {
        let Cassette { asked, entries, requests, .. } = &mut self.cassette;
        let mut covered = Covered::Nothing;
        let mut args: Arc<str> = std::mem::take(&mut asked.args).into();
        if mask_json(&mut args, masking) {
            covered = Covered::All;
        }
        asked.args = args.to_string();
        for entry in entries.iter_mut().chain(requests) {
            if masking.crossed_out(&String::from_utf8_lossy(&entry.answer)).is_none() {
                continue;
            }
            cross_out(&mut entry.answer, masking);
            // What the bytes between texts hid, or took apart, is still there.
            if masking.crossed_out(&String::from_utf8_lossy(&entry.answer)).is_some() {
                return Covered::Not;
            }
            covered = Covered::All;
        }
        covered
    }
}

/// What was covered of what is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Covered {
    /// There was nothing.
    Nothing,
    /// All of it.
    All,
    /// Some of it could not be.
    Not,
}

/// Crosses out what is secret in the texts among other bytes.
fn cross_out(bytes: &mut [u8], masking: &dyn Masking) {
    let mut at = 0;
    while at < bytes.len() {
        let Some(chunk) = bytes[at..].utf8_chunks().next() else { return };
        let (text, bad) = (chunk.valid().len(), chunk.invalid().len());
        if let Some(crossed_out) = masking.crossed_out(chunk.valid()) {
            bytes[at..at + text].copy_from_slice(crossed_out.as_bytes());
        }
        at += text + bad;
    }
}

impl Cassette {
    fn size(&self) -> usize {
        let answers = self.entries.iter().chain(&self.requests).map(|entry| entry.answer.len() + ENTRY);
        self.asked.args.len() + 8 * self.times.len() + answers.sum::<usize>()
    }

    /// What [`Recorded::encoded`] gives.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Cassette> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
