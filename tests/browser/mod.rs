//! Does the browser do what it is asked on real pages, and nothing else? Pages are served by the tests themselves on
//! this machine's own address, which the operator has to grant.

mod deadlines;
mod downloads;
mod lifetime;
mod limits;
mod outside;
mod pages;

use crate::support::house::{self, House};
use crate::support::server::Server;
use hermes_runtime::address::HostPattern;
use hermes_runtime::call::{Mode, Situation};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::{Call, Config, Runtime};
use serde_json::{Value, json};

use std::sync::Arc;
use std::time::Duration;

/// Starting a browser on a busy machine takes a while.
const WATCHDOG: Duration = Duration::from_secs(180);

/// A house whose browser may reach a server.
fn config(house: &House, servers: &[&Server]) -> Config {
    let mut config = house.config();
    for server in servers {
        config.browser.private_hosts.push(HostPattern::parse(&server.host()).unwrap());
    }
    config
}

/// A call within a workflow, so that what a test is refused on purpose makes nothing else ask a person.
fn call(tool: &str, args: Value) -> Call {
    let situation = Situation {
        workflow: Some("browse".into()),
        mode: Mode::Workflow,
        purpose: Some("test".into()),
        ..Situation::default()
    };
    house::call(tool, args).situation(Arc::new(situation))
}

fn session(call: Call, name: &str) -> Call {
    Call { session: name.into(), ..call }
}

/// Makes a call and wants it to go well.
async fn ok(runtime: &Runtime, tool: &str, args: Value) -> Value {
    let envelope = runtime.call(call(tool, args)).await.envelope;
    assert_eq!(envelope.code(), 200, "{tool}: {:#?}", envelope.error);
    envelope.data
}

/// Makes a call and wants it to fail.
async fn fails(runtime: &Runtime, tool: &str, args: Value, code: u16, reason: &str) -> Envelope {
    let envelope = runtime.call(call(tool, args)).await.envelope;
    let error = envelope.error.as_ref().unwrap_or_else(|| panic!("{tool} went well: {:#}", envelope.data));
    assert_eq!((error.code, error.reason.as_deref()), (code, Some(reason)), "{tool}: {error:#?}");
    envelope
}

/// The reference in the line of a snapshot that has a text.
pub(crate) fn reference(snapshot: &Value, text: &str) -> String {
    let lines = snapshot["text"].as_str().unwrap();
    let line = lines.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no `{text}` in\n{lines}"));
    let at = line.rfind("[d").unwrap_or_else(|| panic!("no reference in `{line}`"));
    line[at + 1..].trim_end_matches(']').to_owned()
}

fn empty() -> Value {
    json!({})
}
