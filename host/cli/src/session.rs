//! In which circumstances are the calls of a session made? Those that it began with, or what a person has set since. Kept in
//! the state folder, which no tool sees; whoever serves the session reads it for each call.

use crate::args::{Arguments, Format, SessionCommand};
use crate::failure::Failure;
use crate::person::Person;
use crate::setup::Folders;
use crate::terminal::printable_lines;
use crate::{identity, output, setup};
use hermes_gateway::Set;
use hermes_runtime::call::{Mode, Situation};
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::permission::approval::desk;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions whose circumstances are kept; the oldest are forgotten first. A session ends long before that.
const KEPT: usize = 200;

/// What people have set.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sessions {
    #[serde(default)]
    session: Vec<Entry>,
}

/// The circumstances of one session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    by: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    workflow: Option<String>,
    #[serde(default)]
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    purpose: Option<String>,
}

impl Entry {
    fn situation(&self) -> Situation {
        Situation { workflow: self.workflow.clone(), mode: self.mode, purpose: self.purpose.clone(), task: None }
    }
}

pub(crate) async fn run(arguments: &Arguments, command: &SessionCommand) -> Result<u8, Failure> {
    match command {
        SessionCommand::ClearTaint { caller } => clear_taint(arguments, caller.as_deref()).await,
        SessionCommand::Show { session } => show(arguments, session.as_deref()),
        SessionCommand::Set { session, clear } => set(arguments, session, *clear).await,
    }
}

/// What whoever serves sessions asks for each call. A list that cannot be read sets nothing.
pub(crate) fn asked(state: PathBuf) -> Set {
    Set(Some(Arc::new(move |session: &str| match read(&state) {
        Ok(sessions) => sessions.session.iter().find(|entry| entry.name == session).map(Entry::situation),
        Err(failure) => {
            tracing::error!("{}", failure.message);
            None
        }
    })))
}

async fn clear_taint(arguments: &Arguments, caller: Option<&str>) -> Result<u8, Failure> {
    let by = Person::who_decides(arguments)?.name();
    let journal = hermes_runtime::open_journal(&setup::state_dir(arguments)?)
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    let own = || format!("local:{}", rustix::process::getuid().as_raw());
    let caller = caller.map_or_else(own, str::to_owned);
    desk::clear_taint(&journal, &caller, &by).await.map_err(|error| Failure::unavailable(error.to_string()))?;
    output::line(&format!("what {} has read from outside counts no more", printable_lines(&caller)));
    Ok(0)
}

fn show(arguments: &Arguments, session: Option<&str>) -> Result<u8, Failure> {
    /// Sessions that are listed.
    const LISTED: u32 = 50;
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let set = read(&Folders::of_this_user()?.state)?;
    let shown = |name: &str, caller: &str| {
        let entry = set.session.iter().find(|entry| entry.name == name);
        json!({ "session": name, "caller": caller, "set": entry })
    };
    let known = reader.sessions(LISTED)?;
    let known = known.iter().filter(|line| session.is_none_or(|wanted| line.session.starts_with(wanted)));
    let all: Vec<_> = known.map(|line| shown(&line.session, &line.caller)).collect();
    if all.is_empty() && session.is_some() {
        return Err(Failure::unknown("no session of which there are records begins so; see `trajectory list`"));
    }
    match arguments.output.format() {
        Format::Json => output::document(&all, Format::Json),
        Format::Ndjson => all.iter().for_each(|line| output::document(line, Format::Ndjson)),
        Format::Text => {
            for line in &all {
                let name = line["session"].as_str().unwrap_or_default();
                let entry = set.session.iter().find(|entry| entry.name == name);
                let words = entry.map_or("as it began".to_owned(), in_words);
                let caller = line["caller"].as_str().unwrap_or_default();
                output::line(&printable_lines(&format!("{name}  {caller}  {words}")));
            }
        }
    }
    Ok(0)
}

fn in_words(entry: &Entry) -> String {
    let said = |name: &str, value: &Option<String>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    };
    let mode = if entry.mode == Mode::Workflow { "workflow" } else { "explore" };
    let (workflow, purpose) = (said("workflow", &entry.workflow), said("purpose", &entry.purpose));
    format!("{workflow}, {purpose}, mode {mode}, set by {}", entry.by)
}

/// Sets what `--workflow`, `--mode` and `--purpose` say, or takes it back.
async fn set(arguments: &Arguments, session: &str, clear: bool) -> Result<u8, Failure> {
    let person = Person::who_decides(arguments)?;
    let name = find(arguments, session)?;
    let config = setup::load(arguments)?.loaded.config;
    let situation = identity::situation(arguments, &config)?;
    let given = arguments.workflow.is_some() || arguments.purpose.is_some() || arguments.mode.is_some();
    if clear == given {
        return Err(Failure::usage("say what is set with `--workflow`, `--mode` and `--purpose`, or `--clear`"));
    }
    let journal = hermes_runtime::open_journal(&setup::state_dir(arguments)?)
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    let noted = (!clear).then_some(&*situation);
    desk::note_situation(&journal, &name, noted, &person.name())
        .await
        .map_err(|error| Failure::unavailable(error.to_string()))?;
    let state = Folders::of_this_user()?.state;
    let mut sessions = read(&state)?;
    sessions.session.retain(|entry| entry.name != name);
    if !clear {
        let Situation { workflow, mode, purpose, .. } = (*situation).clone();
        sessions.session.push(Entry { name: name.clone(), by: person.name(), workflow, mode, purpose });
        let over = sessions.session.len().saturating_sub(KEPT);
        sessions.session.drain(..over);
    }
    write(&state, &sessions)?;
    let words = sessions.session.last().filter(|_| !clear).map_or("as it began".to_owned(), in_words);
    output::line(&printable_lines(&format!("{name}: {words}; it counts from the next call on")));
    Ok(0)
}

/// The one session whose name begins so.
fn find(arguments: &Arguments, prefix: &str) -> Result<String, Failure> {
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    match reader.find_session(prefix)?.as_slice() {
        [session] => Ok(session.clone()),
        [] => Err(Failure::unknown("no session of which there are records begins so; see `session show`")),
        _ => Err(Failure::usage("several sessions begin so; give more of the name of the one you mean")),
    }
}

fn file(state: &Path) -> PathBuf {
    state.join("sessions.toml")
}

fn read(state: &Path) -> Result<Sessions, Failure> {
    match std::fs::read_to_string(file(state)) {
        Ok(text) => hermes_runtime::document::from_toml(&file(state), &text)
            .map_err(|fault| Failure { faults: vec![fault], ..Failure::usage("the list of sessions is damaged") }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sessions::default()),
        Err(error) => Err(Failure::usage(format!("`{}` cannot be read: {error}", file(state).display()))),
    }
}

fn write(state: &Path, sessions: &Sessions) -> Result<(), Failure> {
    let text = toml::to_string(sessions).map_err(|error| Failure::internal(error.to_string()))?;
    let partial = state.join(format!("sessions.toml.{}", std::process::id()));
    let save = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&partial, file(state))
    };
    save().map_err(|error: std::io::Error| {
        Failure::unavailable(format!("`{}` cannot be written: {error}", file(state).display()))
    })
}
