//! What happened in a session? Lists and shows sessions, and exports them for evaluation and training. Reads the journal
//! without starting a runtime.

use crate::args::{Arguments, ExportForm, Format, TrajectoryCommand};
use crate::failure::Failure;
use crate::terminal::printable_lines;
use crate::{audit, output, setup};
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::injection::feedback::Report;
use hermes_runtime::injection::memory;
use hermes_runtime::injection::replay::Replay;
use hermes_runtime::injection::training;
use hermes_runtime::injection::trajectory::SessionLine;
use hermes_runtime::record::{Kept, Record};
use hermes_runtime::replaying::Replayed;
use std::collections::BTreeMap;

/// What was said about results from outside.
type Reports = BTreeMap<String, Report>;

/// Calls of one session that are read at most.
const MOST: usize = 100_000;
/// Lines of a result that a person is shown.
const LINES: usize = 6;

pub(crate) async fn run(arguments: &Arguments, command: &TrajectoryCommand) -> Result<u8, Failure> {
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let format = arguments.output.format();
    match command {
        TrajectoryCommand::List { limit } => list(&reader.sessions(*limit)?, format),
        TrajectoryCommand::Show { session } => {
            let session = find(&reader, session)?;
            show(&session, &reader.calls(&session, MOST)?, &reader.reports()?, format);
        }
        TrajectoryCommand::Export { session, form } => {
            let session = find(&reader, session)?;
            export(&session, &reader.calls(&session, MOST)?, &reader.reports()?, *form);
        }
        TrajectoryCommand::Replay { session, answers: true, calls } => {
            let session = find(&reader, session)?;
            return replay(reader.calls(&session, MOST)?, calls.as_deref());
        }
        TrajectoryCommand::Replay { session, answers: false, .. } => {
            return rerun(arguments, &calls_of(&reader, session)?, format).await;
        }
        TrajectoryCommand::Memory { session } => {
            let session = find(&reader, session)?;
            let lines = reader.memory(&session, memory::MOST)?;
            match format {
                Format::Text => lines.iter().for_each(|line| output::line(&printable_lines(&line.to_string()))),
                Format::Json | Format::Ndjson => output::document(&lines, format),
            }
        }
    }
    Ok(0)
}

fn find(reader: &Reader, prefix: &str) -> Result<String, Failure> {
    let shown = hermes_runtime::document::printable(prefix);
    match reader.find_session(prefix)?.as_slice() {
        [session] => Ok(session.clone()),
        [] => Err(Failure::unknown(format!("no session's name begins with `{shown}`; see `trajectory list`"))),
        _ => {
            Err(Failure::usage(format!("several sessions' names begin with `{shown}`; give more of the one you mean")))
        }
    }
}

fn list(sessions: &[SessionLine], format: Format) {
    match format {
        Format::Json => output::document(&sessions, format),
        Format::Ndjson => sessions.iter().for_each(|session| output::document(session, format)),
        Format::Text => sessions.iter().rev().for_each(|session| {
            let SessionLine { session, caller, role, first_ms, last_ms, calls, failed, refused } = session;
            let text = format!(
                "{} to {}  {session}  {caller} as {role}: {}, {failed} failed, {refused} refused",
                audit::time(*first_ms),
                audit::time(*last_ms),
                output::counted(*calls, "call")
            );
            output::line(&printable_lines(&text));
        }),
    }
}

fn show(session: &str, calls: &[(Record, Option<Kept>)], reports: &Reports, format: Format) {
    if format != Format::Text {
        return output::document(&training::steps(session, calls, reports), format);
    }
    let mut task = None;
    for (index, (record, kept)) in calls.iter().enumerate() {
        if record.situation.task != task {
            task.clone_from(&record.situation.task);
            output::line(&printable_lines(&format!("task: {}", task.as_deref().unwrap_or("none"))));
        }
        let number = index + 1;
        output::line(&printable_lines(&format!("{number}. {}", audit::one_line(record))));
        if let Some(kept) = kept {
            output::line(&printable_lines(&format!(
                "   asked  {}",
                hermes_runtime::document::excerpt(&kept.args, 400)
            )));
            let said = match &kept.data {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Null => String::new(),
                other => {
                    other.get("text").and_then(|text| text.as_str()).map_or_else(|| other.to_string(), str::to_owned)
                }
            };
            for line in said.lines().take(LINES) {
                output::line(&printable_lines(&format!("   got    {}", hermes_runtime::document::excerpt(line, 160))));
            }
            let more = said.lines().count().saturating_sub(LINES);
            if more > 0 {
                output::line(&format!("   got    … {more} more lines"));
            }
        }
        if let Some(error) = &record.error {
            output::line(&printable_lines(&format!("   failed {} {}", error.code, error.message)));
            for problem in error.problems.iter().take(LINES) {
                let place = if problem.path.is_empty() { "the arguments" } else { &problem.path };
                output::line(&printable_lines(&format!(
                    "   wrong  {place}: expected {}, received {}",
                    problem.expected, problem.received
                )));
            }
        }
        let line = memory::line(record);
        output::line(&printable_lines(&format!("   known  {}", line.known)));
        if let Some(changed) = line.changed {
            output::line(&printable_lines(&format!("   change {changed}")));
        }
        if let Some(next) = line.next {
            output::line(&printable_lines(&format!("   next   {next}")));
        }
    }
}

fn export(session: &str, calls: &[(Record, Option<Kept>)], reports: &Reports, form: ExportForm) {
    match form {
        ExportForm::Rl => {
            training::steps(session, calls, reports).iter().for_each(|step| output::document(step, Format::Ndjson));
        }
        ExportForm::Chat => output::document(&training::chat(session, calls), Format::Ndjson),
    }
}

/// What the process exits with when a replay goes another way than the record.
const DIVERGED: u8 = 8;

/// The ids of a session's calls, or of the one call whose id begins so.
fn calls_of(reader: &Reader, prefix: &str) -> Result<Vec<String>, Failure> {
    if let [call] = reader.find(prefix)?.as_slice() {
        return Ok(vec![call.clone()]);
    }
    let session = find(reader, prefix)?;
    Ok(reader.calls(&session, MOST)?.into_iter().map(|(record, _)| record.call_id.to_string()).collect())
}

/// Runs the components of calls again and says what first was not as it was.
async fn rerun(arguments: &Arguments, calls: &[String], format: Format) -> Result<u8, Failure> {
    let runtime = setup::start_unattended(setup::load(arguments)?)?;
    let mut code = 0;
    for call in calls {
        let replayed = runtime.replay(call).await.map_err(|error| Failure::unavailable(error.to_string()))?;
        if replayed.rerun.is_some() && !replayed.is_same() {
            code = DIVERGED;
        }
        match format {
            Format::Json | Format::Ndjson => output::document(&replayed, Format::Ndjson),
            Format::Text => output::line(&printable_lines(&described(&replayed))),
        }
    }
    Ok(code)
}

fn described(replayed: &Replayed) -> String {
    let Replayed { call_id, tool, same_component, rerun, inexact, not_replayed } = replayed;
    let other = if *same_component { "" } else { ", in another component" };
    let not_compared = inexact.as_ref().map_or_else(String::new, |why| format!(" (contents not compared: {why})"));
    let said = match (rerun, not_replayed) {
        (Some(rerun), _) => match &rerun.divergence {
            None => format!("as it was, {}{other}{not_compared}", output::counted(rerun.crossings, "crossing")),
            Some(divergence) => format!("DIVERGES{other}: {divergence}"),
        },
        (None, why) => format!("not replayed: {}", why.as_deref().unwrap_or("nothing is known of it")),
    };
    format!("{call_id}  {tool}: {said}")
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    args: Option<serde_json::Value>,
}

fn replay(recorded: Vec<(Record, Option<Kept>)>, calls: Option<&std::path::Path>) -> Result<u8, Failure> {
    let own = calls.is_none();
    let lines = match calls {
        Some(file) => read_calls(file)?,
        None => recorded.iter().map(|(record, kept)| own_line(record, kept.as_ref())).collect(),
    };
    let mut replay = Replay::of(recorded);
    for (index, line) in lines.into_iter().enumerate() {
        let answered = match line.args {
            None if own => replay.answer_unseen(&line.tool),
            args => replay.answer(&line.tool, &args.unwrap_or_else(|| serde_json::json!({}))),
        };
        match answered {
            Ok(answer) => output::document(
                &serde_json::json!({
                    "call_id": answer.call_id, "tool": line.tool, "data": answer.data, "error": answer.error,
                    "attempts": answer.attempts, "inexact": answer.inexact,
                }),
                Format::Ndjson,
            ),
            Err(divergence) => return Ok(diverged(&format!("call {}: {divergence}", index + 1))),
        }
    }
    match replay.end() {
        Ok(()) => Ok(0),
        Err(divergence) => Ok(diverged(&divergence.to_string())),
    }
}

fn diverged(why: &str) -> u8 {
    output::warn(why);
    DIVERGED
}

fn own_line(record: &Record, kept: Option<&Kept>) -> Line {
    let args = kept.map(|kept| &kept.args).or(record.facts.args.as_ref());
    Line { tool: record.facts.tool.to_string(), args: args.and_then(|args| serde_json::from_str(args).ok()) }
}

fn read_calls(file: &std::path::Path) -> Result<Vec<Line>, Failure> {
    let text = match file == std::path::Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| Failure::usage(format!("line {} is no call: {error}", index + 1)))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}
