//! What does a server of others do to the runtime? Each fault that one can have, from a scripted one: it dies, answers
//! wrongly, says too much or nothing, offers what cannot be read. The call fails by its name, and the next one works.

use crate::support::house::{House, call, project};
use crate::support::{block_on, block_on_within};
use hermes_runtime::Runtime;
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Kind;
use serde_json::{Value, json};
use std::time::Duration;

/// A server whose command line has these words, with further settings.
fn server(house: &House, name: &str, words: &str, settings: &str) -> String {
    let peer = project().join("tests/peers/peer.py");
    let words: Vec<String> = words.split_whitespace().map(|word| format!("{word:?}")).collect();
    let (argv, notes) = (format!("[\"/usr/bin/python3\", {peer:?}, {}]", words.join(", ")), house.path("outside"));
    format!("[mcp.servers.{name}]\nargv = {argv}\nroles = [\"Builder\"]\nenv.PEER_DIR = {notes:?}\n{settings}\n")
}

fn config(house: &House, text: &str) -> Config {
    let origin = Origin::User(house.path("config.toml"));
    Config::load(house.config(), &[Source { origin, text: text.to_owned(), trusted: true }]).unwrap().config
}

/// One server with these words.
fn started(words: &str) -> (House, Runtime) {
    let house = House::with_files();
    let runtime = house.start(config(&house, &server(&house, "peer", words, "")));
    (house, runtime)
}

async fn asks(runtime: &Runtime, tool: &str, args: Value) -> Envelope {
    runtime.call(call(&format!("peer_{tool}"), args)).await.envelope
}

/// What the call came to: `ok`, or its kind and reason.
fn outcome(answer: &Envelope) -> String {
    match &answer.error {
        None => "ok".to_owned(),
        Some(error) => format!("{} {}", error.kind.name(), error.reason.as_deref().unwrap_or("-")),
    }
}

/// The lines that the servers of a house noted.
fn notes(house: &House, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(house.path("outside").join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for something that nobody announces.
async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn each_fault_of_a_server_fails_its_own_call_and_no_other() {
    let (_house, runtime) = started("");
    block_on_within(Duration::from_secs(180), async {
        for (tool, expected) in [
            ("die", "upstream connection_lost"),
            ("half", "upstream connection_lost"),
            ("effect_then_die", "upstream connection_lost"),
            ("twice", "ok"),
            ("garbage", "ok"),
            ("huge", "too_large too_large"),
            ("endless_line", "too_large too_large"),
            ("big", "output_limit -"),
            ("deep", "upstream not_nested_so_deep"),
            ("surrogates", "ok"),
            ("not_an_object", "upstream protocol_error"),
            ("input_required", "denied input_required"),
            ("refuse", "upstream refused"),
            ("error_text", "tool_failed reported_error"),
            ("error_structured", "tool_failed reported_error"),
            ("error_empty", "tool_failed reported_error"),
            ("no_error", "ok"),
            ("array", "ok"),
            ("blocks", "ok"),
        ] {
            let answer = asks(&runtime, tool, json!({})).await;
            assert_eq!(outcome(&answer), expected, "{tool}: {:?}", answer.error);
            let after = asks(&runtime, "echo", json!({ "text": tool })).await;
            assert_eq!(after.data["text"], tool, "after {tool}: {:?}", after.error);
        }
    });
}

#[test]
fn what_is_said_with_an_error_is_kept() {
    let (_house, runtime) = started("");
    block_on(async {
        assert_eq!(asks(&runtime, "error_text", json!({})).await.data, "it broke");
        let structured = asks(&runtime, "error_structured", json!({})).await;
        assert_eq!(structured.data, json!({ "code": "RATE_LIMITED", "retry_after": 30 }));
        assert!(!structured.error.unwrap().retryable);
        let text = asks(&runtime, "surrogates", json!({})).await.data;
        assert_eq!(text, "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d\0e\u{fffe}");
        let blocks = asks(&runtime, "blocks", json!({})).await;
        let kinds: Vec<&Value> = blocks.data["content"].as_array().unwrap().iter().map(|part| &part["type"]).collect();
        assert_eq!(kinds, ["text", "link", "json", "json"]);
    });
}

#[test]
fn an_answer_with_another_id_is_nobodys_and_the_wait_ends() {
    let house = House::with_files();
    let text = server(&house, "peer", "", "") + "[ceiling]\ntimeout_ms = 1500\n";
    let runtime = house.start(config(&house, &text));
    block_on(async {
        let answer = asks(&runtime, "wrong_id", json!({})).await;
        assert!(matches!(answer.error.as_ref().unwrap().kind, Kind::Timeout | Kind::AttemptTimeout), "{answer:?}");
        assert_eq!(asks(&runtime, "echo", json!({ "text": "a" })).await.data["text"], "a");
    });
}

#[test]
fn a_call_that_is_over_is_taken_back_from_the_server() {
    let (house, runtime) = started("");
    block_on(async {
        tokio::select! {
            _ = asks(&runtime, "wait", json!({})) => panic!("it answered"),
            () = until(|| !notes(&house, "waiting").is_empty()) => {}
        }
        until(|| !notes(&house, "cancelled").is_empty()).await;
        assert_eq!(asks(&runtime, "echo", json!({ "text": "a" })).await.data["text"], "a");
        assert_eq!(notes(&house, "starts").len(), 1);
    });
}

#[test]
fn a_server_that_ends_after_each_answer_is_started_again() {
    let (house, runtime) = started("once");
    block_on(async {
        for number in 0..3 {
            let answer = asks(&runtime, "echo", json!({ "text": number.to_string() })).await;
            assert_eq!(answer.data["text"], number.to_string(), "{:?}", answer.error);
        }
    });
    assert!(notes(&house, "starts").len() >= 3);
    assert_eq!(notes(&house, "calls").len(), 3, "a call was made twice");
}

#[test]
fn a_server_that_closes_its_output_is_a_lost_one_and_ended() {
    let (house, runtime) = started("deaf");
    block_on(async {
        assert_eq!(outcome(&asks(&runtime, "echo", json!({ "text": "a" })).await), "ok");
        // The end of the output may come before the next call or during it.
        let second = outcome(&asks(&runtime, "echo", json!({ "text": "b" })).await);
        assert!(["ok", "upstream connection_lost"].contains(&second.as_str()), "{second}");
        let first = notes(&house, "starts")[0].clone();
        until(|| !lives(&first)).await;
    });
}

#[test]
fn a_server_that_cannot_start_is_said_at_once_and_takes_nothing_with_it() {
    let house = House::with_files();
    let text = server(&house, "peer", "silent_start", "") + &server(&house, "good", "", "");
    let runtime = Runtime::start(config(&house, &text), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.len() == 1 && faults[0].contains("`peer`") && faults[0].contains("it ended"), "{faults:?}");
    block_on(async {
        let answer = runtime.call(call("good_echo", json!({ "text": "a" }))).await.envelope;
        assert_eq!(outcome(&answer), "ok");
    });
}

#[test]
fn nothing_of_a_server_is_left_when_the_runtime_ends() {
    let (house, runtime) = started("");
    block_on(async {
        assert_eq!(outcome(&asks(&runtime, "echo", json!({ "text": "a" })).await), "ok");
    });
    let pid = notes(&house, "starts")[0].clone();
    assert!(lives(&pid));
    drop(runtime);
    assert!(!lives(&pid));
    assert_eq!(notes(&house, "ends").len(), 1, "it was ended before it could end by itself");
}

#[test]
fn noise_and_chatter_break_nothing() {
    let (_house, runtime) = started("noise chatty");
    block_on(async {
        for _ in 0..3 {
            assert_eq!(asks(&runtime, "echo", json!({ "text": "a" })).await.data["text"], "a");
        }
    });
}

#[test]
fn a_slow_reader_gets_large_arguments_whole() {
    let (_house, runtime) = started("slow");
    let text = "x".repeat(1 << 20);
    block_on(async {
        let answer = asks(&runtime, "seen", json!({ "optional": text })).await;
        assert_eq!(outcome(&answer), "ok");
    });
}

#[test]
fn a_server_gets_nothing_that_it_asks_for() {
    let (_house, runtime) = started("");
    block_on(async {
        let answer = asks(&runtime, "ask", json!({})).await;
        assert_eq!(answer.data, "[-32601, -32601, -32601]");
    });
}

#[test]
fn progress_of_a_server_is_progress_of_the_call() {
    let (_house, runtime) = started("");
    let (sender, mut receiver) = tokio::sync::mpsc::channel(16);
    block_on(async {
        let call = hermes_runtime::Call { progress: Some(sender), ..call("peer_progress", json!({})) };
        assert_eq!(outcome(&runtime.call(call).await.envelope), "ok");
        let mut told = Vec::new();
        while let Ok(update) = receiver.try_recv() {
            told.push((update.done, update.message));
        }
        assert_eq!(told, [(1, Some("step 1".to_owned())), (2, Some("step 2".to_owned()))]);
    });
}

#[test]
fn null_for_what_need_not_be_there_is_left_out_unless_the_server_takes_it() {
    let (_house, runtime) = started("");
    block_on(async {
        let answer = asks(&runtime, "seen", json!({ "optional": null, "nullable": null })).await;
        assert_eq!(answer.data, r#"{"nullable": null}"#, "{:?}", answer.error);
    });
}

#[test]
fn a_wrong_value_deep_in_a_recursive_schema_is_found() {
    let (_house, runtime) = started("");
    let tree =
        |leaf: Value| json!({ "top": { "value": 1, "children": [{ "value": 2, "children": [{ "value": leaf }] }] } });
    block_on(async {
        assert_eq!(outcome(&asks(&runtime, "tree", tree(json!(3))).await), "ok");
        let error = asks(&runtime, "tree", tree(json!("three"))).await.error.unwrap();
        assert_eq!(error.kind, Kind::InvalidInput);
        assert_eq!(error.problems[0].path, "/top/children/0/children/0/value");
    });
}

#[test]
fn tools_that_cannot_be_read_hide_no_others() {
    let house = House::with_files();
    let runtime = Runtime::start(config(&house, &server(&house, "peer", "bad", "")), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    for word in ["`missing`", "`remote`", "`list`", "`text_schema`", "a tool cannot be read", "already called"] {
        assert!(faults.iter().any(|fault| fault.contains(word)), "{word} is not in {faults:#?}");
    }
    let toolbox = runtime.toolbox();
    let names: Vec<&str> = toolbox.registry.tools().map(|tool| &*tool.name).collect();
    for there in ["peer_echo", "peer_deceiving", "peer_no_schema", "peer_tree"] {
        assert!(names.contains(&there), "{there} is not in {names:?}");
    }
    for absent in ["peer_missing", "peer_remote", "peer_list", "peer_text_schema"] {
        assert!(!names.contains(&absent), "{absent} is in {names:?}");
    }
}

#[test]
fn lists_have_pages_and_an_end() {
    for (words, least, most) in [("pages", 25, 60), ("endless", 50, 1000)] {
        let (_house, runtime) = started(words);
        let count = runtime.toolbox().registry.tools().filter(|tool| tool.name.starts_with("peer_")).count();
        assert!((least..=most).contains(&count), "{words}: {count}");
    }
}

#[test]
fn names_that_look_alike_stay_apart_in_any_order() {
    let names = |order: [&str; 2]| {
        let house = House::with_files();
        let text: String = order.iter().map(|name| server(&house, name, "confusing", "")).collect();
        let runtime = Runtime::start(config(&house, &text), &[], None).unwrap();
        let toolbox = runtime.toolbox();
        let served = toolbox.registry.tools().filter(|tool| tool.category.as_deref() == Some("mcp"));
        let mut names: Vec<String> = served.map(|tool| tool.name.to_string()).collect();
        names.sort();
        names
    };
    let found = names(["one", "file"]);
    assert_eq!(found, names(["file", "one"]));
    assert!(found.contains(&"one_read".into()) && !found.contains(&"file_read".into()), "{found:?}");
    assert_eq!(found.iter().filter(|name| name.contains("xxxx")).count(), 4, "{found:?}");
    assert!(found.iter().all(|name| name.len() <= 64), "{found:?}");
}

#[test]
fn both_eras_are_spoken() {
    let (_house, runtime) = started("modern");
    block_on(async {
        assert_eq!(asks(&runtime, "echo", json!({ "text": "a" })).await.data["text"], "a");
        assert_eq!(outcome(&asks(&runtime, "input_required", json!({})).await), "denied input_required");
    });
}

#[test]
fn many_calls_share_connections_and_get_their_own_answers() {
    let house = House::with_files();
    let runtime = house.start(config(&house, &server(&house, "peer", "", "connections = 3")));
    let runtime = std::sync::Arc::new(runtime);
    block_on_within(Duration::from_secs(120), async {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..200 {
            let runtime = runtime.clone();
            calls.spawn(async move {
                let answer = asks(&runtime, "echo", json!({ "text": number.to_string() })).await;
                assert_eq!(answer.data["text"], number.to_string(), "{:?}", answer.error);
            });
        }
        calls.join_all().await;
    });
    let starts = notes(&house, "starts").len();
    assert!((2..=3).contains(&starts), "{starts}");
}

#[test]
fn a_manifest_goes_where_its_arguments_lead_and_maps_both_ways() {
    let house = House::with_files();
    let routes = r#"
        [[mcp.servers.front.routes]]
        tool = "say"
        when = { loud = "^true$" }
        server = "peer"
        to = "error_text"

        [[mcp.servers.front.routes]]
        tool = "say"
        server = "peer"
        to = "echo"
    "#;
    let manifest = r#"
        [tool]
        name = "say"
        version = "1.0.0"
        description = "Says something"
        inputs = [{ name = "words", type = "string", required = true }, { name = "loud", type = "boolean" }]
        outputs = [{ name = "said", type = "string" }]
        [tool.permissions]
        required_roles = ["Builder"]
        risk_level = "low"
        [tool.backend]
        type = "mcp"
        adapter = "MCPAdapter"
        endpoint = "mcp://front/say"
        arguments = { text = "{words}" }
        result = { said = "{/structured/text}" }
    "#;
    std::fs::create_dir(house.path("tools")).unwrap();
    std::fs::write(house.path("tools/say.toml"), manifest).unwrap();
    let text = format!("tool_folders = [\"tools\"]\n{}{routes}", server(&house, "peer", "", "tools = []"));
    let runtime = house.start(config(&house, &text));
    assert!(
        runtime.toolbox().registry.tools().all(|tool| !tool.name.starts_with("peer_")),
        "it is served under its own name"
    );
    block_on(async {
        let answer = runtime.call(call("say", json!({ "words": "hi" }))).await.envelope;
        assert_eq!(answer.data, json!({ "said": "hi" }), "{:?}", answer.error);
        let answer = runtime.call(call("say", json!({ "words": "hi", "loud": true }))).await.envelope;
        assert_eq!(outcome(&answer), "tool_failed reported_error");
    });
}

#[test]
fn a_tool_that_is_another_one_now_is_not_called() {
    let house = House::with_files();
    let text = server(&house, "peer", "changing", "");
    drop(house.start(config(&house, &text)));
    let runtime = house.start(config(&house, &text));
    assert_eq!(notes(&house, "starts").len(), 1, "a start waited for a server that is known");
    block_on(async {
        let answer = asks(&runtime, "echo", json!({ "text": "a" })).await;
        assert_eq!(outcome(&answer), "conflict changed", "{:?}", answer.error);
        assert_eq!(outcome(&asks(&runtime, "no_error", json!({})).await), "ok");
    });
}
