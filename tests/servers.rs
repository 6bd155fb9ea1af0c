//! What becomes of a call when the server behind its tool does what no server should? A scripted server dies, lies,
//! floods and keeps silent; every call ends with an answer of its own, and the next one works.

mod answers;
mod deaths;
mod lists;
mod sandbox;
mod settings;

use crate::support::house::{self, House, project};
use hermes_runtime::call::{Mode, Situation};
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::{Call, Envelope, Runtime};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A runtime with scripted servers, and the folder where they note what they did.
struct Peers {
    runtime: Arc<Runtime>,
    house: House,
}

/// The settings of servers, by name, each with the words that say what it does and further settings.
fn config(house: &House, servers: &[(&str, &str, &str)]) -> Config {
    let peer = project().join("tests/peers/peer.py");
    let mut text = String::new();
    for (name, words, more) in servers {
        let notes = house.path("outside").join(name);
        std::fs::create_dir_all(&notes).unwrap();
        let mut argv = vec!["/usr/bin/python3".to_owned(), peer.to_string_lossy().into_owned()];
        argv.extend(words.split_whitespace().map(str::to_owned));
        text.push_str(&format!(
            "[mcp.servers.{name}]\nargv = {argv:?}\nenv = {{ PEER_DIR = {notes:?} }}\n\
             sandbox.write = [{notes:?}]\nroles = [\"Builder\"]\n{more}\n"
        ));
    }
    let origin = Origin::User(house.path("config.toml"));
    Config::load(house.config(), &[Source { origin, text, trusted: true }]).unwrap().config
}

impl Peers {
    fn start(servers: &[(&str, &str, &str)]) -> Peers {
        let peers = Peers::start_with_faults(servers, |_| {});
        let faults = &peers.runtime.toolbox().faults;
        assert!(faults.is_empty(), "{faults:#?}");
        peers
    }

    /// The same where something may be wrong with what servers offer.
    fn start_with_faults(servers: &[(&str, &str, &str)], change: impl FnOnce(&mut Config)) -> Peers {
        let house = House::with_files();
        let mut config = config(&house, servers);
        change(&mut config);
        let runtime = Arc::new(Runtime::start(config, &[], None).unwrap());
        Peers { runtime, house }
    }

    async fn call(&self, tool: &str, args: Value) -> Envelope {
        self.runtime.call(call(tool, args)).await.envelope
    }

    /// Makes a call and wants it to go well.
    async fn ok(&self, tool: &str, args: Value) -> Value {
        let envelope = self.call(tool, args).await;
        assert_eq!(envelope.code(), 200, "{tool}: {:#?}", envelope.error);
        envelope.data
    }

    /// Makes a call and wants it to fail so.
    async fn fails(&self, tool: &str, args: Value, code: u16, reason: &str) -> Envelope {
        let envelope = self.call(tool, args).await;
        let error = envelope.error.as_ref().unwrap_or_else(|| panic!("{tool} went well: {:#}", envelope.data));
        assert_eq!((error.code, error.reason.as_deref().unwrap_or("")), (code, reason), "{tool}: {error:#?}");
        envelope
    }

    /// Calls until the server is there again. Each call meanwhile fails with a reason; none waits for ever.
    async fn recovers(&self, server: &str) {
        for _ in 0..200 {
            let envelope = self.call(&format!("{server}_echo"), json!({ "text": "again" })).await;
            match &envelope.error {
                None => return assert_eq!(envelope.data["text"], "again"),
                Some(error) => assert!(matches!(error.code, 502 | 503), "{error:#?}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the server `{server}` is not reached any more");
    }

    /// What a server has noted, line by line.
    fn notes(&self, server: &str, what: &str) -> Vec<String> {
        notes(&self.house.path("outside").join(server).join(what))
    }
}

fn notes(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A call within a workflow, so that what a test is refused on purpose makes nothing else ask a person.
fn call(tool: &str, args: Value) -> Call {
    let situation = Situation {
        workflow: Some("test".into()),
        mode: Mode::Workflow,
        purpose: Some("test".into()),
        ..Situation::default()
    };
    house::call(tool, args).situation(Arc::new(situation))
}

fn none() -> Value {
    json!({})
}
