//! What waits for a person, and what do they say? Everything that decides needs a person at a controlling terminal, who is
//! shown the whole request and asked, or an operator's token; looking needs nobody.

use crate::args::{ApprovalsCommand, ApproveArguments, Arguments, DenyArguments, Format};
use crate::failure::Failure;
use crate::person::Person;
use crate::terminal::{self, Terminal, printable_lines};
use crate::{output, setup};
use hermes_runtime::journal::Journal;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Parked, Scope, State, Verdict};
use std::collections::HashSet;
use std::io::BufRead;
use std::time::Duration;

/// Questions that are listed at most.
const LIMIT: u32 = 1000;
/// How often `watch` looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(arguments: &Arguments, command: &ApprovalsCommand) -> Result<u8, Failure> {
    let journal = hermes_runtime::open_journal(&setup::state_dir(arguments)?)
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    let format = arguments.output.format();
    match command {
        ApprovalsCommand::List { all } => list(&journal, *all, format).await,
        ApprovalsCommand::Show { id } => show(&journal, id, format).await,
        ApprovalsCommand::Approve(command) => approve(arguments, &journal, command).await,
        ApprovalsCommand::Deny(command) => deny(arguments, &journal, command).await,
        ApprovalsCommand::Watch => watch(arguments, &journal).await,
        ApprovalsCommand::Forget { id } => {
            let person = Person::who_decides(arguments)?;
            let parked = find(&journal, id).await?;
            desk::forget(&journal, &parked, &person.name()).await.map_err(failed)?;
            output::line(&format!("{} was taken back", parked.id));
            Ok(0)
        }
        ApprovalsCommand::Resume { caller } => {
            let person = Person::who_decides(arguments)?;
            desk::resume(&journal, caller, &person.name()).await.map_err(failed)?;
            output::line(&format!("the calls of {} run again", printable_lines(caller)));
            Ok(0)
        }
    }
}

fn failed(error: hermes_runtime::Error) -> Failure {
    let exit = error.kind.exit_code();
    Failure { exit, ..Failure::usage(error.to_string()) }
}

async fn find(journal: &Journal, id: &str) -> Result<Parked, Failure> {
    desk::find(journal, id).await.map_err(|error| Failure::unknown(error.to_string()))
}

async fn list(journal: &Journal, all: bool, format: Format) -> Result<u8, Failure> {
    let found = desk::list(journal, all, LIMIT).await.map_err(failed)?;
    match format {
        Format::Json => output::document(&found, format),
        Format::Ndjson => found.iter().for_each(|parked| output::document(parked, format)),
        Format::Text => found.iter().for_each(|parked| output::line(&printable_lines(&one_line(parked)))),
    }
    Ok(0)
}

fn one_line(parked: &Parked) -> String {
    let request = &parked.request;
    let now = now_ms();
    let state = parked.state_at(now);
    let left = match state {
        State::Pending => format!("{} s left", parked.expires_ms.saturating_sub(now) / 1000),
        _ => state.name().to_owned(),
    };
    let by = parked.decided_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    format!(
        "{}  {left}{by}  risk {}  {} as {}  {}  {}",
        parked.id,
        request.risk,
        request.caller,
        request.role,
        request.tool,
        request.targets.join(", ")
    )
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}

async fn show(journal: &Journal, id: &str, format: Format) -> Result<u8, Failure> {
    let parked = find(journal, id).await?;
    match format {
        Format::Json | Format::Ndjson => output::document(&parked, format),
        Format::Text => output::line(&shown(&parked)),
    }
    Ok(0)
}

fn shown(parked: &Parked) -> String {
    let state = parked.state_at(now_ms());
    let decided = parked.decided_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = parked.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let text = format!("{}{}{}", state.name(), decided, reason);
    format!("{}{}", terminal::described(&parked.request), printable_lines(&format!("     state  {text}")))
}

async fn approve(arguments: &Arguments, journal: &Journal, command: &ApproveArguments) -> Result<u8, Failure> {
    let person = Person::who_decides(arguments)?;
    let parked = find(journal, &command.id).await?;
    let (scope, words) = match (&command.session, &command.r#for) {
        (true, _) => (Scope::Session, "the same call again for this session".to_owned()),
        (false, Some(minutes)) => {
            (Scope::Until(now_ms() + minutes * 60_000), format!("the same call again for {minutes} minutes"))
        }
        (false, None) => (Scope::Once, "it once".to_owned()),
    };
    output::line(&shown(&parked));
    if !person.confirms(&format!("Run {words}?")) {
        return Err(Failure::denied("nothing was decided"));
    }
    decide(arguments, journal, &parked, Verdict::Approve(scope), &person.name()).await?;
    output::line(&format!("{} is approved; the call runs when its caller makes it again or still waits", parked.id));
    Ok(0)
}

async fn deny(arguments: &Arguments, journal: &Journal, command: &DenyArguments) -> Result<u8, Failure> {
    let by = Person::who_decides(arguments)?.name();
    let parked = find(journal, &command.id).await?;
    decide(arguments, journal, &parked, Verdict::Deny { reason: command.reason.clone() }, &by).await?;
    output::line(&format!("{} is denied", parked.id));
    Ok(0)
}

async fn decide(
    arguments: &Arguments,
    journal: &Journal,
    parked: &Parked,
    verdict: Verdict,
    by: &str,
) -> Result<(), Failure> {
    let redeem = setup::load(arguments)?.loaded.config.approval.expires_seconds;
    desk::decide(journal, parked, verdict, by, redeem).await.map_err(failed)
}

/// Shows each question as it comes and asks about it, until the person ends the command.
async fn watch(arguments: &Arguments, journal: &Journal) -> Result<u8, Failure> {
    match Person::who_decides(arguments)? {
        Person::AtTerminal(_) => watch_at_terminal(arguments, journal).await,
        Person::Operator(_) => watch_lines(arguments, journal).await,
    }
}

async fn watch_at_terminal(arguments: &Arguments, journal: &Journal) -> Result<u8, Failure> {
    let by = terminal::person();
    output::warn("waiting for questions; Ctrl-C ends this and decides nothing");
    let mut seen = HashSet::new();
    loop {
        for parked in desk::list(journal, false, LIMIT).await.map_err(failed)? {
            if !seen.insert(parked.id.clone()) {
                continue;
            }
            output::line(&shown(&parked));
            let Some(terminal) = Terminal::open() else { return Err(Failure::denied("the terminal is gone")) };
            let asked =
                tokio::task::spawn_blocking(move || terminal.choose("Run it once? [y = yes, n = no, Enter = later] "))
                    .await;
            let verdict = match asked.ok().flatten() {
                Some('y') => Verdict::Approve(Scope::Once),
                Some('n') => Verdict::Deny { reason: None },
                Some(_) | None => continue,
            };
            match decide(arguments, journal, &parked, verdict, &by).await {
                Ok(()) => output::line("decided"),
                Err(failure) => output::warn(&failure.message),
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// For whoever shows a token: questions go out, answers come in line by line, each with the id of its question, since
/// what is written ahead must not answer a question that came meanwhile. The end of the input ends it.
async fn watch_lines(arguments: &Arguments, journal: &Journal) -> Result<u8, Failure> {
    let format = arguments.output.format();
    let mut lines = lines()?;
    output::warn("waiting for questions; answer with `y ID` or `n ID REASON`, the end of the input ends this");
    let mut seen = HashSet::new();
    loop {
        for parked in desk::list(journal, false, LIMIT).await.map_err(failed)? {
            if seen.insert(parked.id.clone()) {
                match format {
                    Format::Text => output::line(&shown(&parked)),
                    Format::Json | Format::Ndjson => output::document(&parked, Format::Ndjson),
                }
            }
        }
        match tokio::time::timeout(LOOK_EVERY, lines.recv()).await {
            Ok(Some(line)) => match answer(arguments, journal, &line).await {
                Ok(said) => output::warn(&said),
                Err(failure) => output::warn(&failure.message),
            },
            Ok(None) => return Ok(0),
            Err(_) => {}
        }
    }
}

/// The lines of standard input, read on a thread of its own, since nothing ends such a wait.
fn lines() -> Result<tokio::sync::mpsc::Receiver<String>, Failure> {
    /// Lines that wait, and the longest, in bytes.
    const WAITING: usize = 16;
    const LONGEST: u64 = 4096;
    let (sender, receiver) = tokio::sync::mpsc::channel(WAITING);
    let reading = std::thread::Builder::new().name("hermes-answers".into()).spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = std::io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line);
            let text = String::from_utf8_lossy(&line).into_owned();
            if !matches!(read, Ok(1..)) || sender.blocking_send(text).is_err() {
                return;
            }
        }
    });
    reading.map(|_| receiver).map_err(|error| Failure::internal(format!("no thread reads the answers: {error}")))
}

/// Takes one line. Whether the token still counts is looked at each time.
async fn answer(arguments: &Arguments, journal: &Journal, line: &str) -> Result<String, Failure> {
    let person = Person::who_decides(arguments)?;
    let usage = || Failure::usage("an answer is `y ID` or `n ID REASON`; nothing was decided");
    let (word, rest) = line.trim().split_once(' ').ok_or_else(usage)?;
    let (id, reason) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let verdict = match word {
        "y" => Verdict::Approve(Scope::Once),
        "n" => Verdict::Deny { reason: Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty()) },
        _ => return Err(usage()),
    };
    let parked = find(journal, id).await?;
    decide(arguments, journal, &parked, verdict, &person.name()).await?;
    Ok(format!("{} is {}", parked.id, if word == "y" { "approved" } else { "denied" }))
}
