//! Who calls, and in which circumstances? Options only pick among what the user's configuration allows, or what the
//! person at the terminal confirms.

use crate::args::{Arguments, ModeArgument};
use crate::failure::Failure;
use crate::setup::is_within;
use crate::terminal::Terminal;
use hermes_runtime::call::{Caller, Mode, Situation};
use hermes_runtime::config::{Access, Config, Grant, matches_pattern};
use hermes_runtime::permission::role::{GUEST, OPERATOR};
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
    confirmed(arguments, allowed, &format!("role `{role}` is not in your configuration ({known})"))?;
    Ok(role.to_owned())
}

/// The circumstances of the calls of this command.
pub(crate) fn situation(arguments: &Arguments, config: &Config) -> Result<Arc<Situation>, Failure> {
    let allowed = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches_pattern(pattern, name));
    if let Some(workflow) = &arguments.workflow {
        let known = allowed(&config.situations.workflows, workflow);
        let what = format!("workflow `{workflow}` fits none of `situations.workflows` in your configuration");
        confirmed(arguments, known, &what)?;
    }
    if let Some(purpose) = &arguments.purpose {
        let known = allowed(&config.situations.purposes, purpose);
        let what = format!("purpose `{purpose}` fits none of `situations.purposes` in your configuration");
        confirmed(arguments, known, &what)?;
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
    confirmed(arguments, known, &what)
}

/// The terminal of the person who gave the command, if that person may be asked.
fn terminal(arguments: &Arguments) -> Option<Terminal> {
    if arguments.may_ask() { Terminal::open() } else { None }
}

fn confirmed(arguments: &Arguments, allowed: bool, what: &str) -> Result<(), Failure> {
    if allowed {
        return Ok(());
    }
    match terminal(arguments).map(|terminal| terminal.confirm(&format!("{what}. Allow it for this command?"))) {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::denied(format!("{what}, and you said no"))),
        None => Err(Failure::denied(format!("{what}, and there is no person to ask"))),
    }
}
