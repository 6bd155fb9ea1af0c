//! Does a call find the backend that works? Two real servers, of which one is broken and mended; and backends of
//! components, one of which lies about itself.

use super::manifest;
use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call, project};
use crate::support::people::{Channel, Person};
use hermes_runtime::envelope::RouteNote;
use hermes_runtime::error::Kind;
use hermes_runtime::servers::{Server, ServerSandbox};
use hermes_runtime::{Envelope, Runtime};
use serde_json::json;
use std::time::{Duration, Instant};

/// Far more than any of it takes.
const WATCHDOG: Duration = Duration::from_secs(60);

/// The example's plugins, a tool `where` with the servers `a` and `b` as its backends, a tool `there` with `b` alone, and what its manifest has besides.
fn house(more: &str) -> (House, Runtime) {
    let house = House::with_files();
    std::fs::create_dir(house.path("tools")).unwrap();
    std::fs::create_dir(house.path("broken")).unwrap();
    let backend = |server: &str| {
        format!("[[tool.backend]]\ntype = \"mcp\"\nadapter = \"mcp\"\nendpoint = \"mcp://{server}/where\"\n")
    };
    let text = manifest("where", "1.0.0", "mcp");
    let (before, _) = text.split_once("backend = ").unwrap();
    std::fs::write(house.path("tools/where.toml"), format!("{before}{more}\n{}{}", backend("a"), backend("b")))
        .unwrap();
    let other = manifest("there", "1.0.0", "mcp");
    let (before, _) = other.split_once("backend = ").unwrap();
    std::fs::write(house.path("tools/there.toml"), format!("{before}{}", backend("b"))).unwrap();
    let mut config = house.config();
    config.tool_folders = vec![house.path("tools")];
    let script = project().join("tests/peers/backend.py").display().to_string();
    for name in ["a", "b"] {
        let broken = house.path(&format!("broken/{name}")).display().to_string();
        let argv = ["/usr/bin/python3", &script, name, &broken].map(str::to_owned).to_vec();
        let sandbox = ServerSandbox { write: vec![house.path("broken")], ..ServerSandbox::default() };
        config.mcp.servers.insert(name.into(), Server { argv, tools: Some(Vec::new()), sandbox, ..Server::default() });
    }
    let runtime = house.start(config);
    (house, runtime)
}

fn ask(runtime: &Runtime) -> Envelope {
    block_on(runtime.call(call("where", json!({})))).envelope
}

/// Asks until an answer is as it should be.
#[track_caller]
fn ask_until(runtime: &Runtime, is: impl Fn(&Envelope) -> bool) -> Envelope {
    let began = Instant::now();
    loop {
        let answer = ask(runtime);
        if is(&answer) {
            return answer;
        }
        assert!(began.elapsed() < WATCHDOG, "it never came to it: {answer:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn server(answer: &Envelope) -> &str {
    answer.data["server"].as_str().unwrap_or_default()
}

fn route(answer: &Envelope) -> &RouteNote {
    answer.metadata.route.as_deref().unwrap_or_else(|| panic!("no route in {answer:#?}"))
}

const CHECKED: &str =
    "health_check = { enabled = true, interval_seconds = 1, timeout_seconds = 10, unhealthy_threshold = 2 }";

#[test]
fn the_route_moves_away_from_a_broken_server_and_comes_back() {
    let (house, runtime) = house(CHECKED);
    let answer = ask(&runtime);
    assert_eq!((server(&answer), route(&answer).why.as_str()), ("a", "preferred"), "{answer:#?}");
    assert_eq!(route(&answer).alternatives[0].backend, 2);

    std::fs::write(house.path("broken/a"), "").unwrap();
    let moved = ask_until(&runtime, |answer| route(answer).why == "others_unhealthy");
    assert_eq!((server(&moved), moved.error.as_ref().map(|error| error.kind)), ("b", None));
    let sick = &route(&moved).alternatives[0];
    assert_eq!((sick.backend, sick.health.as_str()), (1, "unhealthy"));
    // Nobody is asked who is known to be sick, so no call fails any more.
    for _ in 0..5 {
        let answer = ask(&runtime);
        assert_eq!((server(&answer), answer.metadata.attempts), ("b", 1), "{answer:#?}");
    }

    std::fs::remove_file(house.path("broken/a")).unwrap();
    let back = ask_until(&runtime, |answer| server(answer) == "a");
    assert_eq!(route(&back).why, "trial", "a check has passed, and one call tries it");
    let after = ask(&runtime);
    assert_eq!((server(&after), route(&after).why.as_str()), ("a", "preferred"));
}

/// One server hangs, with a call and a health check in it; calls to the other one come and go meanwhile.
#[test]
fn a_backend_that_hangs_holds_up_no_call_to_another_one() {
    let (house, runtime) = house(CHECKED);
    std::fs::write(house.path("broken/a"), "hang").unwrap();
    let runtime = std::sync::Arc::new(runtime);
    block_on(async {
        let hanging = tokio::spawn({
            let runtime = runtime.clone();
            async move { runtime.call(call("where", json!({}))).await.envelope }
        });
        let asked = house.path("broken/a.asked");
        while !asked.exists() {
            assert!(!hanging.is_finished(), "it does not hang: {:#?}", hanging.await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for number in 0..20 {
            let answer = runtime.call(call("there", json!({}))).await.envelope;
            assert_eq!(answer.data["server"], "b", "call {number}: {answer:#?}");
        }
        assert!(!hanging.is_finished(), "it hung while the others came and went");
        hanging.abort();
    });
}

#[test]
fn a_call_that_has_sent_nothing_goes_to_the_next_backend_at_once() {
    let (house, runtime) = house("");
    std::fs::write(house.path("broken/a"), "").unwrap();
    let answer = ask(&runtime);
    assert_eq!((server(&answer), answer.metadata.attempts), ("b", 2), "{answer:#?}");
    assert_eq!((route(&answer).chosen.backend, &route(&answer).moved), (1, &vec![2]));
    // What was seen counts for the next call: it begins where there was an answer.
    for _ in 0..4 {
        let answer = ask(&runtime);
        assert_eq!((server(&answer), answer.metadata.attempts), ("b", 1), "{answer:#?}");
        assert_eq!((route(&answer).why.as_str(), route(&answer).alternatives[0].backend), ("better", 1));
    }
}

#[test]
fn when_all_are_sick_the_answer_says_why_and_when_to_ask_again() {
    let (house, runtime) = house(CHECKED);
    for name in ["broken/a", "broken/b"] {
        std::fs::write(house.path(name), "").unwrap();
    }
    let answer = ask_until(&runtime, |answer| {
        answer.error.as_ref().is_some_and(|error| error.reason.as_deref() == Some("unhealthy"))
    });
    let error = answer.error.unwrap();
    assert_eq!((error.kind, error.code, error.retry_after_ms), (Kind::Unavailable, 503, Some(1000)));
    assert!(error.message.starts_with("every backend of `where` is unhealthy: "), "{}", error.message);
}

/// A component that says it is fast and good, and never answers, gets no more than one that says nothing.
#[test]
fn what_a_component_says_of_itself_wins_it_nothing() {
    let house = House::empty();
    let honest = Guest { name: "honest".into(), ..Guest::default() };
    honest.put(&house);
    let lies = "{\\22success\\22:1.0,\\22latency_ms\\22:0}";
    let liar = Guest {
        name: "liar".into(),
        fields: format!("(data (i32.const 2048) \"{lies}\")"),
        body: format!(
            "(i32.store (i32.const 92) (i32.const 1)) (i32.store (i32.const 96) (i32.const 2048)) (i32.store (i32.const 100) (i32.const {}))
             (call $fail (i32.const 6) (i32.const 2048) (i32.const 4))",
            lies.replace("\\22", "\"").len()
        ),
        ..Guest::default()
    };
    liar.put(&house);
    std::fs::create_dir(house.path("tools")).unwrap();
    let text = manifest("both", "1.0.0", "x");
    let (before, _) = text.split_once("backend = ").unwrap();
    let backend = |adapter: &str| format!("[[tool.backend]]\ntype = \"custom\"\nadapter = \"{adapter}\"\n");
    std::fs::write(house.path("tools/both.toml"), format!("{before}{}{}", backend("liar"), backend("honest"))).unwrap();
    let mut config = house.config();
    config.tool_folders = vec![house.path("tools")];
    let runtime = house.start(config);
    let answers: Vec<Envelope> = (0..20).map(|_| block_on(runtime.call(call("both", json!({})))).envelope).collect();
    let of_liar = answers.iter().filter(|answer| route(answer).chosen.adapter == "liar").count();
    assert!((1..=3).contains(&of_liar), "{of_liar} of 20 calls went to it");
    // It has sent nothing, so another component answers in its place, and the answer says which.
    for answer in &answers {
        assert_eq!((answer.code(), answer.metadata.adapter.as_deref()), (200, Some("honest")), "{answer:#?}");
    }
    assert_eq!(answers[18].error.as_ref().map(|error| &error.message), None);
    let other = &route(&answers[18]).alternatives[0];
    assert!(other.adapter == "liar" && other.success <= 0.5, "{other:#?}");
}

/// What a person has approved is one component: no other one runs in its place.
#[test]
fn what_was_approved_for_one_component_is_not_done_by_another_one() {
    let house = House::empty();
    Guest { name: "second".into(), effect: "write".into(), ..Guest::default() }.put(&house);
    let down = "(call $fail (i32.const 6) (i32.const 2048) (i32.const 4))";
    let first = Guest { name: "first".into(), effect: "write".into(), ..Guest::that(down) };
    Guest { fields: "(data (i32.const 2048) \"down\")".into(), ..first }.put(&house);
    std::fs::create_dir(house.path("tools")).unwrap();
    let backend = |adapter: &str| format!("[[tool.backend]]\ntype = \"custom\"\nadapter = \"{adapter}\"\n");
    for (name, approval) in [("free", "true"), ("asks", "\"always\"")] {
        let text =
            manifest(name, "1.0.0", "x").replace("risk_level", &format!("requires_approval = {approval}, risk_level"));
        let (before, _) = text.split_once("backend = ").unwrap();
        let text = format!("{before}{}{}", backend("first"), backend("second"));
        std::fs::write(house.path(&format!("tools/{name}.toml")), text).unwrap();
    }
    // Each in a runtime of its own, which has seen nothing of the first one yet.
    let answer = |tool: &str| {
        let mut config = house.config();
        config.tool_folders = vec![house.path("tools")];
        let runtime = house.start_with(config, Some(std::sync::Arc::new(Channel::new(Person::Yes))));
        block_on(runtime.call(call(tool, json!({})))).envelope
    };
    let free = answer("free");
    assert_eq!((free.code(), free.metadata.attempts), (200, 2), "{free:#?}");
    assert_eq!(free.metadata.adapter.as_deref(), Some("second"));
    let asked = answer("asks");
    assert_eq!((asked.code(), asked.metadata.attempts), (503, 1), "{asked:#?}");
    assert_eq!(asked.metadata.adapter.as_deref(), Some("first"));
}
