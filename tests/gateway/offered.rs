//! What do connected servers offer besides tools, and the runtime itself? All of it through calls that stand in the
//! journal, for those roles that may.

use super::peer::{self, Peer};
use crate::support::house::project;
use crate::support::user::User;
use serde_json::{Value, json};

fn user(role: &str) -> User {
    let user = User::new();
    let script = project().join("tests/peers/peer.py");
    user.configure(&format!(
        "[roles.Builder]\ndefault = true\n[roles.Reviewer]\n\
         [mcp.servers.peer]\nargv = [\"/usr/bin/python3\", {script:?}]\nroles = [{role:?}]\n"
    ));
    user
}

#[test]
fn resources_prompts_and_completion_of_a_server_are_offered_on_and_written_down() {
    let user = user("Builder");
    let mut peer = Peer::open(&user);
    let mut result = |method: &str, params: Value| {
        let answer = peer.ask(json!(method), method, params);
        assert!(answer["error"].is_null(), "{method}: {answer:#}");
        answer["result"].clone()
    };
    assert_eq!(result("resources/list", json!({}))["resources"][0]["uri"], "memo://a");
    let read = result("resources/read", json!({ "uri": "memo://a" }));
    assert_eq!(read["contents"][0]["text"], "content of memo://a", "{read:#}");
    assert_eq!(result("prompts/list", json!({}))["prompts"][0]["name"], "peer_greet");
    let prompt = result("prompts/get", json!({ "name": "peer_greet", "arguments": { "who": "Ada" } }));
    assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada", "{prompt:#}");
    let wanted =
        json!({ "ref": { "type": "ref/prompt", "name": "peer_greet" }, "argument": { "name": "who", "value": "A" } });
    let completed = result("completion/complete", wanted);
    assert_eq!(completed["completion"]["values"], json!(["Ada", "Alan"]), "{completed:#}");
    drop(peer);
    let records = peer::records(&user);
    let outcomes = records.iter().filter(|record| record["record"]["code"] == 200).count();
    assert!(outcomes >= 5, "each is a call: {records:#?}");
}

#[test]
fn to_another_role_a_server_offers_nothing() {
    let user = user("Reviewer");
    let mut peer = Peer::start(&user, &["run"]);
    let hello = peer.handshake();
    assert!(hello["result"]["capabilities"]["resources"].is_null(), "{hello}");
    assert_eq!(peer.ask(json!(1), "resources/list", json!({}))["result"]["resources"], json!([]));
    assert!(peer.ask(json!(2), "resources/read", json!({ "uri": "memo://a" }))["error"].is_object());
    assert!(peer.ask(json!(3), "prompts/get", json!({ "name": "peer_greet" }))["error"].is_object());
}

#[test]
fn the_runtimes_own_tools_are_served() {
    let mut peer = Peer::open(&User::new());
    let listed = peer.ask(json!(1), "tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for own in ["approval_status", "result_read", "set_task", "tool_describe", "working_memory"] {
        assert!(names.contains(&own), "{own} is not in {names:?}");
    }
    peer.call(2, "set_task", json!({ "task": "count the lines" }));
    assert_eq!(peer.answer(2)["result"]["isError"], false);
    peer.call(3, "working_memory", json!({}));
    let memory = peer.answer(3);
    assert!(memory.to_string().contains("count the lines"), "{memory:#}");
}
