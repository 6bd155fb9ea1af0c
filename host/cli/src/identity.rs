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
        Some(role) => allowed_role(role, config)?,
        None => usual_role(config),
    };
    Ok(Arc::new(Caller { id, role }))
}

fn usual_role(config: &Config) -> String {
    let configured = config.roles.iter().find(|(_, role)| role.default).map(|(name, _)| name.clone());
    let built_in = if Terminal::open().is_some() { OPERATOR } else { GUEST };
    configured.unwrap_or_else(|| built_in.to_owned())
}

fn allowed_role(role: &str, config: &Config) -> Result<String, Failure> {
    let is_operator = role == OPERATOR && Terminal::open().is_some();
    let allowed = config.roles.contains_key(role) || role == GUEST || is_operator;
    let known: Vec<&str> = config.roles.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("it names {}", known.join(", ")) };
    confirmed(allowed, &format!("role `{role}` is not in your configuration ({known})"))?;
    Ok(role.to_owned())
}

/// The circumstances of the calls of this command.
pub(crate) fn situation(arguments: &Arguments, config: &Config) -> Result<Arc<Situation>, Failure> {
    let allowed = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches_pattern(pattern, name));
    if let Some(workflow) = &arguments.workflow {
        let known = allowed(&config.situations.workflows, workflow);
        confirmed(known, &format!("workflow `{workflow}` fits none of `situations.workflows` in your configuration"))?;
    }
    if let Some(purpose) = &arguments.purpose {
        let known = allowed(&config.situations.purposes, purpose);
        confirmed(known, &format!("purpose `{purpose}` fits none of `situations.purposes` in your configuration"))?;
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
pub(crate) fn allow_grant(config: &Config, name: &str, wanted: &Grant) -> Result<(), Failure> {
    if !wanted.path.is_dir() {
        return Err(Failure::usage(format!("`{}` is no directory that could be granted", wanted.path.display())));
    }
    let covers = |grant: &Grant| {
        is_within(&wanted.path, &grant.path) && (wanted.mode == Access::ReadOnly || grant.mode == Access::ReadWrite)
    };
    let known = config.grants.values().any(covers);
    confirmed(known, &format!("the grant `{name}` of `{}` is within none of your configuration", wanted.path.display()))
}

fn confirmed(allowed: bool, what: &str) -> Result<(), Failure> {
    if allowed {
        return Ok(());
    }
    match Terminal::open().map(|terminal| terminal.confirm(&format!("{what}. Allow it for this command?"))) {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::denied(format!("{what}, and you said no"))),
        None => Err(Failure::denied(format!("{what}, and there is no terminal to ask at"))),
    }
}
