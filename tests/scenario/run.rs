//! How does a scenario run? Set-up, calls, answers, records, and what is there afterwards.

use super::format::{self, Scenario, Step};
use super::{matcher, setup};
use crate::support::house::{House, copy_folder, project, rewrite_manifests};
use crate::support::people::{Channel, Person};
use crate::support::server::Server;
use crate::support::{block_on, child, records};
use hermes_runtime::call::{Arguments, Caller, Situation};
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::{Call, Runtime};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A user whom the system gives nothing.
const NOBODY: u32 = 65534;

/// Runs the scenario of a folder.
pub(crate) fn run(name: &str) {
    run_with(name, House::with_files(), |text| text.to_owned());
}

/// The folders of scenarios.
pub(crate) fn folder() -> PathBuf {
    project().join("tests/scenarios")
}

/// Runs a scenario in a house, with its texts rewritten.
pub(crate) fn run_with(name: &str, house: House, rewrite: impl Fn(&str) -> String) {
    let folder = folder().join(name);
    let text = rewrite(&std::fs::read_to_string(folder.join("scenario.toml")).unwrap());
    let server = text.contains("$pages").then(Server::start);
    let text = server.as_ref().map_or(text.clone(), |server| text.replace("$pages", &server.host()));
    let scenario = format::parse(name, &text);
    for page in &scenario.pages {
        server.iter().for_each(|server| server.page(&page.path, page.body.as_str()));
    }
    scenario.guests.iter().for_each(|guest| guest.put(&house));
    for part in ["plugins", "tools"] {
        if folder.join(part).is_dir() {
            copy_folder(&folder.join(part), &house.path(part));
            rewrite_manifests(&house.path(part), &rewrite);
        }
    }
    setup::make(&house, &scenario.setup);
    match scenario.unprivileged && rustix::process::geteuid().is_root() {
        true => run_as_nobody(&house, &text),
        false => block_on(play(&house, &scenario)),
    }
}

/// The system refuses its administrator nothing, so the rest happens in a copy of this program that is nobody.
fn run_as_nobody(house: &House, text: &str) {
    std::fs::write(house.path("scenario.toml"), text).unwrap();
    give_away(house.root());
    house.put_helper();
    let mut command = child::command("scenario::run::plays_as_nobody", house.root());
    let child = command.current_dir("/").uid(NOBODY).gid(NOBODY).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

/// Does nothing unless [`run_as_nobody`] started it.
#[test]
fn plays_as_nobody() {
    let Some(house) = child::house() else { return };
    let text = std::fs::read_to_string(house.path("scenario.toml")).unwrap();
    assert!(!rustix::process::geteuid().is_root());
    block_on(play(&house, &format::parse("of another process", &text)));
}

async fn play(house: &House, scenario: &Scenario) {
    let before = setup::look(house);
    let channel = Arc::new(Channel::new(scenario.approver));
    let approver = (scenario.approver != Person::Missing).then(|| channel.clone() as Arc<dyn Approver>);
    let runtime = Arc::new(Runtime::start(config(house, scenario), &[], approver).unwrap());
    check_faults(&runtime, scenario);
    let state_dir = runtime.config().state_dir.clone();

    let mut answers = Vec::new();
    for step in &scenario.calls {
        let given = answers_of(&runtime, scenario, step, &answers).await;
        assert!(runtime.flush().await, "the journal could not be written");
        for answer in &given {
            check_answer(house, &state_dir, step, answer);
        }
        answers.extend(given.first().map(|answer| serde_json::to_value(answer).unwrap()));
    }

    let changes: Vec<String> = setup::changed(&before, &setup::look(house));
    let changes: Vec<&String> = changes.iter().filter(|path| !house.path(path).starts_with(&state_dir)).collect();
    assert_eq!(changes, scenario.changed.iter().collect::<Vec<_>>(), "what was changed");
    scenario.after.iter().for_each(|after| setup::check(house, after));
    assert_eq!(channel.asked.lock().unwrap().len(), scenario.asked, "how often a person was asked");
    let verification = records::verified(&state_dir);
    assert!(verification.unknown.is_empty(), "calls without an outcome: {:?}", verification.unknown);
}

/// The scenario's configuration over that of the house, read as a user's file.
fn config(house: &House, scenario: &Scenario) -> Config {
    let origin = Origin::User(house.path("hermes.toml"));
    let peer = project().join("tests/peers/peer.py");
    let text = toml::to_string(&scenario.configuration).unwrap().replace("$peer", &peer.to_string_lossy());
    Config::load(house.config(), &[Source { origin, text, trusted: true }]).unwrap().config
}

fn check_faults(runtime: &Runtime, scenario: &Scenario) {
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(|fault| fault.to_string()).collect();
    assert_eq!(faults.len(), scenario.faults.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(&scenario.faults) {
        assert!(fault.contains(expected.as_str()), "`{expected}` is not in `{fault}`");
    }
}

async fn answers_of(runtime: &Arc<Runtime>, scenario: &Scenario, step: &Step, answers: &[Value]) -> Vec<Envelope> {
    let mut running = Vec::new();
    for _ in 0..step.times {
        let call = call(scenario, step, answers);
        let runtime = runtime.clone();
        running.push(tokio::spawn(async move { runtime.call(call).await.envelope }));
    }
    let mut given = Vec::new();
    for answer in running {
        given.push(answer.await.unwrap());
    }
    given
}

fn call(scenario: &Scenario, step: &Step, answers: &[Value]) -> Call {
    let args = match (&step.args, &step.json) {
        (_, Some(text)) => Arguments::Json(text.clone()),
        (args, None) => {
            let mut args = serde_json::to_value(args.clone().unwrap_or_default()).unwrap();
            fill_in(&mut args, answers);
            Arguments::Value(args)
        }
    };
    let role = step.role.as_ref().unwrap_or(&scenario.role).clone();
    let said = &scenario.situation;
    let situation = Situation {
        workflow: said.workflow.clone(),
        purpose: said.purpose.clone(),
        mode: said.mode,
        ..Situation::default()
    };
    let call = Call::new(step.tool.as_str(), Value::Null)
        .caller(Arc::new(Caller { id: "scenario".into(), role }))
        .situation(Arc::new(situation));
    Call { args, ..call }
}

/// Puts parts of earlier answers into arguments.
fn fill_in(args: &mut Value, answers: &[Value]) {
    match args {
        Value::String(text) => {
            if let Some(pointer) = text.strip_prefix("$answer ") {
                let all = Value::Array(answers.to_vec());
                *args = all.pointer(pointer).unwrap_or_else(|| panic!("no answer has {pointer}")).clone();
            }
        }
        Value::Object(members) => members.values_mut().for_each(|member| fill_in(member, answers)),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(item, answers)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_answer(house: &House, state_dir: &Path, step: &Step, answer: &Envelope) {
    let value = serde_json::to_value(answer).unwrap();
    let text = value.to_string();
    let tool = &step.tool;
    assert!(!text.contains(&*house.root().to_string_lossy()), "the answer names a host path: {text}");

    let expected = serde_json::to_value(&step.expect).unwrap();
    let found = matcher::differences(&expected, &value);
    assert!(found.is_empty(), "the answer of `{tool}` differs:\n{}\nof\n{value:#}", found.join("\n"));

    let (intent, outcome) = records::of_call(state_dir, &answer.metadata.call_id);
    assert_eq!(outcome.code, Some(answer.code()), "code in the record");
    if let Some(steps) = &step.steps {
        assert_eq!(records::steps(&outcome), *steps, "steps of `{tool}` in the record");
    }
    if let Some(expected) = step.intent {
        assert_eq!(intent.is_some(), expected, "intent of `{tool}`");
    }
    let expected = serde_json::to_value(&step.record).unwrap();
    let found = matcher::differences(&expected, &serde_json::to_value(&outcome).unwrap());
    assert!(found.is_empty(), "the record of `{tool}` differs:\n{}", found.join("\n"));
}
