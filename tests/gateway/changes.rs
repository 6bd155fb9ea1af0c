//! Does a client hear that it should list anew? When servers say that their resources and prompts are others, and when a
//! folder of manifests changes; in both eras.

use super::peer::Peer;
use crate::support::house::project;
use crate::support::user::User;
use serde_json::{Value, json};

fn user() -> User {
    let user = User::new();
    let script = project().join("tests/peers/peer.py");
    let tools = user.path("tools");
    std::fs::create_dir_all(&tools).unwrap();
    user.configure(&format!(
        "tool_folders = [{tools:?}]\n[folders.{:?}]\npin = \"follow\"\n\
         [approval]\npark_wait_seconds = 0\n\
         [mcp.servers.peer]\nargv = [\"/usr/bin/python3\", {script:?}]\n",
        tools.display().to_string()
    ));
    user
}

/// Lets the server say that its lists are others.
fn change(user: &User, peer: &mut Peer, params: impl Fn(u64) -> Value) {
    let answer = peer.ask(json!(1), "tools/call", params(1));
    let Some(id) = answer["result"]["structuredContent"]["error"]["approval_id"].as_str() else {
        panic!("{answer:#}");
    };
    user.at_terminal(&["approvals", "approve", id], &[("[y/N]", "y\n")]).exits(0);
    let answer = peer.ask(json!(2), "tools/call", params(2));
    assert_eq!(answer["result"]["isError"], false, "{answer:#}");
}

/// Waits for some notifications, in whatever order they come.
fn hears(peer: &mut Peer, wanted: &[&str]) -> Vec<Value> {
    let mut left = wanted.to_vec();
    let mut heard = Vec::new();
    while !left.is_empty() {
        let message = peer.next();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if let Some(at) = left.iter().position(|wanted| *wanted == method) {
            left.remove(at);
            heard.push(message);
        }
    }
    heard
}

const RESOURCES: &str = "notifications/resources/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const TOOLS: &str = "notifications/tools/list_changed";

fn manifest(name: &str) -> String {
    format!(
        "[tool]\nname = {name:?}\nversion = \"1.0.0\"\ndescription = \"d\"\ncategory = \"file\"\n\
         [[tool.inputs]]\nname = \"path\"\ntype = \"string\"\nrequired = true\n\
         [tool.permissions]\nrequired_roles = [\"guest\"]\nrisk_level = \"low\"\nrequires_approval = true\n\
         [tool.effect]\nkind = \"read\"\n[tool.backend]\ntype = \"file\"\nadapter = \"FileAdapter\"\ntool = \"file_read\"\n"
    )
}

#[test]
fn a_client_of_the_older_era_is_told_of_each_kind_of_list() {
    let user = user();
    let mut peer = Peer::start(&user, &["run"]);
    let hello = peer.handshake();
    for kind in ["tools", "resources", "prompts"] {
        assert_eq!(hello["result"]["capabilities"][kind]["listChanged"], true, "{kind}: {hello}");
    }
    change(&user, &mut peer, |_| json!({ "name": "peer_change_lists", "arguments": {} }));
    hears(&mut peer, &[RESOURCES, PROMPTS]);
    user.write("tools/new.toml", manifest("another_read"));
    hears(&mut peer, &[TOOLS]);
}

#[test]
fn a_client_of_the_newer_era_hears_what_it_listens_for_and_nothing_else() {
    let user = user();
    let mut peer = Peer::start(&user, &["run"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let filter = json!({ "resourcesListChanged": true });
    peer.request(json!("l"), "subscriptions/listen", json!({ "notifications": filter, "_meta": meta }));
    let acknowledged = hears(&mut peer, &["notifications/subscriptions/acknowledged"]).remove(0);
    assert_eq!(acknowledged["params"]["notifications"], filter, "{acknowledged}");
    let params = |_| json!({ "name": "peer_change_lists", "arguments": {}, "_meta": meta });
    change(&user, &mut peer, params);
    let heard = hears(&mut peer, &[RESOURCES]).remove(0);
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l", "{heard}");
    user.write("tools/new.toml", manifest("another_read"));
    for number in 0..LISTENING {
        peer.request(
            json!(format!("m{number}")),
            "subscriptions/listen",
            json!({ "notifications": filter, "_meta": meta }),
        );
    }
    // One of them is too many, whichever came last.
    let refused = std::iter::from_fn(|| Some(peer.next())).find(|message| message.get("error").is_some()).unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    // The end of the input ends what listens, at once.
    let (rest, status) = peer.finish();
    assert!(status.success(), "{status}");
    let rest = serde_json::to_string(&rest).unwrap();
    assert!(!rest.contains(TOOLS) && !rest.contains(PROMPTS), "{rest}");
}

/// Requests that may listen at once.
const LISTENING: usize = 8;
