//! Which inputs lead further into a component? Each runs on a copy of it that counts; one that reaches what none before
//! did is kept, and new inputs are made from those that were kept. Must not judge what happens: the copy is slower and
//! larger than the component.

use crate::coverage::{Heard, Told, Words};
use crate::fuzz::Oracle;
use crate::generate::Random;
use crate::mutate::{mutated, replaced};
use crate::oracle::broken;
use crate::plugin::Plugin;
use crate::world::{World, Worlds};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

/// How much had been reached at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// After so many calls.
    pub calls: u64,
    /// After so much time.
    pub after: Duration,
    /// Different edges since the beginning.
    pub edges: usize,
}

/// What guiding came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// Edges of the component that are counted.
    pub counted: u32,
    /// How many had been reached at which time; the last one is what was reached in all.
    pub curve: Vec<Point>,
    /// Inputs that were kept because they reached something new.
    pub kept: usize,
}

impl Coverage {
    /// Edges that were reached.
    pub fn reached(&self) -> usize {
        self.curve.last().map_or(0, |point| point.edges)
    }
}

/// An input that reached something that none before it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) world: World,
    /// What it was compared with.
    #[serde(skip)]
    pub(crate) words: Words,
    /// How long it is as JSON, in bytes.
    #[serde(skip)]
    pub(crate) length: usize,
}

/// What one input did on the copy.
pub(crate) struct Seen {
    /// Whether it reached something new.
    pub(crate) is_new: bool,
    /// Whether it may have done what must not be; the component itself has to say.
    pub(crate) is_odd: bool,
    /// Whether the tool's schema took it.
    pub(crate) accepted: bool,
    /// The counters that are not 0, with what they are at.
    pub(crate) reached: Vec<(u32, u8)>,
}

/// Runs a component that counts. Lifetime: the fuzzing run.
pub(crate) struct Guide {
    worlds: Worlds,
    told: Told,
    /// What the component compares with anywhere.
    words: Words,
    compares: BTreeMap<u32, (u32, i64)>,
    /// By counter, the sizes of counts that there have been, a bit each.
    known: Vec<u8>,
    corpus: Vec<Kept>,
    /// Inputs in which one part is what it was compared with.
    direct: VecDeque<(String, Value, World)>,
    /// How often each text and number was put in a part's place so.
    tried: BTreeMap<String, u32>,
    edges: usize,
    pub(crate) calls: u64,
    pub(crate) coverage: Coverage,
    fuel: Option<u64>,
}

/// Most numbers, and most texts, that are kept of what one input was compared with.
const MET: usize = 1000;
/// How often a text or a number is put in the place of a part that was compared with it.
const OFTEN: u32 = 4;
/// Places in one text where that is done.
const PLACES: usize = 3;
/// Inputs of that kind that wait.
const QUEUE: usize = 2000;
/// An input that is longer, in bytes of JSON, is not taken apart: what it was compared with would make too many of it.
const LONG: usize = 16 << 10;
/// One change of so many takes words from anywhere in the component.
const FAR: u64 = 8;
/// Most inputs that are kept on disk.
const ON_DISK: usize = 1000;
/// The file for them, beside the findings.
const FILE: &str = "inputs.jsonl";

impl Guide {
    /// # Errors
    /// The component cannot be counted.
    pub(crate) fn new(plugin: &Plugin) -> Result<Guide, String> {
        let (copy, counted) = plugin.counted()?;
        let told = Told::default();
        let mut worlds = Worlds::counting(&copy, told.authority());
        worlds.bench(World::Kind, false)?;
        Ok(Guide {
            worlds,
            told,
            words: counted.words,
            compares: counted.compares,
            known: Vec::new(),
            corpus: Vec::new(),
            direct: VecDeque::new(),
            tried: BTreeMap::new(),
            edges: 0,
            calls: 0,
            coverage: Coverage { counted: counted.counters, ..Coverage::default() },
            fuel: plugin.least_fuel(),
        })
    }

    /// An input that is nearly one that was kept, one of the last ones more often than the others.
    pub(crate) fn input(&mut self, tools: &[(String, Value)], random: &mut Random) -> Option<(String, Value, World)> {
        if random.below(2) == 0
            && let Some(direct) = self.direct.pop_back()
        {
            return Some(direct);
        }
        let all = self.corpus.len() as u64;
        // Half of the time one of the last, each half as often as the one after it.
        let last = u64::from(random.below(1 << 8).trailing_zeros()).min(8);
        let kept = match random.below(2) == 0 {
            true => self.corpus.get(all.saturating_sub(1 + last) as usize)?,
            false => self.short(random)?,
        };
        let (_, schema) = tools.iter().find(|(name, _)| *name == kept.tool)?;
        let other = self.corpus.get(random.below(all) as usize).filter(|other| other.tool == kept.tool);
        let other = other.map_or(&Value::Null, |other| &other.args);
        let world = if random.below(4) == 0 { self.worlds.one(random) } else { kept.world };
        let words = if random.below(FAR) == 0 { &self.words } else { &kept.words };
        Some((kept.tool.clone(), mutated(schema, &kept.args, other, words, random), world))
    }

    /// The arguments with one of their texts or numbers replaced by one that the component has in it: what it compares
    /// with is among those. The same arguments and random numbers always come to the same.
    pub(crate) fn turned(&self, args: &Value, random: &mut Random) -> Value {
        let text = random.pick(&self.words.texts).cloned().unwrap_or_default();
        let number = random.pick(&self.words.numbers).copied().unwrap_or_default();
        let other = |leaf: &Value| match leaf {
            Value::String(_) => vec![Value::from(text.as_str())],
            Value::Number(_) => vec![Value::from(number)],
            _ => Vec::new(),
        };
        let made = replaced(args, &other, MET);
        random.pick(&made).unwrap_or(args).clone()
    }

    /// One of the inputs that were kept, rather a short one: what is changed in it matters more often.
    fn short(&self, random: &mut Random) -> Option<&Kept> {
        let tried: Vec<&Kept> = (0..3).filter_map(|_| random.pick(&self.corpus)).collect();
        tried.into_iter().min_by_key(|kept| kept.length)
    }

    /// Runs an input, which names hosts of `origin`.
    pub(crate) fn run(
        &mut self,
        tool: &str,
        args: &Value,
        world: World,
        origin: &str,
        before: (u64, Instant),
    ) -> Result<Seen, String> {
        self.calls += 1;
        let bench = self.worlds.bench(world, true)?;
        let there = if origin.is_empty() { args.clone() } else { moved(args, origin, &bench.origin()) };
        let answer = bench.quick(tool, there);
        let mut is_new = false;
        let heard = self.told.take();
        for (counter, count) in &heard.counters {
            let (counter, count) = (*counter as usize, *count);
            if counter >= self.known.len() {
                self.known.resize(counter + 1, 0);
            }
            let size = size_of(count);
            self.edges += usize::from(self.known[counter] == 0);
            is_new |= self.known[counter] & size == 0;
            self.known[counter] |= size;
        }
        if is_new {
            let words = self.met(args, &heard);
            let length = args.to_string().len();
            if length <= LONG {
                self.queue(tool, args, world, &words);
            }
            self.corpus.push(Kept { tool: tool.to_owned(), args: args.clone(), world, words, length });
            self.coverage.kept += 1;
            if self.edges > self.coverage.reached() {
                let (calls, started) = before;
                self.coverage.curve.push(Point {
                    calls: calls + self.calls,
                    after: started.elapsed(),
                    edges: self.edges,
                });
            }
        }
        let used = answer.metadata.usage.as_ref().map_or(0, |usage| usage.fuel);
        let used_much = self.fuel.is_some_and(|fuel| used > fuel);
        let is_odd = used_much
            || self.worlds.is_undeclared(world, tool, &answer)?
            || broken(&answer, args).is_some_and(|(oracle, _)| oracle != Oracle::Hang || !world.explains(oracle));
        let accepted = answer.error.as_ref().is_none_or(|error| error.step >= hermes_runtime::error::Step::Sandbox);
        Ok(Seen { is_new, is_odd, accepted, reached: heard.counters })
    }

    /// What an input was compared with on its way: numbers that came up, and last texts of which it has the other one.
    fn met(&self, args: &Value, heard: &Heard) -> Words {
        let mut words = Words::default();
        let mut numbers = BTreeSet::new();
        for (counter, _) in &heard.counters {
            let before = self.compares.range(..=*counter).next_back();
            if let Some((first, (span, number))) = before
                && counter - first < *span
                && numbers.len() < MET
            {
                numbers.insert(*number);
            }
        }
        numbers.into_iter().for_each(|number| words.add(number));
        let mut swaps = BTreeSet::new();
        for [one, other] in &heard.compared {
            for [own, wanted] in [[one, other], [other, one]] {
                if own != wanted && swaps.len() < MET && !own.is_empty() && has(args, own) {
                    swaps.insert([own, wanted]);
                }
            }
        }
        words.texts.extend(swaps.iter().map(|[_, wanted]| (*wanted).clone()));
        words.swaps = swaps.into_iter().map(|swap| swap.map(String::clone)).collect();
        words
    }

    /// Puts what an input was compared with in the place of its parts, as far as that was not done often before.
    fn queue(&mut self, tool: &str, args: &Value, world: World, words: &Words) {
        let mut is_fresh = |wanted: String| {
            let count = self.tried.entry(wanted).or_default();
            *count += 1;
            *count <= OFTEN
        };
        let mut others = Vec::new();
        for [own, wanted] in words.swaps.iter().filter(|[own, wanted]| is_fresh(format!("swap {own} {wanted}"))) {
            let swapped = |value: &Value| {
                let Some(text) = value.as_str() else { return Vec::new() };
                let places = text.match_indices(own.as_str()).take(PLACES);
                let swap = |place: usize| [&text[..place], wanted, &text[place + own.len()..]].concat();
                places.map(|(place, _)| Value::String(swap(place))).collect()
            };
            others.extend(replaced(args, &swapped, QUEUE.saturating_sub(others.len())));
        }
        for wanted in words.texts.iter().filter(|wanted| is_fresh(format!("text {wanted}"))) {
            let whole = |value: &Value| value.is_string().then(|| json!(wanted)).into_iter().collect();
            others.extend(replaced(args, &whole, QUEUE.saturating_sub(others.len())));
        }
        for wanted in words.numbers.iter().filter(|wanted| is_fresh(format!("number {wanted}"))) {
            let whole = |value: &Value| value.is_number().then(|| json!(wanted)).into_iter().collect();
            others.extend(replaced(args, &whole, QUEUE.saturating_sub(others.len())));
        }
        // Those of the last input come first, and in time the oldest are forgotten.
        self.direct.extend(others.into_iter().take(QUEUE).map(|args| (tool.to_owned(), args, world)));
        self.direct.drain(..self.direct.len().saturating_sub(QUEUE));
    }

    /// Inputs that were kept by runs before.
    pub(crate) fn read(folder: &Path) -> Vec<(String, Value, World)> {
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        // They are hints: one that cannot be read any more is left out.
        let kept = text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok());
        kept.map(|kept| (kept.tool, kept.args, kept.world)).collect()
    }

    /// Keeps inputs for runs to come.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let from = self.corpus.len().saturating_sub(ON_DISK);
        let lines = self.corpus[from..].iter().map(|kept| serde_json::to_string(kept).unwrap_or_default() + "\n");
        let file = folder.join(FILE);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, lines.collect::<String>()));
        written.map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
    }
}

/// A bit for the size of a count: once, twice, three times, and then by powers of two.
fn size_of(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128..=255 => 128,
    }
}

/// Whether one of the texts of a value has a text in it.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| has(item, text)),
        Value::Object(members) => members.values().any(|member| has(member, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Arguments that name other hosts.
fn moved(args: &Value, from: &str, to: &str) -> Value {
    match args {
        Value::String(text) => Value::String(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| moved(item, from, to)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), moved(member, from, to))).collect()
        }
        other => other.clone(),
    }
}
