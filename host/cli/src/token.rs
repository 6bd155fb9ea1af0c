//! Which agents may speak to `serve`, and for whom? Which people decide without a terminal? Each shows a token, of which
//! only the digest is kept; what it stands for was decided by the person who made it.

use crate::args::{Arguments, Format, TokenCommand};
use crate::failure::Failure;
use crate::person::Person;
use crate::setup::{self, Folders};
use crate::{identity, output};
use hermes_gateway::{Identity, Set};
use hermes_runtime::call::{Caller, Digest, Mode, Situation};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a token begins with, so that whoever finds one knows what it is.
const PREFIX: &str = "hermes_";
/// What a person's begins with.
const OPERATOR_PREFIX: &str = "hermes_operator_";
/// Random bytes of a token.
const RANDOM: usize = 32;
/// Longest name.
const NAME: usize = 64;

/// The tokens that were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    /// Of agents.
    #[serde(default)]
    pub(crate) token: Vec<Token>,
    /// Of people who decide. None of them calls a tool, and no agent's decides.
    #[serde(default)]
    pub(crate) operator: Vec<Operator>,
}

/// One person's token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operator {
    /// Whose it is.
    pub(crate) name: String,
    /// The digest of its text.
    pub(crate) digest: Digest,
    /// When it was made.
    pub(crate) made: String,
}

/// One token and what it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    /// Whom it is for.
    pub(crate) name: String,
    /// The digest of its text.
    pub(crate) digest: Digest,
    /// When it was made.
    pub(crate) made: String,
    pub(crate) role: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) workflow: Option<String>,
    #[serde(default)]
    pub(crate) mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) purpose: Option<String>,
}

impl Tokens {
    fn names(&self) -> impl Iterator<Item = &str> {
        let operators = self.operator.iter().map(|operator| operator.name.as_str());
        self.token.iter().map(|token| token.name.as_str()).chain(operators)
    }
}

/// The operator whose token has this digest.
pub(crate) fn operator(state: &Path, digest: &Digest) -> Result<Option<Operator>, Failure> {
    Ok(read(state)?.operator.into_iter().find(|operator| operator.digest == *digest))
}

impl Token {
    /// For whom and in which circumstances its calls are made.
    pub(crate) fn identity(&self, set: Set) -> Identity {
        let caller = Caller { id: format!("token:{}", self.name), role: self.role.clone() };
        let situation =
            Situation { workflow: self.workflow.clone(), mode: self.mode, purpose: self.purpose.clone(), task: None };
        Identity { caller: Arc::new(caller), situation: Arc::new(situation), set }
    }
}

pub(crate) fn run(arguments: &Arguments, command: &TokenCommand) -> Result<u8, Failure> {
    let state = Folders::of_this_user()?.state;
    match command {
        TokenCommand::Add { name, operator } => add(arguments, &state, (name.as_str(), *operator)),
        TokenCommand::List => {
            list(&read(&state)?, arguments.output.format());
            Ok(0)
        }
        TokenCommand::Revoke { name } => revoke(&state, name),
    }
}

fn add(arguments: &Arguments, state: &Path, (name, operator): (&str, bool)) -> Result<u8, Failure> {
    let is_name =
        (1..=NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !is_name {
        return Err(Failure::usage(format!("a token's name is 1 to {NAME} of a-z, A-Z, 0-9, `-`, `_` and `.`")));
    }
    Person::present(arguments)?.ok_or_else(|| Failure::denied("making a token needs a person at a terminal"))?;
    let mut tokens = read(state)?;
    if tokens.names().any(|known| known == name) {
        return Err(Failure::usage(format!("there is a token for `{name}` already; revoke it first")));
    }
    let text = random(if operator { OPERATOR_PREFIX } else { PREFIX })?;
    let digest = Digest::of(text.as_bytes());
    let made = jiff::Timestamp::now().strftime("%FT%TZ").to_string();
    if operator {
        tokens.operator.push(Operator { name: name.to_owned(), digest, made });
        write(state, &tokens)?;
        output::line(&text);
        output::warn(
            "this is the only time that the token is shown; it signs in at the approval page of `serve`, and commands \
             that decide take it from --operator-token-file or $HERMES_OPERATOR_TOKEN. Keep it from agents",
        );
        return Ok(0);
    }
    let config = setup::load(arguments)?.loaded.config;
    let role = identity::role_of_token(arguments, &config)?;
    let situation = identity::situation(arguments, &config)?;
    tokens.token.push(Token {
        name: name.to_owned(),
        digest,
        made,
        role,
        workflow: situation.workflow.clone(),
        mode: situation.mode,
        purpose: situation.purpose.clone(),
    });
    write(state, &tokens)?;
    output::line(&text);
    output::warn("this is the only time that the token is shown; the client sends it as `Authorization: Bearer …`");
    Ok(0)
}

fn list(tokens: &Tokens, format: Format) {
    let shown = |token: &Token| {
        json!({
            "name": token.name, "made": token.made, "role": token.role, "workflow": token.workflow, "mode": token.mode,
            "purpose": token.purpose,
        })
    };
    let operators = tokens
        .operator
        .iter()
        .map(|operator| json!({ "name": operator.name, "made": operator.made, "operator": true }));
    let all: Vec<_> = tokens.token.iter().map(shown).chain(operators).collect();
    match format {
        Format::Json => output::document(&all, format),
        Format::Ndjson => all.iter().for_each(|token| output::document(token, format)),
        Format::Text => {
            for operator in &tokens.operator {
                output::line(&format!("{:<24} {:<16} made {}", operator.name, "(decides)", operator.made));
            }
            for token in &tokens.token {
                let workflow =
                    token.workflow.as_ref().map(|workflow| format!("  workflow {workflow}")).unwrap_or_default();
                output::line(&format!("{:<24} {:<16} made {}{workflow}", token.name, token.role, token.made));
            }
        }
    }
}

fn revoke(state: &Path, name: &str) -> Result<u8, Failure> {
    let mut tokens = read(state)?;
    let before = tokens.names().count();
    tokens.token.retain(|token| token.name != name);
    tokens.operator.retain(|operator| operator.name != name);
    if tokens.names().count() == before {
        return Err(Failure::unknown(format!("there is no token for `{name}`")));
    }
    write(state, &tokens)?;
    output::line(&format!("the token for `{name}` counts no more"));
    Ok(0)
}

fn random(prefix: &str) -> Result<String, Failure> {
    let mut bytes = [0; RANDOM];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match read {
        Ok(RANDOM) => Ok(format!("{prefix}{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
        _ => Err(Failure::internal("the system gives no random bytes")),
    }
}

/// Where the tokens of this user are.
pub(crate) fn file(state: &Path) -> PathBuf {
    state.join("tokens.toml")
}

/// The tokens that count now.
pub(crate) fn read(state: &Path) -> Result<Tokens, Failure> {
    match std::fs::read_to_string(file(state)) {
        Ok(text) => hermes_runtime::document::from_toml(&file(state), &text)
            .map_err(|fault| Failure { faults: vec![fault], ..Failure::usage("the list of tokens is damaged") }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Tokens::default()),
        Err(error) => Err(Failure::usage(format!("`{}` cannot be read: {error}", file(state).display()))),
    }
}

fn write(state: &Path, tokens: &Tokens) -> Result<(), Failure> {
    let text = toml::to_string(tokens).map_err(|error| Failure::internal(error.to_string()))?;
    let partial = state.join(format!("tokens.toml.{}", std::process::id()));
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
