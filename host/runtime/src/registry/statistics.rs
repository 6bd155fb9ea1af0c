//! How are tools used, and how well do they work? Counters and latencies by tool, version, adapter, backend and day, kept
//! in the transaction of each outcome. Only what the runtime measured; nothing that a manifest or a component says.

use super::discovery::{Qualities, Quality};
use crate::error::{Kind, Step};
use crate::journal::{self, Numbered, Projection};
use crate::record::Record;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names of tools that there are not, of which lookups are counted; further ones are counted together.
const UNKNOWN_NAMES: i64 = 10_000;
/// What further unknown names are counted under. No tool can be called so.
const OTHERS: &str = "(others)";
/// Latencies fall into buckets, each this much wider than the one before: a quantile is wrong by 1 % at most.
const GROWTH: f64 = 1.02;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
/// The quantile of the normal distribution for a 95 % confidence interval.
const Z: f64 = 1.959_964;

/// What is counted beside the records.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS tool_use (
                tool TEXT NOT NULL, version TEXT NOT NULL, adapter TEXT NOT NULL, backend TEXT NOT NULL,
                day INTEGER NOT NULL, lookups INTEGER NOT NULL, calls INTEGER NOT NULL, ok INTEGER NOT NULL,
                cancelled INTEGER NOT NULL, invalid INTEGER NOT NULL, denied_role INTEGER NOT NULL,
                denied_risk INTEGER NOT NULL, denied_person INTEGER NOT NULL, limited INTEGER NOT NULL,
                sum_us INTEGER NOT NULL, last_ms INTEGER NOT NULL,
                PRIMARY KEY (tool, version, adapter, backend, day)
             ) STRICT, WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS tool_latency (
                tool TEXT NOT NULL, version TEXT NOT NULL, adapter TEXT NOT NULL, backend TEXT NOT NULL,
                bucket INTEGER NOT NULL, count INTEGER NOT NULL,
                PRIMARY KEY (tool, version, adapter, backend, bucket)
             ) STRICT, WITHOUT ROWID;",
    apply,
};

/// Tool, version, adapter and backend.
type Of<'a> = [&'a str; 4];

/// What outcomes add to one row.
#[derive(Default)]
struct Added {
    lookups: i64,
    calls: i64,
    ok: i64,
    cancelled: i64,
    invalid: i64,
    denied: [i64; 3],
    limited: i64,
    sum_us: i64,
    last_ms: i64,
}

/// Calls of one kind and day often come together, so each row is written once.
fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    let mut uses: BTreeMap<(Of<'_>, i64), Added> = BTreeMap::new();
    let mut latencies: BTreeMap<(Of<'_>, i64), i64> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (_, record) in journal::outcomes(records) {
        let facts = &record.facts;
        let tool = match record.error.as_ref().map(|error| error.kind) {
            Some(Kind::UnknownTool) => unknown_name(connection, &facts.tool, &mut names)?,
            _ => &facts.tool,
        };
        let [version, adapter, backend] =
            [&facts.version, &facts.adapter, &facts.backend].map(|said| said.as_deref().unwrap_or_default());
        let of = [tool, version, adapter, backend];
        let latency = uses.entry((of, (record.time_ms / DAY_MS) as i64)).or_default().add(record);
        if let Some(us) = latency {
            *latencies.entry((of, bucket(us))).or_default() += 1;
        }
    }
    let mut statement = connection.prepare_cached(
        "INSERT INTO tool_use VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         ON CONFLICT DO UPDATE SET lookups = lookups + excluded.lookups, calls = calls + excluded.calls,
            ok = ok + excluded.ok, cancelled = cancelled + excluded.cancelled, invalid = invalid + excluded.invalid,
            denied_role = denied_role + excluded.denied_role, denied_risk = denied_risk + excluded.denied_risk,
            denied_person = denied_person + excluded.denied_person, limited = limited + excluded.limited,
            sum_us = sum_us + excluded.sum_us, last_ms = max(last_ms, excluded.last_ms)",
    )?;
    for (([tool, version, adapter, backend], day), added) in &uses {
        let Added { lookups, calls, ok, cancelled, invalid, denied: [role, risk, person], limited, sum_us, last_ms } =
            added;
        statement.execute(rusqlite::params![
            tool, version, adapter, backend, day, lookups, calls, ok, cancelled, invalid, role, risk, person, limited,
            sum_us, last_ms
        ])?;
    }
    let mut statement = connection.prepare_cached(
        "INSERT INTO tool_latency VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )?;
    for (([tool, version, adapter, backend], bucket), count) in &latencies {
        statement.execute((tool, version, adapter, backend, bucket, count))?;
    }
    Ok(())
}

impl Added {
    /// Adds an outcome. How long the call ran, if that counts.
    fn add(&mut self, record: &Record) -> Option<u64> {
        let facts = &record.facts;
        let kind = record.error.as_ref().map(|error| error.kind);
        let ran = facts.usage.filter(|_| record.code.is_some());
        let count = i64::from;
        self.lookups += 1;
        self.calls += count(ran.is_some());
        self.ok += count(ran.is_some() && kind.is_none());
        self.cancelled += count(ran.is_some() && kind == Some(Kind::Cancelled));
        self.invalid += count(kind == Some(Kind::InvalidInput) && ran.is_none());
        self.limited += count(kind == Some(Kind::RateLimited));
        let by_permission = record.error.as_ref().is_some_and(|error| error.step == Step::Permission);
        if by_permission && kind != Some(Kind::RateLimited) {
            let layer = facts.layer.and_then(|layer| usize::from(layer).checked_sub(1));
            if let Some(denied) = layer.and_then(|layer| self.denied.get_mut(layer)) {
                *denied += 1;
            }
        }
        let usage = ran?;
        self.sum_us += usage.wall_us as i64;
        self.last_ms = self.last_ms.max(record.time_ms as i64);
        (kind != Some(Kind::Cancelled)).then_some(usage.wall_us)
    }
}

/// The name under which lookups of a tool that there is not are counted: nobody fills the disk with names.
/// `names` are those that come into the table together with this one.
fn unknown_name<'a>(
    connection: &Connection,
    name: &'a str,
    names: &mut BTreeSet<&'a str>,
) -> rusqlite::Result<&'a str> {
    let known = "SELECT EXISTS (SELECT 1 FROM tool_use WHERE tool = ?1 AND version = '')";
    if names.contains(name) || connection.prepare_cached(known)?.query_row([name], |row| row.get::<_, bool>(0))? {
        return Ok(name);
    }
    let count = "SELECT count(DISTINCT tool) FROM tool_use WHERE version = ''";
    let count: i64 = connection.prepare_cached(count)?.query_row((), |row| row.get(0))?;
    if count + names.len() as i64 >= UNKNOWN_NAMES {
        return Ok(OTHERS);
    }
    names.insert(name);
    Ok(name)
}

fn bucket(us: u64) -> i64 {
    ((us.max(1) as f64).ln() / GROWTH.ln()).ceil() as i64
}

/// The milliseconds in the middle of a bucket.
fn milliseconds(bucket: i64) -> f64 {
    GROWTH.powf(bucket as f64 - 0.5) / 1000.0
}

/// By what use is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Tool and version.
    Tool,
    /// Adapter.
    Adapter,
    /// Tool, version, adapter and backend.
    Backend,
}

impl By {
    fn columns(self) -> &'static str {
        match self {
            By::Tool => "tool, version, '' , ''",
            By::Adapter => "'', '', adapter, ''",
            By::Backend => "tool, version, adapter, backend",
        }
    }
}

/// How something was used and how well it worked, over all days.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Use {
    /// The tool, unless adapters are asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// Its version; empty for a name that no tool has.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The adapter, where it is asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub adapter: String,
    /// The beginning of the backend's digest, where backends are asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub backend: String,
    /// Calls that arrived, refused ones too.
    pub lookups: u64,
    /// Calls that ran.
    pub calls: u64,
    /// Calls that did what they were asked.
    pub ok: u64,
    /// The part of calls that did, without those that their caller gave up.
    pub success_rate: Option<f64>,
    /// What the rate is at least, with 95 % confidence (Wilson).
    pub success_lower: Option<f64>,
    /// Milliseconds of half of all calls at most.
    pub p50_ms: Option<f64>,
    /// Of 95 %.
    pub p95_ms: Option<f64>,
    /// Of 99 %.
    pub p99_ms: Option<f64>,
    /// On average.
    pub mean_ms: Option<f64>,
    /// Calls that a role refused.
    pub denied_role: u64,
    /// Calls that a policy or their risk refused.
    pub denied_risk: u64,
    /// Calls that ended with the question to a person.
    pub denied_person: u64,
    /// Calls with wrong arguments.
    pub invalid: u64,
    /// Calls beyond a rate limit.
    pub limited: u64,
    /// When it last ran, in milliseconds since 1970-01-01 UTC.
    pub last_used_ms: Option<u64>,
    /// Lookups by day, counted from 1970-01-01 UTC, the oldest first.
    pub days: Vec<(u64, u64)>,
}

type Key = [String; 4];

/// Everything that was counted, added up.
pub(crate) fn read(connection: &Connection, by: By) -> rusqlite::Result<Vec<Use>> {
    let columns = by.columns();
    let key =
        |row: &rusqlite::Row<'_>| -> rusqlite::Result<Key> { Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]) };
    let mut found: BTreeMap<Key, (Use, u64)> = BTreeMap::new();
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns}, day, sum(lookups), sum(calls), sum(ok), sum(cancelled), sum(invalid), sum(denied_role),
            sum(denied_risk), sum(denied_person), sum(limited), sum(sum_us), max(last_ms)
         FROM tool_use GROUP BY 1, 2, 3, 4, day ORDER BY day"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let number = |column: usize| row.get::<_, i64>(column).map(|number| number.max(0) as u64);
        let (used, sum_us) = found.entry(key(row)?).or_default();
        used.days.push((number(4)?, number(5)?));
        used.lookups += number(5)?;
        used.calls += number(6)?;
        used.ok += number(7)?;
        let cancelled = number(8)?;
        used.calls -= cancelled.min(used.calls);
        used.invalid += number(9)?;
        used.denied_role += number(10)?;
        used.denied_risk += number(11)?;
        used.denied_person += number(12)?;
        used.limited += number(13)?;
        *sum_us += number(14)?;
        used.last_used_ms = used.last_used_ms.max(Some(number(15)?).filter(|last| *last > 0));
    }
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns}, bucket, sum(count) FROM tool_latency GROUP BY 1, 2, 3, 4, bucket ORDER BY 1, 2, 3, 4, bucket"
    ))?;
    let mut rows = statement.query(())?;
    let mut latencies: BTreeMap<Key, Vec<(i64, u64)>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        latencies.entry(key(row)?).or_default().push((row.get(4)?, row.get::<_, i64>(5)?.max(0) as u64));
    }
    Ok(found.into_iter().map(|(key, (used, sum_us))| finish(used, sum_us, latencies.get(&key), key)).collect())
}

fn finish(mut used: Use, sum_us: u64, latencies: Option<&Vec<(i64, u64)>>, key: Key) -> Use {
    [used.tool, used.version, used.adapter, used.backend] = key;
    if used.calls > 0 {
        used.success_rate = Some(used.ok as f64 / used.calls as f64);
        used.success_lower = Some(wilson_lower(used.ok, used.calls));
        used.mean_ms = Some(sum_us as f64 / used.calls as f64 / 1000.0);
    }
    if let Some(latencies) = latencies {
        used.p50_ms = quantile(latencies, 0.50);
        used.p95_ms = quantile(latencies, 0.95);
        used.p99_ms = quantile(latencies, 0.99);
    }
    used
}

/// What a rate is at least, with 95 % confidence.
pub fn wilson_lower(successes: u64, calls: u64) -> f64 {
    if calls == 0 {
        return 0.0;
    }
    let (n, rate) = (calls as f64, successes as f64 / calls as f64);
    let middle = rate + Z * Z / (2.0 * n);
    let spread = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - spread) / (1.0 + Z * Z / n)).clamp(0.0, 1.0)
}

/// A quantile of counted buckets, in milliseconds.
fn quantile(buckets: &[(i64, u64)], part: f64) -> Option<f64> {
    let total: u64 = buckets.iter().map(|(_, count)| count).sum();
    let wanted = ((total as f64 * part).ceil() as u64).max(1);
    let mut seen = 0;
    buckets.iter().find_map(|(bucket, count)| {
        seen += count;
        (seen >= wanted).then(|| milliseconds(*bucket))
    })
}

/// How well each tool has worked, over its versions; for ranking.
pub(crate) fn qualities(connection: &Connection) -> rusqlite::Result<Qualities> {
    read(connection, By::Tool).map(|uses| qualities_of(&uses))
}

/// The same from figures that were read.
pub(crate) fn qualities_of(uses: &[Use]) -> Qualities {
    let mut found: BTreeMap<&str, (u64, u64, f64)> = BTreeMap::new();
    for used in uses {
        let known = found.entry(&used.tool).or_default();
        (known.0, known.1) = (known.0 + used.ok, known.1 + used.calls);
        known.2 = used.p50_ms.unwrap_or(known.2);
    }
    let quality = |(tool, (ok, calls, p50_ms)): (&str, (u64, u64, f64))| {
        let quality = Quality { success_lower: wilson_lower(ok, calls), p50_ms, calls };
        (calls > 0).then(|| (tool.to_owned(), quality))
    };
    found.into_iter().filter_map(quality).collect()
}

/// What was counted, and what was found about tools that are hardly used.
pub type Counted = (Vec<Use>, BTreeMap<String, serde_json::Value>);

/// Reads what was counted in a state folder, from outside a runtime. Nothing, if there is no journal yet.
///
/// # Errors
/// What the store says, in words for the operator.
pub fn open(state_dir: &Path, by: By) -> Result<Counted, String> {
    let path = state_dir.join("journal.db");
    let all = |connection: &Connection| Ok((read(connection, by)?, super::life::evaluations(connection)?));
    match journal::connect_for_reading(&path).and_then(|connection| all(&connection)) {
        Ok(found) => Ok(found),
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::CannotOpen => {
            Ok(Default::default())
        }
        Err(error) => Err(format!("the statistics in `{}` cannot be read: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_bound_is_low_while_little_is_known() {
        let check = |successes, calls, low: f64, high: f64| {
            let bound = wilson_lower(successes, calls);
            assert!((low..high).contains(&bound), "{successes} of {calls}: {bound}");
        };
        check(1, 1, 0.20, 0.21);
        check(10, 10, 0.72, 0.73);
        check(1000, 1000, 0.996, 0.997);
        check(0, 5, 0.0, 0.001);
    }

    #[test]
    fn quantiles_are_right_within_one_per_cent() {
        let mut counts = BTreeMap::new();
        for us in 1..=100_000_u64 {
            *counts.entry(bucket(us)).or_insert(0_u64) += 1;
        }
        let buckets: Vec<(i64, u64)> = counts.into_iter().collect();
        for (part, ms) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let found = quantile(&buckets, part).unwrap();
            assert!((found / ms - 1.0).abs() < 0.0101, "{part}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }
}
