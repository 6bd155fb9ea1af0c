//! Who calls, and in which circumstances? Options only pick among what the user's configuration allows, or what the
//! person at the terminal confirms.

use crate::args::{Arguments, ModeArgument};
use crate::failure::Failure;
use crate::setup::is_within;
use crate::terminal::Terminal;
use hermes_runtime::call::{Caller, Mode, Situation};
use hermes_runtime::config::{Access, Config, Grant, matches_pattern};
use hermes_runtime::permission::role::{GUEST, OPERATOR};
use hermes_runtime::record::Event;
use std::sync::Arc;

/// Who makes the calls of this command.
pub(crate) fn caller(arguments: &Arguments, config: &Config) -> Result<Arc<Caller>, Failure> {
    let id = format!("local:{}", rustix::process::getuid().as_raw());
    let role = match arguments.role.as_ref().filter(|role| !role.is_empty()) {
        Some(role) => allowed_role(arguments, role, config)?,
        None => usual_role(arguments, config),
    };
    Ok(Arc::new(Caller { id, role }))
}

/// The role that a new token stands for. It has to be in the configuration: whoever shows the token is no person at a
/// terminal.
pub(crate) fn role_of_token(arguments: &Arguments, config: &Config) -> Result<String, Failure> {
    let usual = || config.roles.iter().find(|(_, role)| role.default).map(|(name, _)| name.clone());
    let role = arguments.role.clone().or_else(usual).unwrap_or_else(|| GUEST.to_owned());
    match config.roles.contains_key(&role) || role == GUEST {
        true => Ok(role),
        false => {
            Err(Failure::usage(format!("role `{role}` is not in your configuration, so no token can stand for it")))
        }
    }
}

fn usual_role(arguments: &Arguments, config: &Config) -> String {
    let configured = config.roles.iter().find(|(_, role)| role.default).map(|(name, _)| name.clone());
    let built_in = if terminal(arguments).is_some() { OPERATOR } else { GUEST };
    configured.unwrap_or_else(|| built_in.to_owned())
}

fn allowed_role(arguments: &Arguments, role: &str, config: &Config) -> Result<String, Failure> {
    let is_operator = role == OPERATOR && terminal(arguments).is_some();
    let allowed = config.roles.contains_key(role) || role == GUEST || is_operator;
    let known: Vec<&str> = config.roles.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("it names {}", known.join(", ")) };
    confirmed(arguments, config, allowed, &format!("role `{role}` is not in your configuration ({known})"))?;
    Ok(role.to_owned())
}

/// The circumstances of the calls of this command.
pub(crate) fn situation(arguments: &Arguments, config: &Config) -> Result<Arc<Situation>, Failure> {
    let allowed = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches_pattern(pattern, name));
    if let Some(workflow) = &arguments.workflow {
        let known = allowed(&config.situations.workflows, workflow);
        let what = format!("workflow `{workflow}` fits none of `situations.workflows` in your configuration");
        confirmed(arguments, config, known, &what)?;
    }
    if let Some(purpose) = &arguments.purpose {
        let known = allowed(&config.situations.purposes, purpose);
        let what = format!("purpose `{purpose}` fits none of `situations.purposes` in your configuration");
        confirmed(arguments, config, known, &what)?;
    }
    let mode = match (arguments.mode, &arguments.workflow) {
        (Some(ModeArgument::Explore), _) | (None, None) => Mode::Explore,
        (Some(ModeArgument::Workflow) | None, Some(_)) => Mode::Workflow,
        (Some(ModeArgument::Workflow), None) => {
            return Err(Failure::usage("`--mode workflow` needs `--workflow NAME`"));
        }
    };
    let (workflow, purpose, task) = (arguments.workflow.clone(), arguments.purpose.clone(), arguments.task.clone());
    Ok(Arc::new(Situation { workflow, mode, purpose, task }))
}

/// Whether a directory may be granted: one within a configured grant, or one that the person confirms.
pub(crate) fn allow_grant(arguments: &Arguments, config: &Config, name: &str, wanted: &Grant) -> Result<(), Failure> {
    if !wanted.path.is_dir() {
        return Err(Failure::usage(format!("`{}` is no directory that could be granted", wanted.path.display())));
    }
    let covers = |grant: &Grant| {
        is_within(&wanted.path, &grant.path) && (wanted.mode == Access::ReadOnly || grant.mode == Access::ReadWrite)
    };
    let known = config.grants.values().any(covers);
    let what = format!("the grant `{name}` of `{}` is within none of your configuration", wanted.path.display());
    confirmed(arguments, config, known, &what)
}

/// The terminal of the person who gave the command, if that person may be asked.
fn terminal(arguments: &Arguments) -> Option<Terminal> {
    if arguments.may_ask() { Terminal::open() } else { None }
}

fn confirmed(arguments: &Arguments, config: &Config, allowed: bool, what: &str) -> Result<(), Failure> {
    if allowed {
        return Ok(());
    }
    let refused =
        match terminal(arguments).map(|terminal| terminal.confirm(&format!("{what}. Allow it for this command?"))) {
            Some(true) => return Ok(()),
            Some(false) => format!("{what}, and you said no"),
            None => format!("{what}, and there is no person to ask"),
        };
    note_refusal(config, &refused);
    Err(Failure::denied(refused))
}

/// Who tried to be somebody else, or more, stands in the journal, as far as it can be written.
fn note_refusal(config: &Config, what: &str) {
    let state_dir = config.state_dir.clone();
    let by = format!("local:{}", rustix::process::getuid().as_raw());
    let event = Event::now("identity.refused", by, serde_json::json!({ "what": what }));
    // On a thread of its own, because the caller may be one that a runtime drives.
    let written = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|it| it.to_string())?;
        let journal = hermes_runtime::open_journal(&state_dir).map_err(|error| error.to_string())?;
        runtime.block_on(journal.event(event)).map_err(|error| error.insides())
    });
    if let Err(why) = written.join().unwrap_or_else(|_| Err("the thread that writes it broke off".into())) {
        tracing::warn!(%why, "a refusal could not be written to the journal");
    }
}
