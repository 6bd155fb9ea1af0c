//! Does a person's answer count for just what was shown, once, and for nobody else? Questions, answers and calls, in one
//! process and over restarts.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::House;
use crate::support::people::{Channel, Person};
use hermes_runtime::call::{Arguments, Caller, Mode, Situation};
use hermes_runtime::config::{Config, Unattended};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Scope, State, Verdict};
use hermes_runtime::{Call, Envelope, Kind, Runtime, open_journal};
use serde_json::{Value, json};
use std::sync::Arc;

/// A house with a tool that always asks.
fn house() -> House {
    let house = House::empty();
    Guest::default().put(&house);
    ask_always(&house, "");
    house
}

fn ask_always(house: &House, more: &str) {
    let text = format!("@ask permit (principal, action == Action::\"probe\", resource);\n{more}");
    std::fs::write(house.path("factors.cedar"), text).unwrap();
}

fn config(house: &House) -> Config {
    let mut config = house.config();
    config.policies.factors = vec![house.path("factors.cedar")];
    config
}

fn call_as(caller: &str, session: &str, args: &Value) -> Call {
    let mut call =
        Call::new("probe", args.clone()).caller(Arc::new(Caller { id: caller.into(), role: "Builder".into() }));
    call.session = session.into();
    call
}

fn run(runtime: &Runtime, args: &Value) -> Envelope {
    block_on(runtime.call(call_as("a", "s", args))).envelope
}

fn kind(envelope: &Envelope) -> Option<Kind> {
    envelope.error.as_ref().map(|error| error.kind)
}

fn reason(envelope: &Envelope) -> Option<String> {
    envelope.error.as_ref()?.reason.as_ref().map(|reason| reason.to_string())
}

/// Answers the question that an envelope tells of, as another process would.
fn answer(house: &House, envelope: &Envelope, verdict: Verdict) -> Result<(), hermes_runtime::Error> {
    let id = envelope.error.as_ref().unwrap().approval_id.clone().unwrap();
    let journal = open_journal(&house.path("state")).unwrap();
    block_on(async {
        let parked = desk::find(&journal, &id).await?;
        desk::decide(&journal, &parked, verdict, "tester", 600).await
    })
}

fn state(house: &House, envelope: &Envelope) -> State {
    let id = envelope.error.as_ref().unwrap().approval_id.clone().unwrap();
    let journal = open_journal(&house.path("state")).unwrap();
    block_on(desk::find(&journal, &id)).unwrap().state_at(0)
}

const ONCE: Verdict = Verdict::Approve(Scope::Once);

fn no() -> Verdict {
    Verdict::Deny { reason: Some("not today".into()) }
}

/// Changes the table behind the runtime's back, as a clock that moved would.
fn sql(house: &House, text: &str) {
    let connection = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    connection.execute(text, ()).unwrap();
}

#[test]
fn a_yes_to_one_run_counts_once_and_nothing_starts_by_itself() {
    let house = house();
    let runtime = house.start(config(&house));
    let args = json!({ "n": 1 });
    let asked = run(&runtime, &args);
    assert_eq!(kind(&asked), Some(Kind::ApprovalPending));
    answer(&house, &asked, ONCE).unwrap();
    assert_eq!(state(&house, &asked), State::Approved, "approving starts nothing");
    let ran = run(&runtime, &args);
    assert_eq!(kind(&ran), None, "{ran:#?}");
    assert_eq!(state(&house, &asked), State::Used);
    assert_eq!(kind(&run(&runtime, &args)), Some(Kind::ApprovalPending), "a second run is asked about anew");
}

#[test]
fn only_the_same_call_by_the_same_caller_in_the_same_circumstances_runs() {
    let house = house();
    let runtime = house.start(config(&house));
    let args = json!({ "target": "staging", "n": 1 });
    let asked = run(&runtime, &args);
    answer(&house, &asked, Verdict::Approve(Scope::Session)).unwrap();
    let pending = |call: Call| assert_eq!(kind(&block_on(runtime.call(call)).envelope), Some(Kind::ApprovalPending));
    pending(call_as("a", "s", &json!({ "target": "production", "n": 1 })));
    pending(call_as("a", "s", &json!({ "target": "stagind", "n": 1 })));
    pending(call_as("b", "s", &args));
    pending(call_as("a", "another", &args));
    let workflow = Situation { workflow: Some("w".into()), ..Situation::default() };
    pending(call_as("a", "s", &args).situation(Arc::new(workflow)));
    let mode = Situation { mode: Mode::Workflow, ..Situation::default() };
    pending(call_as("a", "s", &args).situation(Arc::new(mode)));
    let other_order = r#"{ "n": 1,  "target": "staging" }"#;
    let call = Call { args: Arguments::Json(other_order.into()), ..call_as("a", "s", &args) };
    assert_eq!(kind(&block_on(runtime.call(call)).envelope), None, "the order of keys is no other call");
    assert_eq!(kind(&run(&runtime, &args)), None, "for the session it counts again");
}

#[test]
fn a_yes_until_a_time_crosses_sessions_and_ends() {
    let house = house();
    let runtime = house.start(config(&house));
    let args = json!({});
    let asked = run(&runtime, &args);
    answer(&house, &asked, Verdict::Approve(Scope::Until(u64::MAX >> 2))).unwrap();
    for session in ["s", "t"] {
        assert_eq!(kind(&block_on(runtime.call(call_as("a", session, &args))).envelope), None);
    }
    sql(&house, "UPDATE approvals SET until_ms = 1");
    assert_eq!(kind(&run(&runtime, &args)), Some(Kind::ApprovalPending));
}

#[test]
fn what_was_not_answered_in_time_never_runs_and_is_not_called_a_no() {
    let house = house();
    let runtime = house.start(config(&house));
    let args = json!({});
    let asked = run(&runtime, &args);
    sql(&house, "UPDATE approvals SET expires_ms = 1");
    let late = answer(&house, &asked, ONCE).unwrap_err();
    assert_eq!((late.kind, late.reason.as_deref()), (Kind::Conflict, Some("not_pending")));
    let again = run(&runtime, &args);
    assert_eq!(kind(&again), Some(Kind::ApprovalPending), "asked anew");
    assert_ne!(asked.error.unwrap().approval_id, again.error.unwrap().approval_id);
}

#[test]
fn a_yes_that_was_not_used_in_time_counts_no_more() {
    let house = house();
    let runtime = house.start(config(&house));
    let asked = run(&runtime, &json!({}));
    answer(&house, &asked, ONCE).unwrap();
    sql(&house, "UPDATE approvals SET expires_ms = 1");
    assert_eq!(kind(&run(&runtime, &json!({}))), Some(Kind::ApprovalPending));
}

#[test]
fn of_two_answers_the_first_counts() {
    let house = house();
    let runtime = house.start(config(&house));
    let asked = run(&runtime, &json!({}));
    let answers: Vec<bool> = std::thread::scope(|scope| {
        let answering: Vec<_> = (0..8)
            .map(|number| {
                let (house, asked) = (&house, &asked);
                let verdict = if number % 2 == 0 { ONCE } else { no() };
                scope.spawn(move || answer(house, asked, verdict).is_ok())
            })
            .collect();
        answering.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|counted| **counted).count(), 1, "{answers:?}");
    let expected = if answers.iter().step_by(2).any(|counted| *counted) { None } else { Some(Kind::ApprovalDenied) };
    assert_eq!(kind(&run(&runtime, &json!({}))), expected);
}

#[test]
fn of_many_calls_at_once_one_uses_a_yes_up() {
    let house = house();
    let runtime = Arc::new(house.start(config(&house)));
    let asked = run(&runtime, &json!({}));
    answer(&house, &asked, ONCE).unwrap();
    let ran = block_on(async {
        let calls: Vec<_> = (0..16)
            .map(|_| {
                let runtime = runtime.clone();
                tokio::spawn(async move { runtime.call(call_as("a", "s", &json!({}))).await.envelope })
            })
            .collect();
        let mut ran = 0;
        for call in calls {
            ran += usize::from(call.await.unwrap().error.is_none());
        }
        ran
    });
    assert_eq!(ran, 1);
}

#[test]
fn a_yes_outlives_the_process_and_is_still_used_once() {
    let house = house();
    let asked = run(&house.start(config(&house)), &json!({}));
    answer(&house, &asked, ONCE).unwrap();
    let restarted = house.start(config(&house));
    let call = |session: &str| block_on(restarted.call(call_as("a", session, &json!({})))).envelope;
    assert_eq!(kind(&call("after the restart")), None);
    assert_eq!(kind(&call("after the restart")), Some(Kind::ApprovalPending));
}

#[test]
fn a_yes_is_void_once_what_it_would_run_has_changed() {
    for (changed, change) in [
        (
            "policies_changed",
            Box::new(|house: &House| ask_always(house, "@id(\"x\") @risk(\"1\") permit (principal, action, resource);"))
                as Box<dyn Fn(&House)>,
        ),
        (
            "component_changed",
            Box::new(|house: &House| Guest::that("(call $text (i32.const 0) (i32.const 0))").put(house)),
        ),
        (
            "tool_changed",
            Box::new(|house: &House| Guest { manifest: "timeout_ms = 5000".into(), ..Guest::default() }.put(house)),
        ),
    ] {
        let house = house();
        let asked = run(&house.start(config(&house)), &json!({}));
        answer(&house, &asked, ONCE).unwrap();
        change(&house);
        let restarted = house.start(config(&house));
        let drifted = run(&restarted, &json!({}));
        assert_eq!((kind(&drifted), reason(&drifted).as_deref()), (Some(Kind::Conflict), Some(changed)));
        assert_eq!(kind(&run(&restarted, &json!({}))), Some(Kind::ApprovalPending), "{changed}: asked anew");
        assert_eq!(state(&house, &asked), State::Void);
    }
}

#[test]
fn a_no_is_remembered_and_can_be_taken_back() {
    let house = house();
    let channel = Arc::new(Channel::new(Person::No));
    let runtime = house.start_with(config(&house), Some(channel.clone() as Arc<dyn Approver>));
    let asked = || channel.asked.lock().unwrap().len();
    let first = run(&runtime, &json!({}));
    assert_eq!((kind(&first), asked()), (Some(Kind::ApprovalDenied), 1));
    for repeat in 1..=3 {
        let again = run(&runtime, &json!({})).error.unwrap();
        assert_eq!((again.kind, again.repeat, asked()), (Kind::ApprovalDenied, Some(repeat), 1));
        assert_eq!(again.message, first.error.as_ref().unwrap().message);
    }
    assert_eq!(kind(&run(&runtime, &json!({ "other": 1 }))), Some(Kind::ApprovalDenied));
    assert_eq!(asked(), 2, "another call is another question");
    let journal = open_journal(&house.path("state")).unwrap();
    block_on(async {
        let parked = desk::find(&journal, first.error.unwrap().approval_id.as_ref().unwrap()).await.unwrap();
        desk::forget(&journal, &parked, "tester").await.unwrap();
    });
    run(&runtime, &json!({}));
    assert_eq!(asked(), 3);
}

#[test]
fn a_waiting_call_is_woken_by_an_answer_from_another_process() {
    let house = house();
    let mut config = config(&house);
    config.approval.park_wait_seconds = 600;
    let runtime = Arc::new(house.start(config));
    let answered = block_on(async {
        let waiting = tokio::spawn({
            let runtime = runtime.clone();
            async move { runtime.call(call_as("a", "s", &json!({}))).await.envelope }
        });
        let journal = open_journal(&house.path("state")).unwrap();
        let parked = loop {
            if let Some(parked) = desk::list(&journal, false, 10).await.unwrap().pop() {
                break parked;
            }
            tokio::task::yield_now().await;
        };
        desk::decide(&journal, &parked, ONCE, "tester", 600).await.unwrap();
        waiting.await.unwrap()
    });
    assert_eq!(kind(&answered), None, "{answered:#?}");
    assert_eq!(std::fs::read_dir(house.path("state/bells")).unwrap().count(), 0, "the socket of the wait is gone");
}

#[test]
fn of_five_hundred_questions_only_what_was_answered_runs() {
    let house = house();
    let runtime = house.start(config(&house));
    let asked: Vec<Envelope> = (0..500).map(|number| run(&runtime, &json!({ "n": number }))).collect();
    assert!(asked.iter().all(|envelope| kind(envelope) == Some(Kind::ApprovalPending)));
    answer(&house, &asked[333], ONCE).unwrap();
    let ran: Vec<usize> = (0..500).filter(|number| run(&runtime, &json!({ "n": number })).error.is_none()).collect();
    assert_eq!(ran, [333]);
    let journal = open_journal(&house.path("state")).unwrap();
    assert_eq!(block_on(desk::list(&journal, false, 1000)).unwrap().len(), 499, "no question was asked twice");
}

#[test]
fn an_unattended_runtime_can_refuse_or_halt() {
    let house = house();
    let mut refusing = config(&house);
    refusing.approval.unattended = Unattended::Deny;
    assert_eq!(kind(&run(&house.start(refusing), &json!({}))), Some(Kind::NoApprover));

    let mut halting = config(&house);
    halting.approval.unattended = Unattended::Halt;
    Guest { name: "other".into(), ..Guest::default() }.put(&house);
    let runtime = house.start(halting.clone());
    let other = |runtime: &Runtime| {
        let call = Call::new("other", json!({})).caller(Arc::new(Caller { id: "a".into(), role: "Builder".into() }));
        kind(&block_on(runtime.call(call)).envelope)
    };
    assert_eq!(other(&runtime), None);
    assert_eq!(kind(&run(&runtime, &json!({}))), Some(Kind::SessionHalted));
    assert_eq!(other(&runtime), Some(Kind::SessionHalted), "nothing of the caller runs");
    drop(runtime);
    let restarted = house.start(halting);
    assert_eq!(other(&restarted), Some(Kind::SessionHalted), "a restart launders nothing");
    drop(restarted);
    let journal = open_journal(&house.path("state")).unwrap();
    block_on(desk::resume(&journal, "a", "tester")).unwrap();
    drop(journal);
    let mut resumed = config(&house);
    resumed.approval.unattended = Unattended::Deny;
    assert_eq!(other(&house.start(resumed)), None);
}

#[test]
fn what_a_caller_did_counts_after_a_reconnect_and_a_restart() {
    let house = House::empty();
    Guest::default().put(&house);
    let mut settings = house.config();
    std::fs::write(house.path("p.cedar"), "forbid (principal, action == Action::\"probe\", resource) when { context.caller == \"a\" && context.denials < 4 };").unwrap();
    settings.policies.permissions = vec![house.path("p.cedar")];
    let points = |runtime: &Runtime, session: &str, count: u32| {
        let envelope = block_on(runtime.call(call_as("a", session, &json!({ "n": count })))).envelope;
        let risk = envelope.metadata.risk.map(|risk| risk.reasons);
        (envelope.error.map(|error| error.kind), risk)
    };
    let runtime = house.start(settings.clone());
    for count in 0..4 {
        assert_eq!(points(&runtime, "one", count).0, Some(Kind::Denied));
    }
    let before = points(&runtime, "another", 9);
    assert!(before.1.as_ref().unwrap().contains(&"calls were denied in the last hour".to_owned()), "{before:?}");
    drop(runtime);
    assert_eq!(points(&house.start(settings), "third", 9), before, "a restart launders nothing");
}

#[test]
fn a_refusal_that_is_repeated_says_so() {
    let house = House::empty();
    Guest::default().put(&house);
    let runtime = house.start(house.config());
    let repeat = |args: Value| {
        let call = Call::new("probe", args).caller(Arc::new(Caller { id: "a".into(), role: "Reviewer".into() }));
        block_on(runtime.call(call)).envelope.error.unwrap().repeat
    };
    assert_eq!(repeat(json!({})), None);
    assert_eq!(repeat(json!({})), Some(1));
    assert_eq!(repeat(json!({})), Some(2));
    assert_eq!(repeat(json!({ "n": 1 })), None);
}

/// A person sees the lines that go and come, and a yes holds for the file as it was shown.
#[test]
fn a_yes_to_a_change_counts_for_the_file_that_was_shown() {
    let house = House::with_files();
    std::fs::write(
        house.path("factors.cedar"),
        "@ask permit (principal, action == Action::\"file_write\", resource);\n",
    )
    .unwrap();
    let runtime = house.start(config(&house));
    house.write("a.txt", "one\ntwo\n");
    let args = json!({ "path": "/workspace/a.txt", "mode": "overwrite", "content": "one\n2\n" });
    let write = || {
        let call = Call { tool: "file_write".into(), ..call_as("a", "s", &args) };
        block_on(runtime.call(call)).envelope
    };
    let asked = write();
    let id = asked.error.as_ref().unwrap().approval_id.clone().unwrap_or_else(|| panic!("{asked:#?}"));
    let effect = {
        let journal = open_journal(&house.path("state")).unwrap();
        block_on(desk::find(&journal, &id)).unwrap().request.effect.join("\n")
    };
    assert!(effect.contains("\n-two\n+2"), "{effect}");

    answer(&house, &asked, ONCE).unwrap();
    house.write("a.txt", "one\nthree\n");
    let refused = write();
    assert_eq!((kind(&refused), reason(&refused).as_deref()), (Some(Kind::Conflict), Some("target_changed")));
    assert_eq!(house.read("a.txt"), "one\nthree\n");

    let asked = write();
    assert_eq!(kind(&asked), Some(Kind::ApprovalPending), "{asked:#?}");
    answer(&house, &asked, ONCE).unwrap();
    assert_eq!(kind(&write()), None);
    assert_eq!(house.read("a.txt"), "one\n2\n");
}

/// An agent can ask what became of its question, and of no other caller's.
#[test]
fn an_agent_can_look_at_its_own_question() {
    let house = house();
    let runtime = house.start(config(&house));
    let asked = run(&runtime, &json!({ "n": 1 }));
    let id = asked.error.as_ref().unwrap().approval_id.clone().unwrap();
    let look = |caller: &str| {
        let call = Call { tool: "approval_status".into(), ..call_as(caller, "s", &json!({ "approval_id": id })) };
        block_on(runtime.call(call)).envelope
    };
    assert_eq!(look("a").data["state"], "pending", "{:#?}", look("a"));
    assert!(look("b").error.is_some() || look("b").data["state"].is_null(), "another caller's question");
    answer(&house, &asked, no()).unwrap();
    assert_eq!(look("a").data["state"], "denied", "{:#?}", look("a"));
}
