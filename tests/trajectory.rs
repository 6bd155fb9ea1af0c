//! What is left of a session besides its effects? Its calls in order, what was learnt, lines to learn from, and answers
//! that can be given again without running anything.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::call::Call;
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::injection::feedback;
use hermes_runtime::injection::replay::{Divergence, Replay};
use hermes_runtime::injection::training;
use hermes_runtime::record::{Kept, Record};
use hermes_runtime::result::relevance::Weights;
use hermes_runtime::result::tune;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session of five calls: three equal ones whose answers differ by their ids, a failure, a refusal.
fn session(house: &House) -> Vec<(Record, Option<Kept>)> {
    let with_id = "(call $text (local.get $id) (local.get $id_len))";
    Guest { name: "counter".into(), effect: "write".into(), ..Guest::that(with_id) }.put(house);
    let fails = "(call $fail (i32.const 5) (local.get $args) (local.get $args_len))";
    Guest { name: "fails".into(), ..Guest::that(fails) }.put(house);
    let runtime = house.start(house.config());
    let ask = |tool: &str, args: Value, role: &str| {
        let one = Call { session: "s-1".into(), ..call(tool, args) };
        let caller = hermes_runtime::call::Caller { id: one.caller.id.clone(), role: role.into() };
        block_on(runtime.call(Call { caller: Arc::new(caller), ..one })).envelope
    };
    for _ in 0..3 {
        assert_eq!(ask("counter", json!({ "a": 1 }), "Builder").code(), 200);
    }
    assert_eq!(ask("fails", json!({ "why": "no" }), "Builder").code(), 502);
    assert_eq!(ask("counter", json!({ "a": 1 }), "Reviewer").code(), 403);
    assert!(block_on(runtime.flush()));
    drop(runtime);
    records::verified(&house.path("state"));
    Reader::open(&house.path("state")).unwrap().calls("s-1", 100).unwrap()
}

#[test]
fn equal_calls_are_replayed_in_the_order_in_which_they_were_made() {
    let house = House::empty();
    let calls = session(&house);
    let ids: Vec<String> = calls.iter().map(|(record, _)| record.call_id.to_string()).collect();
    let mut replay = Replay::of(calls.clone());
    for id in &ids[..3] {
        let answer = replay.answer("counter", &json!({ "a": 1 })).unwrap();
        assert_eq!((&*answer.call_id, &answer.data, answer.inexact), (id.as_str(), &json!(id), None));
    }
    let failed = replay.answer("fails", &json!({ "why": "no" })).unwrap();
    assert_eq!(failed.error.map(|error| error.code), Some(502));
    // The denied call has no arguments in its record: they were not looked at.
    assert_eq!(
        replay.answer("counter", &json!({ "a": 1 })).unwrap_err(),
        Divergence::Extra { tool: "counter".into(), times: 3 }
    );
    let left = replay.end().unwrap_err();
    assert!(matches!(left, Divergence::Missing { count: 1, .. }), "{left}");
    assert!(Replay::of(calls).answer("other", &json!({})).unwrap_err().to_string().contains("then"));
}

#[test]
fn a_changed_component_is_shown_to_differ() {
    let house = House::empty();
    let calls = session(&house);
    let component = calls[0].0.facts.component.unwrap();
    let replay = Replay::of(calls);
    let now = |digest| std::collections::HashMap::from([("counter".to_owned(), digest)]);
    assert_eq!(replay.changed_components(&now(component)), []);
    let other = hermes_runtime::call::Digest::of(b"another one");
    assert_eq!(replay.changed_components(&now(other)).len(), 1);
}

#[test]
fn a_session_is_exported_with_what_each_call_is_worth_and_as_a_chat() {
    let house = House::empty();
    let calls = session(&house);
    let steps = training::steps("s-1", &calls, &BTreeMap::new());
    let worth = |index: usize, signal: &str| steps[index].reward[signal];
    assert_eq!((steps.len(), steps[4].last, steps[0].code, steps[3].code, steps[4].code), (5, true, 200, 502, 403));
    assert_eq!((worth(0, "success"), worth(3, "success"), worth(4, "denial")), (1.0, -1.0, -1.0));
    let described = include_str!("../host/runtime/src/injection/trajectory.md");
    assert!(steps.iter().flat_map(|step| step.reward.keys()).all(|signal| described.contains(&format!("`{signal}`"))));
    assert!(steps.iter().flat_map(|step| step.reward.values()).all(|worth| (-1.0..=1.0).contains(worth)));
    assert_eq!(steps[0].arguments, json!({ "a": 1 }));
    let chat = training::chat("s-1", &calls);
    let messages = chat["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 10);
    for pair in messages.chunks(2) {
        assert_eq!(pair[0]["tool_calls"][0]["id"], pair[1]["tool_call_id"]);
    }
}

#[test]
fn sessions_are_listed_with_what_came_of_them() {
    let house = House::empty();
    session(&house);
    let sessions = Reader::open(&house.path("state")).unwrap().sessions(10).unwrap();
    let found = &sessions[0];
    assert_eq!((found.session.as_str(), found.calls, found.failed, found.refused), ("s-1", 5, 1, 1));
    let memory = Reader::open(&house.path("state")).unwrap().memory("s-1", 10).unwrap();
    assert!(memory[0].changed.is_some() && memory[4].next.as_deref() == Some("do not repeat it; find another way"));
}

/// An embedding program knows what it did with a result. That is in the figures, in what is fitted, and in rewards.
#[test]
fn what_a_program_says_about_a_result_counts() {
    let house = House::with_files();
    let lines: String = (0..400).map(|line| format!("line {line} of the log: nothing of note\n")).collect();
    house.write("log.txt", format!("{lines}the needle is here\n{lines}"));
    let mut config = house.config();
    config.result.budget_tokens = Some(300);
    let runtime = house.start(config);
    let mut ids = Vec::new();
    // Each in a session of its own, so that none says anything about the other's use.
    for session in ["s-0", "s-1"] {
        let one = Call { session: session.into(), ..call("file_read", json!({ "path": "log.txt", "limit": 801 })) };
        let envelope = block_on(runtime.call(one)).envelope;
        assert!(envelope.metadata.truncation.is_some(), "{envelope:#?}");
        ids.push(envelope.metadata.call_id);
    }
    assert!(block_on(runtime.flush()));
    let state = house.path("state");
    let (usage, samples) = feedback::gather(&state).unwrap();
    assert_eq!((usage.cut, usage.reported, samples.len()), (2, 0, 0), "{usage:?}");
    let used = ["the needle is here".to_owned(), "what is in no result".to_owned()];
    block_on(runtime.report_outcome(&ids[0], &used, false)).unwrap();
    block_on(runtime.report_outcome(&ids[0], &used, true)).unwrap();
    block_on(runtime.report_outcome(&ids[1], &[], false)).unwrap();
    let (usage, samples) = feedback::gather(&state).unwrap();
    assert_eq!((usage.reported, usage.reported_right, usage.in_no_result), (2, 1, 1), "{usage:?}");
    assert_eq!(samples.iter().map(|sample| &sample.needed[..]).collect::<Vec<_>>(), [&used[..1]]);
    let reader = Reader::open(&state).unwrap();
    let reports = reader.reports().unwrap();
    let worth = |session| training::steps(session, &reader.calls(session, 10).unwrap(), &reports)[0].reward["reported"];
    assert_eq!((worth("s-0"), worth("s-1")), (1.0, -1.0));
    records::verified(&state);
}

/// Sessions that always go on with what stands near the end of a log whose lines nothing else distinguishes: a fit to their
/// records shows more of that, also in records that it has not seen, and counts from the next start on.
#[test]
fn weights_that_are_fitted_to_records_show_more_of_what_is_used() {
    let house = House::with_files();
    let word = |number: usize| -> String {
        (0..6).map(|place| char::from(b'a' + ((number / 7 + place * number) % 26) as u8)).collect()
    };
    let mut config = house.config();
    config.result.budget_tokens = Some(300);
    let runtime = house.start(config.clone());
    block_on(async {
        for run in 0..18_usize {
            let lines: Vec<String> =
                (0..400).map(|line| format!("{} step {} of run {run}", word(line), word(line + run))).collect();
            house.write(&format!("{run}.log"), lines.join("\n"));
            let session: Arc<str> = format!("s-{run}").into();
            let ask = async |tool: &str, args: Value| {
                let one = Call { session: session.clone(), ..call(tool, args) };
                assert_eq!(runtime.call(one).await.envelope.code(), 200);
            };
            ask("file_read", json!({ "path": format!("{run}.log") })).await;
            for back in [25, 30, 35] {
                ask("json_query", json!({ "data": [{ "line": lines[lines.len() - back] }] })).await;
            }
        }
        assert!(runtime.flush().await);
    });
    let state = house.path("state");
    let (usage, samples) = feedback::gather(&state).unwrap();
    assert_eq!((usage.cut, samples.len()), (18, 18), "{usage:?}");
    let tuned = tune::tune(&samples, &Weights::default()).unwrap();
    assert!(tuned.held_out >= 6 && tuned.after > tuned.before + 0.1, "{} to {}", tuned.before, tuned.after);
    feedback::keep(&state, &tuned.weights).unwrap();
    drop(runtime);
    let runtime = house.start(config);
    let shown = block_on(runtime.call(call("file_read", json!({ "path": "1.log" })))).envelope.data;
    let last = |data: &Value| data["text"].as_str().unwrap().lines().filter(|line| line.ends_with("of run 1")).count();
    assert!(last(&shown) > 0, "{shown}");
    assert_eq!(feedback::undo(&state).unwrap(), Some(1));
    assert_eq!(feedback::weights(&state), Weights::default());
}
