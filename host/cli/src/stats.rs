//! What do the records say about the use of tools? Figures as a table with a small chart for people, and as documents.

use crate::args::{Arguments, Format, ResultsCommand, StatsCommand};
use crate::failure::Failure;
use crate::{denials, learning, output, results, setup};
use hermes_runtime::document::{excerpt, printable};
use hermes_runtime::registry::statistics::{self, By, Use};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;

/// Days that the picture of days shows.
const DAYS: u64 = 28;
/// Names of no tool that people are shown; documents have all.
const UNKNOWN: usize = 10;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
/// The widest bar of the chart, in characters.
const BAR: usize = 20;

pub(crate) async fn run(arguments: &Arguments, command: &StatsCommand) -> Result<u8, Failure> {
    let format = arguments.output.format();
    match command {
        StatsCommand::Tools { heat } => show(arguments, By::Tool, *heat, format),
        StatsCommand::Adapters { heat } => show(arguments, By::Adapter, *heat, format),
        StatsCommand::Denials { tool } => denials::show(&setup::state_dir(arguments)?, tool.as_deref(), format),
        StatsCommand::Results => results::run(arguments, &ResultsCommand::Stats),
        StatsCommand::Arguments { tool } => {
            let runtime = setup::start(setup::load(arguments)?)?;
            learning::mistakes(&runtime, tool.as_deref(), format).await
        }
    }
}

fn show(arguments: &Arguments, by: By, heat: bool, format: Format) -> Result<u8, Failure> {
    let (all, low_use) = statistics::open(&setup::state_dir(arguments)?, by).map_err(Failure::unavailable)?;
    let known: BTreeSet<&str> =
        all.iter().filter(|used| !used.version.is_empty()).map(|used| used.tool.as_str()).collect();
    // A name without a version is one that no tool had when it was asked for.
    let is_unknown = |used: &Use| match by {
        By::Tool | By::Backend => used.version.is_empty() && !known.contains(used.tool.as_str()),
        By::Adapter => used.adapter.is_empty(),
    };
    let (mut unknown, mut uses): (Vec<&Use>, Vec<&Use>) = all.iter().partition(|used| is_unknown(used));
    uses.retain(|used| by == By::Adapter || !used.version.is_empty());
    uses.sort_by(|a, b| b.calls.cmp(&a.calls).then(b.lookups.cmp(&a.lookups)));
    unknown.sort_by_key(|used| std::cmp::Reverse(used.lookups));
    let unknown = if by == By::Tool { unknown } else { Vec::new() };
    match format {
        Format::Text => text(&uses, &unknown, &low_use, by, heat),
        Format::Json => output::document(&document(&uses, &unknown, &low_use, by), format),
        Format::Ndjson => uses.iter().for_each(|used| output::document(&row(used, &low_use), format)),
    }
    Ok(0)
}

fn document(uses: &[&Use], unknown: &[&Use], low_use: &Evaluations, by: By) -> Value {
    let rows: Vec<Value> = uses.iter().map(|used| row(used, low_use)).collect();
    match by {
        By::Adapter => json!({ "adapters": rows }),
        By::Tool | By::Backend => {
            let unknown: Vec<Value> = unknown
                .iter()
                .map(|used| json!({ "name": used.tool, "lookups": used.lookups, "days": days(used) }))
                .collect();
            json!({ "tools": rows, "unknown_names": unknown, "low_use": low_use })
        }
    }
}

/// What was found about tools that are hardly used.
type Evaluations = BTreeMap<String, Value>;

fn row(used: &Use, low_use: &Evaluations) -> Value {
    let mut row = json!(used);
    row["days"] = days(used);
    row["last_used"] = json!(used.last_used_ms.map(moment));
    if !used.tool.is_empty() {
        row["low_use"] = low_use.contains_key(&used.tool).into();
    }
    row
}

/// Lookups by day, as dates.
fn days(used: &Use) -> Value {
    Value::Object(used.days.iter().map(|(day, lookups)| (date(*day), json!(lookups))).collect::<Map<_, _>>())
}

fn date(day: u64) -> String {
    moment(day * DAY_MS).chars().take(10).collect()
}

/// A time as RFC 3339 writes it.
pub(crate) fn moment(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| ms.to_string(), |time| time.to_string())
}

/// The figures of a tool in one line.
pub(crate) fn in_words(used: &Use) -> String {
    let success = used.success_rate.map_or("no call ran".to_owned(), |rate| {
        format!("{:.1} % succeeded (at least {:.1} %)", rate * 100.0, used.success_lower.unwrap_or(0.0) * 100.0)
    });
    let time =
        used.p50_ms.zip(used.p95_ms).map_or(String::new(), |(p50, p95)| format!(", {p50:.1} ms p50, {p95:.1} ms p95"));
    format!("{} calls, {success}{time}", used.calls)
}

fn text(uses: &[&Use], unknown: &[&Use], low_use: &Evaluations, by: By, heat: bool) {
    if uses.is_empty() && unknown.is_empty() {
        return output::line("nothing was called yet");
    }
    let title = if by == By::Adapter { "adapter" } else { "tool" };
    output::line(&format!(
        "{title:<28} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9} {:>6} {:>7}  last used",
        "lookups", "calls", "ok %", "at least", "p50 ms", "p95 ms", "p99 ms", "denied", "invalid"
    ));
    let most = uses.iter().map(|used| used.calls).max().unwrap_or(0).max(1);
    let chart = std::io::stdout().is_terminal();
    for used in uses {
        let bar = "▆".repeat((used.calls as usize * BAR).div_ceil(most as usize).min(BAR));
        let bar = if chart { format!("  {bar}") } else { String::new() };
        let mark = if low_use.contains_key(&used.tool) { "  (hardly used)" } else { "" };
        output::line(&format!("{}{bar}{mark}", columns(used)));
    }
    for used in unknown.iter().take(UNKNOWN) {
        output::line(&format!("{:<28} {:>7}  no tool has this name", excerpt(&used.tool, 28), used.lookups));
    }
    for (tool, evaluation) in low_use {
        let suggestion = evaluation["suggestion"].as_str().unwrap_or_default();
        output::line(&format!("hardly used: {}: {}", printable(tool), printable(suggestion)));
    }
    if heat {
        picture(uses, unknown);
    }
}

fn columns(used: &Use) -> String {
    let name = match used.tool.is_empty() {
        true => used.adapter.clone(),
        false => format!("{} {}", used.tool, used.version),
    };
    let part = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.1}", rate * 100.0));
    let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    let last = used.last_used_ms.map_or("never".to_owned(), |ms| moment(ms).chars().take(10).collect());
    format!(
        "{:<28} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9} {:>6} {:>7}  {last}",
        excerpt(&name, 28),
        used.lookups,
        used.calls,
        part(used.success_rate),
        part(used.success_lower),
        ms(used.p50_ms),
        ms(used.p95_ms),
        ms(used.p99_ms),
        used.denied_role + used.denied_risk + used.denied_person,
        used.invalid
    )
}

/// Lookups of the last days, darker where there were more.
fn picture(uses: &[&Use], unknown: &[&Use]) {
    let shades = ['·', '░', '▒', '▓', '█'];
    let today = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default() / DAY_MS;
    let first = today.saturating_sub(DAYS - 1);
    output::line(&format!("\nlookups by day, {} to {}", date(first), date(today)));
    for used in uses.iter().chain(unknown.iter().take(UNKNOWN)) {
        let by_day: BTreeMap<u64, u64> = used.days.iter().copied().collect();
        let most = by_day.values().copied().max().unwrap_or(0).max(1);
        let shade = |day: u64| match by_day.get(&day) {
            None | Some(0) => shades[0],
            Some(count) => shades[(count * 4).div_ceil(most).min(4) as usize],
        };
        let name = if used.tool.is_empty() { &used.adapter } else { &used.tool };
        output::line(&format!("{:<28} {}", excerpt(name, 28), (first..=today).map(shade).collect::<String>()));
    }
}
