//! What does a person see? Every text of a request made printable, whole, and escaped by the templates. Pure; must not
//! decide anything.

use askama::Template;
use hermes_runtime::document::printable;
use hermes_runtime::permission::approval::store::{Parked, Scope, State};

/// Largest request that a page shows, in bytes. A larger one cannot be approved here, only denied.
const SHOWN: usize = 4 << 20;

/// What is around every page of somebody who is let in.
pub(super) struct Around {
    pub(super) operator: String,
    /// What the forms of the page have in them.
    pub(super) mark: String,
}

/// The form for the token.
#[derive(Template)]
#[template(path = "login.html")]
pub(super) struct Login {
    pub(super) why: &'static str,
}

/// One sentence.
#[derive(Template)]
#[template(path = "said.html")]
pub(super) struct Said {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

/// What waits, and what was decided lately.
#[derive(Template)]
#[template(path = "list.html")]
pub(super) struct List {
    around: Around,
    waiting: Vec<Line>,
    decided: Vec<Line>,
}

/// One request in a list.
struct Line {
    id: String,
    tool: String,
    caller: String,
    targets: String,
    risk: u8,
    state: String,
}

impl List {
    pub(super) fn new(around: Around, waiting: &[Parked], all: &[Parked], decided: usize, now: u64) -> List {
        let line = |parked: &Parked| Line {
            id: parked.id.clone(),
            tool: printable(&parked.request.tool),
            caller: format!("{} as {}", printable(&parked.request.caller), printable(&parked.request.role)),
            targets: printable(&parked.request.targets.join(", ")),
            risk: parked.request.risk,
            state: state(parked, now),
        };
        let past = all.iter().rev().filter(|parked| parked.state_at(now) != State::Pending);
        List { around, waiting: waiting.iter().map(line).collect(), decided: past.take(decided).map(line).collect() }
    }
}

/// One request, whole.
#[derive(Template)]
#[template(path = "request.html")]
pub(super) struct Whole {
    around: Around,
    note: String,
    id: String,
    tool: String,
    facts: Vec<(&'static str, String)>,
    effect: Vec<String>,
    args: String,
    risk: u8,
    factors: Vec<String>,
    similar: Vec<String>,
    state: String,
    waits: bool,
    may_approve: bool,
    may_take_back: bool,
}

impl Whole {
    pub(super) fn new(around: Around, parked: &Parked, note: &str, now: u64) -> Whole {
        let request = &parked.request;
        let is = parked.state_at(now);
        let whole = is_shown_whole(parked);
        let note = match (note.is_empty(), whole) {
            (true, false) => "this request is too large to be shown here, so it cannot be approved here",
            _ => note,
        };
        let lines = |texts: &[String]| texts.iter().map(|text| printable_lines(text)).collect();
        Whole {
            around,
            note: note.to_owned(),
            id: parked.id.clone(),
            tool: printable(&request.tool),
            facts: vec![
                ("does", printable_lines(&request.description)),
                ("caller", format!("{} as {}", printable(&request.caller), printable(&request.role))),
                ("situation", printable(&request.situation)),
                ("session", printable(&parked.session)),
                ("targets", printable(&request.targets.join(", "))),
                ("why asked", printable_lines(&request.why)),
            ],
            effect: lines(&request.effect),
            args: if whole { pretty(&request.args) } else { String::new() },
            risk: request.risk,
            factors: lines(&request.factors),
            similar: lines(&request.similar),
            state: state(parked, now),
            waits: is == State::Pending,
            may_approve: whole,
            may_take_back: matches!(is, State::Approved | State::Denied),
        }
    }
}

/// Whether a page shows all of a request. A channel that cannot must not say yes.
pub(super) fn is_shown_whole(parked: &Parked) -> bool {
    let request = &parked.request;
    let effect: usize = request.effect.iter().map(String::len).sum();
    request.args.len() + effect <= SHOWN
}

fn state(parked: &Parked, now: u64) -> String {
    let is = parked.state_at(now);
    let left = |until: u64| match until.saturating_sub(now) / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    };
    if is == State::Pending {
        return format!("{} left", left(parked.expires_ms));
    }
    let by = parked.decided_by.as_ref().map(|by| format!(" by {}", printable(by))).unwrap_or_default();
    let scope = match (is, parked.scope) {
        (State::Approved, Some(Scope::Session)) => " for its session".to_owned(),
        (State::Approved, Some(Scope::Until(until))) => format!(" for {} more", left(until)),
        _ => String::new(),
    };
    let reason = parked.reason.as_ref().map(|reason| format!(": {}", printable(reason))).unwrap_or_default();
    format!("{}{scope}{by}{reason}", is.name())
}

/// Arguments as a person reads them; what JSON leaves as it is but a screen obeys is made visible.
fn pretty(args: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(args);
    let text = value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| args.to_owned());
    printable_lines(&text)
}

fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}
