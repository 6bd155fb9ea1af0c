//! What may stand in a scenario? The file as its author wrote it; unknown keys are refused. Must not run anything.

use crate::support::guest::Guest;
use crate::support::people::Person;
use serde::Deserialize;

/// One fault and what the runtime makes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// What goes wrong elsewhere, in one or two sentences.
    pub(super) description: String,
    /// Whether it has to run as a user whom the system refuses things.
    #[serde(default)]
    pub(super) unprivileged: bool,
    /// What is there before the first call, in order. Paths begin with `workspace/` or `outside/`.
    #[serde(default)]
    pub(super) setup: Vec<Thing>,
    /// The user's configuration file. Paths in it are relative to the house.
    #[serde(default)]
    pub(super) configuration: toml::Table,
    /// The caller's role.
    #[serde(default = "builder")]
    pub(super) role: String,
    /// The circumstances of all calls.
    #[serde(default)]
    pub(super) situation: Situation,
    /// Who can be asked.
    #[serde(default)]
    pub(super) approver: Person,
    /// How often they are asked, in all.
    #[serde(default)]
    pub(super) asked: usize,
    /// Pages that are served on this machine. `$pages` in the scenario stands for the server's host and port.
    #[serde(default)]
    pub(super) pages: Vec<Page>,
    /// Components of its own, each with a tool of its name.
    #[serde(default)]
    pub(super) guests: Vec<Guest>,
    /// What a fault of loading says, one for each.
    #[serde(default)]
    pub(super) faults: Vec<String>,
    /// The calls, in order.
    pub(super) calls: Vec<Step>,
    /// All that is made, changed or removed.
    #[serde(default)]
    pub(super) changed: Vec<String>,
    /// What is there afterwards.
    #[serde(default)]
    pub(super) after: Vec<After>,
}

/// One page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    pub(super) path: String,
    pub(super) body: String,
}

fn builder() -> String {
    "Builder".into()
}

/// The circumstances of calls.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Situation {
    pub(super) workflow: Option<String>,
    pub(super) purpose: Option<String>,
    pub(super) mode: hermes_runtime::call::Mode,
}

/// One thing of the set-up: just one of `file`, `directory`, `link`, `hard_link`, `fifo` and `socket` names it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Thing {
    pub(super) file: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) link: Option<String>,
    pub(super) hard_link: Option<String>,
    pub(super) fifo: Option<String>,
    pub(super) socket: Option<String>,
    /// Where a link leads: as it stands in it, or for a hard link a path in the house.
    pub(super) to: Option<String>,
    /// Text of a file.
    pub(super) content: Option<String>,
    /// Bytes of a file.
    pub(super) bytes: Option<Vec<u8>>,
    /// How often the content stands there.
    pub(super) times: Option<usize>,
    /// Size of a file that has a hole before its content.
    pub(super) size: Option<u64>,
    /// Mode bits, set at the end.
    pub(super) mode: Option<u32>,
}

/// One call, or several that are the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) tool: String,
    /// The arguments. A text `$answer /0/data/digest` stands for that part of an earlier answer.
    pub(super) args: Option<toml::Table>,
    /// The arguments as the text that arrives, instead of `args`.
    pub(super) json: Option<String>,
    /// Another role for this call.
    pub(super) role: Option<String>,
    /// How often it is made, all at the same time.
    #[serde(default = "once")]
    pub(super) times: usize,
    /// What every answer has.
    pub(super) expect: toml::Table,
    /// The steps in the outcome's record, as `step verdict reason`.
    pub(super) steps: Option<Vec<String>>,
    /// What the outcome's record has besides.
    #[serde(default)]
    pub(super) record: toml::Table,
    /// Whether an intent was written before.
    pub(super) intent: Option<bool>,
}

fn once() -> usize {
    1
}

/// What is there in the end: one of `file` and `absent` names it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct After {
    pub(super) file: Option<String>,
    pub(super) absent: Option<String>,
    pub(super) content: Option<String>,
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) mode: Option<u32>,
}

/// Reads a scenario.
pub(super) fn parse(name: &str, text: &str) -> Scenario {
    let scenario: Scenario = toml::from_str(text).unwrap_or_else(|error| panic!("scenario `{name}`: {error}"));
    assert!(!scenario.description.trim().is_empty(), "scenario `{name}` does not say which fault it is about");
    assert!(!scenario.calls.is_empty(), "scenario `{name}` calls nothing");
    scenario
}
