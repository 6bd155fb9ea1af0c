//! What crossed the border of one component's capabilities, in order? Recorded while it runs, up to a size, and handed to
//! it again when the call is replayed. The clock's times and the seed of randomness belong to it. Must not know what any
//! capability does.

use crate::call::Digest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
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
    pub(crate) played: usize,
    /// The first thing that was not as it was.
    pub(crate) divergence: Option<String>,
}

impl Tape {
    /// A recording of at most so many bytes.
    pub(crate) fn record(bytes: usize) -> Tape {
        Tape::Recording(Recording { entries: Vec::new(), left: bytes, asked: Digest::of_parts([]), lost: None })
    }

    /// Plays what was recorded.
    pub(crate) fn play(entries: Vec<Entry>) -> Tape {
        Tape::Playing(Playing { entries: entries.into_iter(), played: 0, divergence: None })
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
            Some(entry) if entry.args != args => format!("crossing {number}: `{name}` is given something else"),
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
    pub(crate) cassette: Cassette,
    pub(crate) returned: Vec<u8>,
}

impl Recorded {
    /// As it is kept.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let outcome = Digest::of(&self.returned);
        Cassette { outcome, ..self.cassette.clone() }.encode()
    }

    /// Whether anything of it reads otherwise once it is masked.
    pub(crate) fn holds_secret(&self, masking: &dyn Fn(&str) -> Option<String>) -> bool {
        let entries = self.cassette.entries.iter().chain(&self.cassette.requests);
        let answers = entries.map(|entry| String::from_utf8_lossy(&entry.answer));
        masking(&self.cassette.asked.args).is_some() || answers.into_iter().any(|answer| masking(&answer).is_some())
    }
}

impl Cassette {
    /// As it is kept.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(self).ok()
    }

    /// What `encode` made.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Cassette> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(answers: &[(&'static str, &str, &str)], most: usize) -> Result<Vec<Entry>, &'static str> {
        let mut tape = Tape::record(most);
        for (name, args, answer) in answers {
            assert_eq!(tape.next::<String>(name, args).unwrap(), None);
            tape.keep(name, answer).unwrap();
        }
        let Tape::Recording(recording) = tape else { panic!("it records") };
        recording.entries(&[])
    }

    #[test]
    fn what_is_recorded_is_answered_again_in_order_and_nothing_else() {
        let entries = recorded(&[("a.one", "x", "1"), ("a.two", "y", "2")], 1000).unwrap();
        let mut tape = Tape::play(entries.clone());
        assert_eq!(tape.next::<String>("a.one", &"x").unwrap().as_deref(), Some("1"));
        assert!(tape.next::<String>("a.two", &"other").is_err());
        let Tape::Playing(playing) = &tape else { panic!("it plays") };
        assert_eq!(playing.divergence.as_deref(), Some("crossing 2: `a.two` is given something else"));
        let mut tape = Tape::play(entries);
        assert!(tape.next::<String>("a.two", &"y").is_err(), "out of order");
    }

    #[test]
    fn past_its_size_a_recording_is_none() {
        assert!(recorded(&[("a.one", "x", "1")], 10).is_err());
        let fits = recorded(&[("a.one", "x", "1")], ENTRY + 10).unwrap();
        let tape = || Recording { entries: Vec::new(), left: ENTRY + 10, asked: Digest::of(b""), lost: None };
        assert_eq!(tape().entries(&fits), Ok(Vec::new()));
        assert_eq!(tape().entries(&[fits.clone(), fits].concat()), Err(TOO_MUCH));
    }

    #[test]
    fn a_cassette_comes_back_as_it_was_kept() {
        let asked = Asked {
            tool: "t".into(),
            args: "{}".into(),
            call_id: "1".into(),
            attempt: 1,
            deadline_ms: 5,
            task: Some("a task".into()),
        };
        let entries = recorded(&[("a.one", "x", "1")], 1000).unwrap();
        let cassette = Cassette {
            asked,
            seed: [7; 32],
            times: vec![1, 2],
            requests: entries.clone(),
            entries,
            outcome: Digest::of(b"x"),
        };
        assert_eq!(Cassette::decode(&cassette.encode().unwrap()), Some(cassette));
    }

    #[test]
    fn times_are_given_again_as_they_were_seen() {
        let times = Times::default();
        assert_eq!((times.look(|| 5), times.look(|| 7)), (5, 7));
        let again = Times::play(times.seen().unwrap());
        assert_eq!((again.look(|| 0), again.look(|| 0), again.look(|| 0)), (5, 7, 7));
    }
}
