//! What may a person and a client say about a session? A person sets its circumstances; a client offers the folder that the
//! agent works in; servers of other clients' files come into the configuration.

use super::peer::{self, Peer};
use crate::support::user::User;
use serde_json::{Value, json};

#[test]
fn a_person_sets_the_circumstances_of_a_session_that_runs() {
    let user = peer::builder();
    let plugins = user.path("plugins");
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\n[roles.Builder]\ndefault = true\n[situations]\nworkflows = [\"ship_*\"]\npurposes = [\"*\"]\n"
    ));
    let mut peer = Peer::open(&user);
    peer.call(1, "probe", json!({}));
    peer.answer(1);
    // What only reads is on disk a moment after its answer.
    let (known, session) = loop {
        let known = user.run(&["session", "show"]).exits(0).json();
        match known[0]["session"].as_str().map(str::to_owned) {
            Some(session) => break (known, session),
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    assert!(session.starts_with("stdio:") && known[0]["set"].is_null(), "{known}");
    let set = ["session", "set", &session, "--workflow", "ship_it", "--purpose", "release"];
    user.run(&set).exits(6);
    user.at_terminal(&["session", "set", &session], &[]).exits(2);
    user.at_terminal(&set, &[]).exits(0);
    peer.call(2, "probe", json!({}));
    peer.answer(2);
    // What only reads is on disk a moment after its answer.
    let situation = |user: &User, calls: usize| loop {
        let records = peer::records(user);
        if records.len() >= calls {
            break records.last().unwrap()["record"]["situation"].clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(situation(&user, 2), json!({ "workflow": "ship_it", "mode": "workflow", "purpose": "release" }));
    let known = user.run(&["session", "show", &session]).exits(0).json();
    assert_eq!(known[0]["set"]["workflow"], "ship_it", "{known}");
    user.at_terminal(&["session", "set", &session, "--clear"], &[]).exits(0);
    peer.call(3, "probe", json!({}));
    peer.answer(3);
    assert_eq!(situation(&user, 3)["workflow"], Value::Null);
}

/// A session whose client offers roots, and what it answers when it is asked for them.
fn open(user: &User, words: &[&str], roots: &[&str]) -> (Peer, bool) {
    let mut peer = Peer::start(user, &[&["run"][..], words].concat());
    let client = json!({ "name": "test", "version": "1" });
    let can = json!({ "roots": {} });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": client });
    peer.ask(json!("handshake"), "initialize", params);
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    peer.request(json!("after"), "ping", json!({}));
    // What the runtime asks comes before it answers anything that needs to know the folder.
    peer.call(1, "file_read", json!({ "path": "a.txt" }));
    loop {
        let message = peer.next();
        if message["method"] == "roots/list" {
            let roots: Vec<Value> = roots.iter().map(|root| json!({ "uri": root })).collect();
            peer.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": roots } }));
            return (peer, true);
        }
        if message["id"] == 1 {
            // Kept for whoever waits for it.
            peer.keep(message);
            return (peer, false);
        }
    }
}

fn text(peer: &mut Peer) -> Value {
    peer.answer(1)["result"]["structuredContent"]["text"].clone()
}

#[test]
fn the_workspace_is_the_one_root_that_the_client_offers() {
    let user = peer::builder();
    user.write("workspace/a.txt", "of the current folder\n");
    user.write("outside/project/a.txt", "of the root\n");
    let root = format!("file://{}", user.path("outside/project").display());
    let here = json!("of the current folder\n");
    let (mut peer, asked) = open(&user, &[], &[&root]);
    assert_eq!((asked, text(&mut peer)), (true, json!("of the root\n")));
    let (mut peer, asked) = open(&user, &[], &[&root, "file:///tmp/other"]);
    assert_eq!((asked, text(&mut peer)), (true, here.clone()), "of two roots none is meant");
    for root in ["file:///", "https://example.com/", "file:///nowhere/at/all"] {
        let (mut peer, _) = open(&user, &[], &[root]);
        assert_eq!(text(&mut peer), here, "{root}");
    }
    let workspace = user.path("workspace");
    let (mut peer, asked) = open(&user, &["--workspace", workspace.to_str().unwrap()], &[&root]);
    assert_eq!((asked, text(&mut peer)), (false, here), "what the operator names counts");
}

#[test]
fn servers_of_a_clients_file_are_taken_over_after_a_person_saw_them() {
    let user = User::new();
    let config = user.configure("# mine\n[roles.Builder]\n");
    let file = user.write(
        "outside/mcp.json",
        "{\n  // theirs\n  \"mcpServers\": { \"Notes\": { \"command\": \"/bin/notes\", \"args\": [\"--stdio\"], \"env\": { \"KEY\": \"${NOTES_KEY}\" } } }\n}\n",
    );
    let import = ["servers", "import", file.to_str().unwrap()];
    let text = || std::fs::read_to_string(&config).unwrap();
    let before = text();
    let shown = user.run(&[&import[..], &["--print"]].concat()).exits(0);
    assert!(shown.out.contains("+ [mcp.servers.notes]") && shown.out.contains("/bin/notes"), "{}", shown.out);
    assert!(shown.out.contains("server `notes`: it cannot be started: `/bin/notes`"), "{}", shown.out);
    user.run(&import).exits(6);
    user.at_terminal(&import, &[("[y/N]", "n\n")]).exits(6);
    assert_eq!(text(), before);
    user.at_terminal(&import, &[("[y/N]", "y\n")]).exits(0);
    assert!(text().starts_with("# mine\n[roles.Builder]\n"), "{}", text());
    let settings: toml::Table = text().parse().unwrap();
    let server = &settings["mcp"]["servers"]["notes"];
    assert_eq!(server["argv"].as_array().unwrap().len(), 2);
    assert_eq!(server["env"]["KEY"]["variable"].as_str(), Some("NOTES_KEY"));
    user.at_terminal(&import, &[]).exits(0);
    user.write("outside/mcp.json", "{\"mcpServers\":{\"notes\":{\"command\":\"/bin/other\"}}}");
    user.at_terminal(&import, &[]).exits(2);
}

#[test]
fn what_a_server_will_see_is_said_before_it_is_taken_over_and_by_doctor() {
    let user = User::new();
    let script = user.write("servers/package/dist/serve.py", "");
    user.write("servers/package/pyproject.toml", "");
    let (package, home) = (user.path("servers/package"), user.path(""));
    let file = user.write(
        "outside/mcp.json",
        json!({ "mcpServers": { "notes": { "command": "/usr/bin/env", "args": ["python3", script, home] } } })
            .to_string(),
    );
    let shown = user.run(&["servers", "import", file.to_str().unwrap(), "--print"]).exits(0).out;
    let seen = format!("server `notes`: sees {}", package.display());
    for words in [seen.as_str(), "; does not see ", "; no network", "[mcp.servers.NAME.sandbox]"] {
        assert!(shown.contains(words), "{words} is not in {shown}");
    }
    user.at_terminal(&["servers", "import", file.to_str().unwrap()], &[("[y/N]", "y\n")]).exits(0);
    let said = user.run(&["doctor", "--output", "text"]).out;
    let line = said.lines().find(|line| line.contains("notes: sees")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.starts_with("ok    server") && line.contains("no network"), "{line}");
    let listed = user.run(&["config", "show"]).exits(0).json();
    assert_eq!(listed["mcp.servers.notes.sandbox.network"], false, "{listed:#}");
}

#[test]
fn clients_are_told_when_there_are_other_tools() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    let names = |listed: Value| -> Vec<String> {
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(peer.ask(json!(1), "tools/list", json!({}))).contains(&"more".to_owned()));
    let tools = user.path("plugins/probe/tools");
    let text = std::fs::read_to_string(tools.join("tool.toml")).unwrap();
    // Written elsewhere first: a folder is never read half.
    user.write("outside/more.toml", text.replacen("name = \"probe\"", "name = \"more\"", 1));
    std::fs::rename(user.path("outside/more.toml"), tools.join("more.toml")).unwrap();
    while peer.next()["method"] != "notifications/tools/list_changed" {}
    assert!(names(peer.ask(json!(2), "tools/list", json!({}))).contains(&"more".to_owned()));
    peer.call(3, "more", json!({}));
    assert_eq!(peer.answer(3)["result"]["isError"], false);
}
