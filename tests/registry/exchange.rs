//! Do tools go to models elsewhere and come from them?

use crate::gateway::peer::Peer;
use crate::support::user::User;
use serde_json::{Value, json};

#[test]
fn each_form_has_the_tools_that_the_role_may_call() {
    let user = User::builder();
    let export = |format: &str, role: &str| {
        let args = ["tools", "export", "--format", format, "--role", role];
        user.run(&args).exits(0).json().as_array().unwrap().clone()
    };
    let openai = export("openai", "Builder");
    let read = openai.iter().find(|tool| tool["function"]["name"] == "file_read").unwrap();
    assert_eq!((&read["type"], &read["function"]["parameters"]["type"]), (&json!("function"), &json!("object")));
    let anthropic = export("anthropic", "Builder");
    let read = anthropic.iter().find(|tool| tool["name"] == "file_read").unwrap();
    assert_eq!(read["input_schema"]["required"], json!(["path"]));
    let names = |role: &str| -> Vec<Value> { export("mcp", role).iter().map(|tool| tool["name"].clone()).collect() };
    assert!(names("Builder").contains(&json!("file_write")));
    user.configure("[roles.Builder]\ndefault = true\n[roles.Nobody]\n");
    assert!(!names("Nobody").contains(&json!("file_write")), "what a role may not call it does not see");
}

#[test]
fn what_is_exported_for_mcp_is_what_is_served_there() {
    let user = User::builder();
    let exported = user.run(&["tools", "export", "--format", "mcp"]).exits(0).json();
    let mut peer = Peer::open(&user);
    let listed = peer.ask(json!(1), "tools/list", json!({}));
    assert_eq!(exported, listed["result"]["tools"]);
}

#[test]
fn an_imported_list_becomes_manifests_that_are_right() {
    let user = User::new();
    let list = json!([
        { "type": "function", "function": { "name": "add", "description": "Adds numbers", "parameters": {
            "type": "dict", "properties": { "numbers": { "type": "list", "items": { "type": "float" } }, "note": { "type": "any" } },
            "required": ["numbers"] } } },
        { "name": "now", "description": "Says the time" },
    ]);
    let file = user.write("list.json", list.to_string()).display().to_string();
    let imported = ["tools", "import", &file, "--adapter", "math", "--allow", "Builder", "--to", "../tools"];
    user.run(&imported).exits(0).says(&["`dict` is `object`", "`any` is any type"]);
    let report = user.run(&["tools", "check", "../tools"]).exits(0).json();
    assert_eq!(report["tools"], json!(["add 0.1.0", "now 0.1.0"]));
    user.run(&imported).exits(2).says(&["is there already"]);
    user.configure(&format!("tool_folders = [{:?}]\n[roles.Builder]\ndefault = true\n", user.path("tools")));
    let wrong = user.run(&["call", "add", "--args", r#"{"numbers": ["x"]}"#]);
    // Without its adapter the call ends there; the tool is known, and nobody learns more.
    assert_eq!(wrong.exits(4).kind(), "no_adapter");
    let exported = user.run(&["tools", "export", "--format", "openai"]).exits(0).json();
    let add = exported.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "add").unwrap();
    assert_eq!(add["function"]["parameters"]["properties"]["numbers"]["items"]["type"], "number");
}

#[test]
fn a_list_with_a_fault_writes_nothing_and_names_every_fault() {
    let user = User::new();
    let list = json!([
        { "name": "good", "description": "x" },
        { "name": "a b", "description": "x" },
        { "name": "c", "description": "x", "parameters": { "type": "dikt" } },
        { "name": "d" },
        { "name": "good", "description": "x" },
    ]);
    let file = user.write("list.json", list.to_string()).display().to_string();
    let ended = user.run(&["tools", "import", &file, "--adapter", "math", "--to", "../tools"]).exits(8);
    let said: Value = serde_json::from_str(&ended.err).unwrap();
    let faults: Vec<&str> =
        said["error"]["faults"].as_array().unwrap().iter().map(|fault| fault["message"].as_str().unwrap()).collect();
    for word in [
        "/2/parameters/type: `dikt` is no type; did you mean `dict`?",
        "/3: the function has no `description`",
        "the function `a b`",
        "the function `good`: it stands there twice",
    ] {
        assert!(faults.iter().any(|fault| fault.contains(word)), "no {word} in {faults:#?}");
    }
    assert!(!user.path("tools").exists());
}
