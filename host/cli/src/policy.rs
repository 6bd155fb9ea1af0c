//! What is permitted, what would become of a call, and what do past decisions suggest? Asks nobody, runs nothing and
//! changes nothing.

use crate::args::{Arguments, Format, PolicyCommand};
use crate::call::args_of;
use crate::failure::Failure;
use crate::terminal::printable_lines;
use crate::{BUILT_IN, identity, output, setup};
use hermes_runtime::Runtime;
use hermes_runtime::call::{self, Call, Caller, Mode, Situation};
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Parked, State};
use hermes_runtime::permission::explain::{Explanation, Outcome};
use hermes_runtime::record::{History, Record};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Records and decisions that are looked at.
const LIMIT: u32 = 10_000;
/// Decisions of one kind from which on they suggest something.
const ENOUGH: usize = 3;
/// What the process exits with when a test of a policy fails.
const DIFFERS: u8 = 1;

pub(crate) async fn run(arguments: &Arguments, command: &PolicyCommand) -> Result<u8, Failure> {
    let setup = setup::load(arguments)?;
    let state_dir = setup.loaded.config.state_dir.clone();
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let situation = identity::situation(arguments, &setup.loaded.config)?;
    let runtime = Runtime::start(setup.loaded.config, BUILT_IN, None)?;
    let format = arguments.output.format();
    match command {
        PolicyCommand::List => list(&runtime, format),
        PolicyCommand::Schema { tool } => schema(&runtime, tool),
        PolicyCommand::Explain(command) => {
            let (tool, text) = (command.tool.clone().unwrap_or_default(), args_of(command)?);
            let call = Call { args: call::Arguments::Json(text), ..Call::new(tool, Value::Null) };
            explain(&runtime, call.caller(caller).situation(situation), format).await
        }
        PolicyCommand::Matrix { of, tool } => matrix(&runtime, (of, tool), &situation, format),
        PolicyCommand::Test { file } => test(&runtime, file, format).await,
        PolicyCommand::Replay => replay(&runtime, &state_dir, format).await,
        PolicyCommand::Suggest => suggest(&state_dir, format).await,
        PolicyCommand::Samples => samples(&state_dir).await,
    }
}

fn list(runtime: &Runtime, format: Format) -> Result<u8, Failure> {
    let rows = runtime.toolbox().policies.described();
    match format {
        Format::Json | Format::Ndjson => output::document(&rows, format),
        Format::Text => {
            for row in &rows {
                let points = row.points.map(|points| format!(" +{points}")).unwrap_or_default();
                output::line(&printable_lines(&format!(
                    "{:<32} {}{points}: {}  ({})",
                    row.id, row.does, row.reason, row.file
                )));
            }
        }
    }
    Ok(0)
}

fn schema(runtime: &Runtime, name: &str) -> Result<u8, Failure> {
    let found = runtime.cedar_schema(name).map_err(|error| Failure::unknown(error.to_string()))?;
    output::line(&printable_lines(&found));
    Ok(0)
}

async fn explain(runtime: &Runtime, call: Call, format: Format) -> Result<u8, Failure> {
    match runtime.explain(&call, None).await {
        Ok(explanation) => {
            match format {
                Format::Json | Format::Ndjson => output::document(&explanation, format),
                Format::Text => output::line(&printable_lines(&text(&explanation))),
            }
            Ok(0)
        }
        Err(error) => Err(Failure { exit: error.kind.exit_code(), ..Failure::usage(error.to_string()) }),
    }
}

fn said(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Runs => "runs",
        Outcome::Asks => "asks a person",
        Outcome::Denied => "is denied",
    }
}

fn text(explanation: &Explanation) -> String {
    let mut lines = vec![format!(
        "{} as {}: {} (layer {})",
        explanation.tool,
        explanation.role,
        said(explanation.outcome),
        explanation.layer
    )];
    lines.extend(explanation.why.iter().map(|why| format!("  because   {why}")));
    lines.push(format!("  effect    {}", explanation.effect));
    let list = |label: &str, words: &[String]| format!("  {label:<9} {}", words.join(", "));
    if !explanation.targets.is_empty() {
        lines.push(list("targets", &explanation.targets));
        lines.push(list("labels", &explanation.labels));
    }
    if let (Some(risk), Some(level)) = (explanation.risk, explanation.level) {
        let (medium, high) = explanation.thresholds;
        lines.push(format!("  risk      {risk} of 100: {level} (medium from {medium}, high from {high})"));
    }
    for part in &explanation.parts {
        lines.push(format!("    +{:<3} {}  [{}; lower: {}]", part.points, part.reason, part.id, part.lower));
    }
    for statement in &explanation.statements {
        lines.push(format!("  {} {}: {}  ({})", statement.does, statement.id, statement.reason, statement.file));
    }
    lines.push(format!("  policies  {}", explanation.policies));
    lines.join("\n")
}

fn matrix(
    runtime: &Runtime,
    (roles, tools): (&[String], &[String]),
    situation: &Arc<Situation>,
    format: Format,
) -> Result<u8, Failure> {
    let roles = if roles.is_empty() { runtime.roles() } else { roles.to_vec() };
    let all = runtime.tool_names();
    if let Some(unknown) = tools.iter().find(|tool| !all.contains(tool)) {
        return Err(Failure::unknown(format!("no tool is called `{unknown}`")));
    }
    let tools = if tools.is_empty() { all } else { tools.to_vec() };
    let mut rows: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for role in &roles {
        for tool in &tools {
            let explanation =
                runtime.explain_role(role, tool, situation).map_err(|error| Failure::unknown(error.to_string()))?;
            let cell = cell(&explanation);
            rows.entry(role.clone()).or_default().insert(tool.clone(), cell);
        }
    }
    if format != Format::Text {
        output::document(&rows, format);
        return Ok(0);
    }
    let width = roles.iter().map(String::len).max().unwrap_or(0);
    let head: Vec<String> = tools.iter().map(|tool| format!("{tool:>14}")).collect();
    output::line(&printable_lines(&format!("{:width$} {}", "", head.join(" "))));
    for role in &roles {
        let cells: Vec<String> =
            tools.iter().map(|tool| format!("{:>w$}", rows[role][tool], w = tool.len().max(14))).collect();
        output::line(&printable_lines(&format!("{role:width$} {}", cells.join(" "))));
    }
    Ok(0)
}

/// What a role gets of a tool whatever the arguments are, or that it depends on them.
fn cell(explanation: &Explanation) -> String {
    match (explanation.outcome, explanation.layer, explanation.level) {
        (Outcome::Denied, 1, _) if explanation.why.as_ref().is_some_and(|why| why.contains("cannot be evaluated")) => {
            "by arguments".into()
        }
        (Outcome::Denied, _, _) => "-".into(),
        (outcome, _, Some(level)) => format!("{} {level}", if outcome == Outcome::Asks { "asks" } else { "runs" }),
        (_, _, None) => "?".into(),
    }
}

/// Cases of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    test: Vec<Case>,
}

/// One call and what should become of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    role: String,
    tool: String,
    #[serde(default)]
    args: toml::Table,
    #[serde(default)]
    workflow: Option<String>,
    #[serde(default)]
    purpose: Option<String>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    history: History,
    outcome: Option<Outcome>,
    level: Option<String>,
    risk: Option<u8>,
}

async fn test(runtime: &Runtime, file: &Path, format: Format) -> Result<u8, Failure> {
    let text = hermes_runtime::document::read_text(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
    let cases: Cases = hermes_runtime::document::from_toml(file, &text)
        .map_err(|fault| Failure { faults: vec![fault], ..Failure::usage("the tests are wrong") })?;
    let mut failed = 0;
    for case in &cases.test {
        let wrong = differences(runtime, case).await;
        failed += usize::from(!wrong.is_empty());
        match format {
            Format::Text if wrong.is_empty() => output::line(&format!("ok    {}", printable_lines(&case.name))),
            Format::Text => output::line(&format!("FAIL  {}: {}", printable_lines(&case.name), wrong.join("; "))),
            Format::Json | Format::Ndjson => {
                output::document(&json!({ "test": case.name, "wrong": wrong }), Format::Ndjson)
            }
        }
    }
    Ok(if failed == 0 { 0 } else { DIFFERS })
}

async fn differences(runtime: &Runtime, case: &Case) -> Vec<String> {
    let situation = Situation {
        workflow: case.workflow.clone(),
        purpose: case.purpose.clone(),
        mode: case.mode.unwrap_or(if case.workflow.is_some() { Mode::Workflow } else { Mode::Explore }),
        task: None,
    };
    let args = serde_json::to_string(&case.args).unwrap_or_default();
    let call = Call { args: call::Arguments::Json(args), ..Call::new(case.tool.as_str(), Value::Null) }
        .caller(Arc::new(Caller { id: "test".into(), role: case.role.clone() }))
        .situation(Arc::new(situation));
    let explanation = match runtime.explain(&call, Some(case.history)).await {
        Ok(explanation) => explanation,
        Err(error) => return vec![format!("it cannot be judged: {error}")],
    };
    let mut wrong = Vec::new();
    if case.outcome.is_some_and(|outcome| outcome != explanation.outcome) {
        wrong.push(format!("it {} ({})", said(explanation.outcome), explanation.why.clone().unwrap_or_default()));
    }
    if case.level.as_deref().is_some_and(|level| Some(level) != explanation.level) {
        wrong.push(format!("its risk is {}", explanation.level.unwrap_or("not judged")));
    }
    if case.risk.is_some_and(|risk| Some(risk) != explanation.risk) {
        wrong.push(format!("it has {} points", explanation.risk.map_or("no".into(), |risk| risk.to_string())));
    }
    wrong
}

/// What became of a recorded call, as far as permission decided it.
fn recorded(record: &Record) -> Option<Outcome> {
    use hermes_runtime::Kind;
    use hermes_runtime::error::Step;
    let by_permission = record.error.as_ref().filter(|error| error.step == Step::Permission).map(|error| error.kind);
    match by_permission {
        Some(Kind::Denied | Kind::PolicyError) => Some(Outcome::Denied),
        Some(
            Kind::ApprovalDenied | Kind::ApprovalExpired | Kind::ApprovalPending | Kind::NoApprover | Kind::Conflict,
        ) => Some(Outcome::Asks),
        Some(_) => None,
        None if record.facts.approver.is_some() => Some(Outcome::Asks),
        None if record.facts.layer.is_some() => Some(Outcome::Runs),
        None => None,
    }
}

#[derive(Serialize)]
struct Changed {
    call_id: String,
    tool: String,
    role: String,
    was: Outcome,
    now: Outcome,
    why: Option<String>,
}

/// Decides recorded calls again under the policies that are in force now.
async fn replay(runtime: &Runtime, state_dir: &Path, format: Format) -> Result<u8, Failure> {
    let (mut same, mut without, mut changed) = (0, 0, Vec::new());
    for entry in Reader::open(state_dir)?.list(LIMIT)? {
        let record = entry.record;
        // Of a refused call the beginning is kept, which mostly is the whole.
        let whole = |excerpt: &&String| serde_json::from_str::<Value>(excerpt).is_ok();
        let kept =
            record.facts.args.as_deref().or(record.facts.args_excerpt.as_ref().filter(whole).map(String::as_str));
        let (Some(was), Some(args)) = (recorded(&record), kept) else {
            without += 1;
            continue;
        };
        let call =
            Call { args: call::Arguments::Json(args.to_string()), ..Call::new(&*record.facts.tool, Value::Null) }
                .caller(record.caller.clone())
                .situation(record.situation.clone());
        let Ok(now) = runtime.explain(&call, Some(record.facts.history.unwrap_or_default())).await else {
            without += 1;
            continue;
        };
        match now.outcome == was {
            true => same += 1,
            false => changed.push(Changed {
                call_id: record.call_id.to_string(),
                tool: now.tool,
                role: now.role,
                was,
                now: now.outcome,
                why: now.why,
            }),
        }
    }
    match format {
        Format::Json | Format::Ndjson => {
            output::document(&json!({ "same": same, "not_replayed": without, "changed": changed }), format);
        }
        Format::Text => {
            for change in &changed {
                let why = change.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let line = format!(
                    "{} {} as {} {}, and now {}{why}",
                    change.call_id,
                    change.tool,
                    change.role,
                    said(change.was),
                    said(change.now)
                );
                output::line(&printable_lines(&line));
            }
            output::line(&format!(
                "{same} calls are decided as they were, {} otherwise; {without} keep no arguments and were not decided again",
                changed.len()
            ));
        }
    }
    Ok(0)
}

async fn decisions(state_dir: &Path) -> Result<Vec<Parked>, Failure> {
    let journal = hermes_runtime::open_journal(state_dir).map_err(|error| Failure::unavailable(error.to_string()))?;
    let found = desk::list(&journal, true, LIMIT).await.map_err(|error| Failure::unavailable(error.to_string()))?;
    Ok(found.into_iter().filter(|parked| parked.decided_ms.is_some()).collect())
}

/// Whether a person said yes.
fn is_yes(parked: &Parked) -> bool {
    matches!(parked.state, State::Approved | State::Used | State::Void) || parked.scope.is_some()
}

/// One proposal with the past decisions that it fits.
#[derive(Serialize)]
struct Proposal {
    says: String,
    rule: String,
    decisions: usize,
    asked_before: usize,
    asked_after: usize,
}

/// Proposes rules where people always decided alike. Nothing is applied.
async fn suggest(state_dir: &Path, format: Format) -> Result<u8, Failure> {
    let decisions = decisions(state_dir).await?;
    let mut groups: BTreeMap<(String, String), Vec<&Parked>> = BTreeMap::new();
    for parked in &decisions {
        groups.entry((parked.request.tool.clone(), parked.request.role.clone())).or_default().push(parked);
    }
    let proposals: Vec<Proposal> =
        groups.iter().filter_map(|((tool, role), group)| propose(tool, role, group, decisions.len())).collect();
    match format {
        Format::Json | Format::Ndjson => output::document(&proposals, format),
        Format::Text if proposals.is_empty() => output::line("nobody decided alike often enough to suggest anything"),
        Format::Text => {
            for proposal in &proposals {
                output::line(&printable_lines(&format!(
                    "{}\n{}\n  fits {} past decisions; asked before {}, after {}\n",
                    proposal.says, proposal.rule, proposal.decisions, proposal.asked_before, proposal.asked_after
                )));
            }
        }
    }
    Ok(0)
}

fn propose(tool: &str, role: &str, group: &[&Parked], all: usize) -> Option<Proposal> {
    let yes = group.iter().filter(|parked| is_yes(parked)).count();
    if group.len() < ENOUGH || (yes != 0 && yes != group.len()) {
        return None;
    }
    let after = all - group.len();
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    Some(match yes {
        0 => Proposal {
            says: format!("people always said no to `{tool}` as {role}; in a file of `policies.permissions`:"),
            rule: format!(
                "@reason(\"people always say no to this\")\nforbid (principal == Role::{}, action == Action::{}, resource);",
                quoted(role),
                quoted(tool)
            ),
            decisions: group.len(),
            asked_before: all,
            asked_after: after,
        },
        _ => {
            let above = group.iter().map(|parked| u32::from(parked.request.risk)).max().unwrap_or(0);
            let factor = common_factor(group)?;
            Proposal {
                says: format!(
                    "people always said yes to `{tool}` as {role} (risk up to {above}); the factor that all had is:"
                ),
                rule: format!("{factor}\n# lower its points in [risk.points], or label the targets, if you agree"),
                decisions: group.len(),
                asked_before: all,
                asked_after: after,
            }
        }
    })
}

/// The heaviest factor that every decision had.
fn common_factor(group: &[&Parked]) -> Option<String> {
    let (first, rest) = group.split_first()?;
    let points = |factor: &str| factor.split([' ', '+']).find_map(|word| word.parse::<u32>().ok()).unwrap_or(0);
    let shared =
        first.request.factors.iter().filter(|factor| rest.iter().all(|other| other.request.factors.contains(factor)));
    shared.max_by_key(|factor| points(factor)).cloned()
}

/// Decisions as labelled samples, one a line.
async fn samples(state_dir: &Path) -> Result<u8, Failure> {
    for parked in decisions(state_dir).await? {
        let request = &parked.request;
        let sample = json!({
            "label": if is_yes(&parked) { "approved" } else { "denied" }, "tool": request.tool, "role": request.role,
            "situation": request.situation, "targets": request.targets, "effect": request.effect, "risk": request.risk,
            "factors": request.factors, "why": request.why, "reason": parked.reason, "repeats": parked.repeats,
            "seconds": parked.decided_ms.unwrap_or(parked.created_ms).saturating_sub(parked.created_ms) / 1000,
            "args_digest": request.args_digest, "decided_ms": parked.decided_ms,
        });
        output::document(&sample, Format::Ndjson);
    }
    Ok(0)
}
