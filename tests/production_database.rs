//! Do the three scenes of the example come out right? The example's own files, through the whole pipeline: one call
//! that a role may not make, one that may run, and one that a person has to decide.

use crate::support::block_on;
use crate::support::house::{House, copy_folder, project};
use crate::support::people::{Channel, Person};
use crate::support::records;
use hermes_runtime::call::{Caller, Mode, Situation};
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::record::Record;
use hermes_runtime::{Call, Envelope, Runtime};
use serde_json::{Value, json};
use std::sync::Arc;

/// The example in a house of its own.
struct Example {
    house: House,
    runtime: Runtime,
    channel: Arc<Channel>,
}

fn example(person: Person) -> Example {
    let house = House::with_files();
    copy_folder(&project().join("host/runtime/examples/production-database"), &house.path("example"));
    let file = house.path("example/hermes.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let source = Source { origin: Origin::User(file), text, trusted: false };
    let config = Config::load(house.config(), &[source]).unwrap().config;
    let channel = Arc::new(Channel::new(person));
    let runtime = house.start_with(config, Some(channel.clone() as Arc<dyn Approver>));
    Example { house, runtime, channel }
}

impl Example {
    fn call(&self, role: &str, situation: Situation, database: &str) -> (Envelope, Option<Record>, Record) {
        let args = json!({ "query": "SELECT name FROM sqlite_schema", "database": database });
        let call = Call::new("database_query", args)
            .caller(Arc::new(Caller { id: "token:ops".into(), role: role.into() }))
            .situation(Arc::new(situation));
        let envelope = block_on(self.runtime.call(call)).envelope;
        assert!(block_on(self.runtime.flush()));
        let (intent, outcome) = records::of_call(&self.house.path("example/state"), &envelope.metadata.call_id);
        (envelope, intent, outcome)
    }

    fn asked(&self) -> usize {
        self.channel.asked.lock().unwrap().len()
    }
}

fn deploying() -> Situation {
    Situation {
        workflow: Some("deploy_v2.3.1_to_production".into()),
        mode: Mode::Workflow,
        purpose: Some("schema check".into()),
        task: None,
    }
}

fn error(envelope: &Envelope) -> Value {
    let error = serde_json::to_value(envelope.error.as_ref().unwrap()).unwrap();
    json!({ "code": error["code"], "kind": error["kind"], "reason": error["reason"], "step": error["step"] })
}

#[test]
fn scene_a_a_builder_is_denied_by_role() {
    let example = example(Person::Yes);
    let (envelope, intent, outcome) = example.call("Builder", Situation::default(), "analytics");
    let expected = json!({ "code": 403, "kind": "denied", "reason": "role_denied", "step": "permission" });
    assert_eq!(error(&envelope), expected);
    assert_eq!((outcome.facts.layer, outcome.facts.risk, outcome.facts.args.clone()), (Some(1), None, None));
    assert!(intent.is_none() && example.asked() == 0, "a denied role bothers nobody");
    assert_eq!(records::steps(&outcome), ["registry ok", "adapter ok", "permission denied role_denied"]);
}

#[test]
fn scene_b_devops_in_a_workflow_runs_and_is_written_down() {
    let example = example(Person::No);
    let (envelope, intent, outcome) = example.call("DevOps", deploying(), "analytics");
    assert_eq!(envelope.error.map(|error| error.message.clone()), None);
    assert_eq!(envelope.data["row_count"], 1, "{:#}", envelope.data);
    assert_eq!(envelope.data["rows"][0]["name"], "visits");
    let risk = envelope.metadata.risk.unwrap();
    assert_eq!(risk.level, "medium");
    assert_eq!(risk.reasons, ["the tool's base risk is high", "it acts on production"]);
    assert_eq!(outcome.facts.risk, Some(35));
    assert_eq!(outcome.facts.layer, Some(2));
    assert!(intent.is_some() && example.asked() == 0, "medium risk is on disk before it runs and asks nobody");
    assert_eq!(outcome.facts.targets[0], "analytics");
    assert!(outcome.facts.args.is_some(), "a call of medium risk keeps its arguments");
    // The server is not asked again.
    let replayed = block_on(example.runtime.replay(&outcome.call_id)).unwrap();
    assert!(replayed.is_same() && replayed.rerun.as_ref().unwrap().crossings > 0, "{replayed:#?}");
}

#[test]
fn scene_c_devops_without_a_purpose_needs_a_person_who_says_yes_or_no() {
    for (person, code) in [(Person::Yes, 200), (Person::No, 403)] {
        let example = example(person);
        let (envelope, intent, outcome) = example.call("DevOps", Situation::default(), "user_profiles");
        assert_eq!(envelope.code(), code, "{envelope:#?}");
        assert_eq!(outcome.facts.risk, Some(78));
        let expected = [
            "the tool's base risk is high +25",
            "it acts on production +10",
            "no workflow is active +8",
            "no purpose is stated +5",
            "the agent explores +10",
            "it reaches personal data +20",
        ];
        assert_eq!(outcome.facts.risk_factors, expected);
        assert_eq!((outcome.facts.layer, outcome.facts.approver.as_deref()), (Some(3), Some("tester")));
        assert_eq!((example.asked(), intent.is_some()), (1, code == 200));
        let kind = envelope.error.map(|error| error.kind.name());
        assert_eq!(kind, (code == 403).then_some("approval_denied"));
    }
}
