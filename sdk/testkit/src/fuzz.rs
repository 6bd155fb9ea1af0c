//! Which inputs break a component? Inputs are made from its schemas and run through all seven steps in a world that is
//! not kind: a workspace that is empty, read-only or odd, a clock at its ends, little fuel and memory, other hosts that
//! break off or never answer. Inputs that lead further into the component are changed again and again. What must never
//! happen is judged, the input that makes it happen is made small, and kept, so that the next run begins with it.

use crate::corpus::{keep, read_corpus};
use crate::generate::{Manner, Random, arguments, mix};
use crate::guide::Guide;
pub use crate::guide::{Coverage, Point};
pub use crate::oracle::Oracle;
use crate::oracle::{broken, difference, entries};
pub use crate::plot::plot;
use crate::plugin::Plugin;
use crate::shrink;
pub use crate::target::Target;
pub use crate::world::World;
use crate::world::Worlds;
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Step;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An input that makes something happen that must not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What happened.
    pub oracle: Oracle,
    /// Which tool was called.
    pub tool: String,
    /// With which arguments, made as small as possible.
    pub args: Value,
    /// In which world.
    pub world: World,
    /// One sentence about it.
    #[serde(default)]
    pub what: String,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How long to look.
    pub time: Duration,
    /// At most so many calls; with this and a seed a run is the same every time.
    pub calls: u64,
    /// So many findings are enough.
    pub enough: usize,
    /// From which all inputs follow.
    pub seed: u64,
    /// Where findings are kept; its inputs are tried first.
    pub corpus: Option<PathBuf>,
    /// Inputs that are tried after those: arguments of real calls, by tool.
    pub seeds: Vec<(String, Value)>,
    /// Whether nothing is tried but the corpus and the seeds.
    pub known_only: bool,
    /// Whether inputs are made without a look at what those before reached.
    pub blind: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            time: Duration::from_secs(10),
            calls: u64::MAX,
            enough: usize::MAX,
            seed: 1,
            corpus: None,
            seeds: Vec::new(),
            known_only: false,
            blind: false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Calls that were made.
    pub calls: u64,
    /// Inputs that were tried; each is called once or several times.
    pub inputs: u64,
    /// Inputs that the tool's schema took.
    pub accepted: u64,
    /// What was found: at most one finding for each tool and oracle.
    pub findings: Vec<Finding>,
    /// After how long each was made, before it was made small.
    pub after: Vec<Duration>,
    /// What was reached; nothing if the run was blind.
    pub coverage: Option<Coverage>,
    /// Why the run was blind although it was not to be.
    pub unguided: Option<String>,
}

/// How long a find is made smaller.
const SHRINKING: Duration = Duration::from_secs(2);
/// How often an input is repeated to see whether something grows.
const REPEATS: usize = 6;
/// One input of so many is repeated, and of those that a guided run judges.
const REPEAT_ONE_IN: u64 = 8;
const GUIDED_REPEAT_ONE_IN: u64 = 4;
/// One input of so many that lead nowhere new is run on the component itself, too, where it is judged.
const JUDGE_ONE_IN: u64 = 4;
/// One input of so many is made from nothing although others were kept.
const NEW_ONE_IN: u64 = 4;

/// Looks for inputs that break a plugin.
///
/// # Errors
/// The plugin cannot be loaded, or the corpus not be read.
pub fn fuzz(plugin: &Plugin, plan: &Plan) -> Result<Report, String> {
    let tools = plugin.tools()?;
    let mut tryer = Tryer::new(plugin);
    tryer.worlds.bench(World::Kind, false)?;
    let mut report = Report::default();
    let mut guide = if plan.blind || plan.known_only {
        None
    } else {
        Guide::new(plugin).map_err(|why| report.unguided = Some(why)).ok()
    };
    // What is compiled once does not count.
    let started = Instant::now();
    let end = started + plan.time;
    let mut known = known(plan, guide.is_some())?.into_iter();
    let mut random = Random::new(plan.seed);
    while Instant::now() < end && report.calls < plan.calls && report.findings.len() < plan.enough {
        let (is_known, (tool, args, world)) = match known.next() {
            Some(input) => (true, input),
            None if plan.known_only => break,
            None => {
                let from_nothing = random.below(NEW_ONE_IN) == 0;
                let guided =
                    guide.as_mut().filter(|_| !from_nothing).and_then(|guide| guide.input(&tools, &mut random));
                let made = guided.or_else(|| tryer.made(&tools, &plan.seeds, &mut random));
                (false, made.ok_or("the plugin has no tool")?)
            }
        };
        if !tools.iter().any(|(name, _)| *name == tool) {
            continue;
        }
        let one_in = if guide.is_some() { GUIDED_REPEAT_ONE_IN } else { REPEAT_ONE_IN };
        let thorough = is_known || random.below(one_in) == 0;
        if let Some(guide) = &mut guide {
            let seen = guide.run(&tool, &args, world, &tryer.origin(world), (tryer.calls, started))?;
            report.calls = tryer.calls + guide.calls;
            if !(is_known || seen.is_new || seen.is_odd || random.below(JUDGE_ONE_IN) == 0) {
                report.accepted += u64::from(seen.accepted);
                report.inputs += 1;
                continue;
            }
        }
        let (found, accepted) = tryer.judge(&tool, &args, world, thorough)?;
        let guided = guide.as_ref().map_or(0, |guide| guide.calls);
        report.calls = tryer.calls + guided;
        report.inputs += 1;
        report.accepted += u64::from(accepted);
        let Some((oracle, _)) = found else { continue };
        if report.findings.iter().any(|known| known.tool == tool && known.oracle == oracle) {
            continue;
        }
        report.after.push(started.elapsed());
        let finding = tryer.smallest(Finding { oracle, tool, args, world, what: String::new() }, end)?;
        if let Some(corpus) = &plan.corpus {
            keep(corpus, &finding)?;
        }
        report.findings.push(finding);
        report.calls = tryer.calls + guided;
    }
    if let (Some(guide), Some(corpus)) = (&guide, &plan.corpus) {
        guide.write(corpus)?;
    }
    report.coverage = guide.map(|guide| guide.coverage);
    Ok(report)
}

/// Inputs that are there before any is made: findings of runs before, arguments of real calls, and, for a run that is
/// guided, inputs that led somewhere.
fn known(plan: &Plan, guided: bool) -> Result<Vec<(String, Value, World)>, String> {
    let kept = plan.corpus.as_deref().map(read_corpus).transpose()?.unwrap_or_default();
    let kept = kept.into_iter().map(|kept| (kept.tool, kept.args, kept.world));
    let real = plan.seeds.iter().map(|(tool, args)| (tool.clone(), args.clone(), World::Kind));
    let led = plan.corpus.as_deref().filter(|_| guided).map(Guide::read).unwrap_or_default();
    Ok(kept.chain(real).chain(led).collect())
}

/// Looks for inputs that break a plugin, for a test: the same every time, and done after so many calls.
///
/// # Panics
/// If there is a finding, or the plugin cannot be loaded.
pub fn assert_unbroken(plugin: impl AsRef<Path>, calls: u64, seed: u64) {
    let plugin = Plugin::read(plugin.as_ref()).unwrap_or_else(|why| panic!("{why}"));
    let plan = Plan { calls, seed, time: Duration::from_secs(3600), ..Plan::default() };
    let report = fuzz(&plugin, &plan).unwrap_or_else(|why| panic!("{why}"));
    let found: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// Whether one input still breaks a plugin as a finding says.
///
/// # Errors
/// The plugin cannot be loaded.
pub fn replay(plugin: &Plugin, finding: &Finding) -> Result<Option<String>, String> {
    let mut tryer = Tryer::new(plugin);
    let (found, _) = tryer.judge(&finding.tool, &finding.args, finding.world, true)?;
    Ok(found.filter(|(oracle, _)| *oracle == finding.oracle).map(|(_, what)| what))
}

/// Runs inputs, each on a workspace as it was at first.
pub(crate) struct Tryer {
    worlds: Worlds,
    calls: u64,
}

impl Tryer {
    pub(crate) fn new(plugin: &Plugin) -> Tryer {
        Tryer { worlds: Worlds::new(plugin), calls: 0 }
    }

    /// Where the other hosts of a world are.
    pub(crate) fn origin(&self, world: World) -> String {
        self.worlds.origin(world)
    }

    /// An input, for which a part may be taken from real ones.
    pub(crate) fn made(
        &self,
        tools: &[(String, Value)],
        seeds: &[(String, Value)],
        random: &mut Random,
    ) -> Option<(String, Value, World)> {
        let (tool, schema) = tools.get(random.below(tools.len() as u64) as usize)?;
        let manner = match random.below(5) {
            0 => Manner::NearlyValid,
            1 | 2 => Manner::Valid,
            _ => Manner::Hostile,
        };
        let world = self.worlds.one(random);
        let mut args = arguments(schema, manner, random, self.worlds.texts(world));
        let real: Vec<&Value> = seeds.iter().filter(|(of, _)| of == tool).map(|(_, args)| args).collect();
        if !real.is_empty() && random.below(3) == 0 {
            let seed = real[random.below(real.len() as u64) as usize];
            mix(&mut args, seed, random);
        }
        Some((tool.clone(), args, world))
    }

    fn run(&mut self, tool: &str, args: &Value, world: World, fresh: bool) -> Result<Envelope, String> {
        self.calls += 1;
        let bench = self.worlds.bench(world, fresh)?;
        Ok(bench.quick(tool, args.clone()))
    }

    /// What an input makes happen, and whether the tool's schema takes it.
    pub(crate) fn judge(
        &mut self,
        tool: &str,
        args: &Value,
        world: World,
        thorough: bool,
    ) -> Result<(Option<(Oracle, String)>, bool), String> {
        let first = self.run(tool, args, world, true)?;
        if self.worlds.is_undeclared(world, tool, &first)? {
            let what = "the output is not what `output_schema` of its manifest declares";
            return Ok((Some((Oracle::Output, format!("{what}: {}", first.data))), true));
        }
        let ran = first.error.as_ref().is_none_or(|error| error.step >= Step::Sandbox);
        if let Some(found) = broken(&first, args).filter(|(oracle, _)| !world.explains(*oracle)) {
            return Ok((Some(found), ran));
        }
        // What other hosts do is not the same twice, and what a limit cuts off is cut anywhere.
        if !ran || world.differs() {
            return Ok((None, ran));
        }
        let again = self.run(tool, args, world, true)?;
        if let Some(what) = difference(&first, &again) {
            return Ok((Some((Oracle::Nondeterminism, what)), true));
        }
        if thorough && let Some(what) = self.growth(tool, args, world)? {
            return Ok((Some((Oracle::Leak, what)), true));
        }
        Ok((None, true))
    }

    /// Whether each of some equal calls leaves more behind than the one before.
    fn growth(&mut self, tool: &str, args: &Value, world: World) -> Result<Option<String>, String> {
        let mut left = Vec::new();
        for repeat in 0..REPEATS {
            self.run(tool, args, world, repeat == 0)?;
            left.push(entries(&self.worlds.bench(world, false)?.workspace()));
        }
        let grows = left.windows(2).all(|pair| pair[1] > pair[0]);
        Ok(grows.then(|| format!("{REPEATS} equal calls leave {left:?} entries in the workspace")))
    }

    /// A finding with the smallest arguments for which it still holds.
    fn smallest(&mut self, mut finding: Finding, end: Instant) -> Result<Finding, String> {
        // Time is kept for making a find small even if it is made at the end, and no find takes all of it.
        let end = end.max(Instant::now() + SHRINKING).min(Instant::now() + 3 * SHRINKING);
        let thorough = finding.oracle == Oracle::Leak;
        let args = finding.args.clone();
        finding.args = shrink::smallest(args, |smaller| {
            if Instant::now() > end {
                return Ok(false);
            }
            let (found, _) = self.judge(&finding.tool, smaller, finding.world, thorough)?;
            Ok(found.is_some_and(|(oracle, _)| oracle == finding.oracle))
        })?;
        let (found, _) = self.judge(&finding.tool, &finding.args, finding.world, thorough)?;
        finding.what = found.map(|(_, what)| what).unwrap_or_else(|| "it did not happen again".into());
        Ok(finding)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let world = serde_json::to_value(self.world).unwrap_or_default();
        write!(
            f,
            "{}: tool `{}`, world {world}\n  input: {}\n  {}",
            self.oracle.name(),
            self.tool,
            self.args,
            self.what
        )
    }
}
