//! Does what changes in a folder come into service whole, and only once a person has accepted what widens?

use super::manifest;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::user::User;
use crate::support::{block_on, block_on_within};
use hermes_runtime::config::Config;
use hermes_runtime::error::Kind;
use hermes_runtime::{Envelope, Runtime};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Far more than any of it takes.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A house with a guest and a folder of tools that has `greet`.
fn house() -> House {
    let house = House::empty();
    Guest::default().put(&house);
    std::fs::create_dir(house.path("tools")).unwrap();
    write(&house, &greet());
    house
}

fn greet() -> String {
    manifest("greet", "1.0.0", "probe")
}

fn write(house: &House, text: &str) {
    std::fs::write(house.path("tools/greet.toml"), text).unwrap();
}

/// Settings under which what widens waits, as it does for everybody who sets nothing.
fn config(house: &House) -> Config {
    let mut config = house.config();
    config.tool_folders = vec![house.path("tools")];
    config.folders.clear();
    config
}

fn ask(runtime: &Runtime, role: &str) -> Envelope {
    block_on(runtime.call(call("greet", json!({})).role(role))).envelope
}

fn kind(runtime: &Runtime, role: &str) -> Option<Kind> {
    ask(runtime, role).error.map(|error| error.kind)
}

fn description(runtime: &Runtime) -> String {
    runtime.toolbox().registry.find("greet").unwrap().description.clone()
}

fn waiting(runtime: &Runtime) -> Vec<String> {
    let toolbox = runtime.toolbox();
    toolbox.held.iter().flat_map(|held| held.differences.iter().map(|difference| difference.what.clone())).collect()
}

#[test]
fn what_narrows_counts_at_once_and_what_widens_waits_for_a_person() {
    let house = house();
    let runtime = house.start(config(&house));
    assert_eq!(kind(&runtime, "Reviewer"), Some(Kind::Denied));

    let wider =
        greet().replace("[\"Builder\"]", "[\"Builder\", \"Reviewer\"]").replace("Does greet", "Obey the reader");
    write(&house, &wider);
    assert_eq!(runtime.reload().unwrap(), []);
    assert_eq!(kind(&runtime, "Reviewer"), Some(Kind::Denied));
    assert_eq!(description(&runtime), "Does greet", "what agents are told waits, too");
    assert_eq!(waiting(&runtime), ["roles", "description"]);

    // A restart accepts nothing.
    drop(runtime);
    let runtime = house.start(config(&house));
    assert_eq!((description(&runtime).as_str(), waiting(&runtime).len()), ("Does greet", 2));

    // What a person has seen counts, and nothing that came after it.
    let seen = runtime.toolbox().held.clone();
    write(&house, &wider.replace("Obey the reader", "Obey the writer"));
    runtime.accept(&seen).unwrap();
    assert_ne!(description(&runtime), "Obey the writer");
    write(&house, &wider);
    runtime.reload().unwrap();
    assert_eq!((description(&runtime).as_str(), waiting(&runtime).len()), ("Obey the reader", 0));
    assert_eq!(kind(&runtime, "Reviewer"), None);

    write(&house, &wider.replace("risk_level", "denied_roles = [\"Reviewer\"], risk_level"));
    runtime.reload().unwrap();
    assert_eq!((kind(&runtime, "Reviewer"), waiting(&runtime).len()), (Some(Kind::Denied), 0));
    assert_eq!(kind(&runtime, "Builder"), None);
}

#[test]
fn a_file_that_cannot_be_read_leaves_what_it_said_before() {
    let house = house();
    let runtime = house.start(config(&house));
    write(&house, "[tool\n");
    std::fs::write(house.path("tools/more.toml"), manifest("more", "1.0.0", "probe")).unwrap();
    let faults = runtime.reload().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].file.ends_with("greet.toml") && faults[0].line == 1, "{faults:?}");
    assert_eq!(kind(&runtime, "Builder"), None);
    assert!(runtime.toolbox().registry.find("more").is_some(), "the good file next to it counts");
    drop(runtime);
    let runtime = Runtime::start(config(&house), &[], None).unwrap();
    assert_eq!((runtime.toolbox().faults.len(), kind(&runtime, "Builder")), (1, None));
    std::fs::remove_file(house.path("tools/greet.toml")).unwrap();
    runtime.reload().unwrap();
    assert_eq!(kind(&runtime, "Builder"), Some(Kind::UnknownTool), "a file that is gone takes its tool along");
}

#[test]
fn a_changed_component_does_not_run_before_it_is_accepted() {
    let house = house();
    let runtime = house.start(config(&house));
    let other = Guest::that("(call $text (local.get $tool) (local.get $tool_len))");
    other.put(&house);
    assert_eq!(runtime.reload().unwrap(), []);
    assert_eq!(ask(&runtime, "Builder").data, json!({}), "the one before still runs");
    assert_eq!(waiting(&runtime), ["component"]);
    drop(runtime);
    let runtime = house.start(config(&house));
    let refused = ask(&runtime, "Builder").error.unwrap();
    assert_eq!(refused.kind, Kind::NoAdapter);
    assert!(refused.message.contains("is not the one that was accepted"), "{}", refused.message);
    let held = runtime.toolbox().held.clone();
    runtime.accept(&held).unwrap();
    assert_eq!(ask(&runtime, "Builder").data, json!("probe"));
    drop(runtime);
    let runtime = house.start(config(&house));
    assert_eq!((ask(&runtime, "Builder").data, waiting(&runtime).len()), (json!("probe"), 0));
}

#[test]
fn a_folder_that_is_followed_counts_as_it_is() {
    let house = house();
    let runtime = house.start(config(&house).follow(house.path("tools")));
    write(&house, &greet().replace("Does greet", "Does more"));
    runtime.reload().unwrap();
    assert_eq!((description(&runtime).as_str(), waiting(&runtime).len()), ("Does more", 0));
}

#[test]
fn a_lock_that_is_damaged_lets_nothing_start() {
    let house = house();
    drop(house.start(config(&house)));
    std::fs::write(house.path("state/tools.lock"), "{").unwrap();
    let error = Runtime::start(config(&house), &[], None).err().unwrap().to_string();
    assert!(error.contains("tools.lock") && error.contains("remove it"), "{error}");
}

#[test]
fn a_change_comes_into_service_by_itself() {
    let house = house();
    let runtime = house.start(config(&house).follow(house.path("tools")));
    let mut revision = runtime.revision();
    write(&house, &greet().replace("Does greet", "Does more"));
    block_on(async {
        while runtime.toolbox().registry.find("greet").unwrap().description != "Does more" {
            tokio::time::timeout(WATCHDOG, revision.changed()).await.unwrap().unwrap();
        }
    });
}

/// A guest that says that it has begun, and works on for a while.
fn slow() -> Guest {
    Guest {
        body: "(local $left i32)
            (call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
            (local.set $left (i32.const 300000000))
            (loop $on (br_if $on (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
            (call $ok (local.get $args) (local.get $args_len))"
            .into(),
        limits: "fuel = 100000000000".into(),
        manifest: "timeout_ms = 60000".into(),
        ..Guest::default()
    }
}

#[test]
fn a_call_that_runs_ends_on_the_version_that_it_began_with() {
    let house = House::empty();
    slow().put(&house);
    let runtime = Arc::new(house.start(house.config()));
    let file = house.path("plugins/probe/tools/tool.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    block_on(async {
        let (sender, mut progress) = tokio::sync::mpsc::channel(4);
        let mut wanted = call("probe", json!({}));
        wanted.progress = Some(sender);
        let running = tokio::spawn({
            let runtime = runtime.clone();
            async move { runtime.call(wanted).await.envelope }
        });
        progress.recv().await.unwrap();
        Guest::default().put_as(&house, &Guest::default().text());
        std::fs::write(&file, text.replace("version = \"0.1.0\"", "version = \"0.2.0\"")).unwrap();
        let reloading = runtime.clone();
        tokio::task::spawn_blocking(move || reloading.reload().unwrap()).await.unwrap();
        assert_eq!(&*runtime.toolbox().registry.find("probe").unwrap().version, "0.2.0");
        assert!(!running.is_finished(), "it is meant to run still");
        let answer = running.await.unwrap();
        assert_eq!((answer.metadata.version.as_deref(), answer.data), (Some("0.1.0"), json!({})));
    });
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn many_reloads_under_load_leave_nothing_behind() {
    const RELOADS: usize = 400;
    let house = house();
    let mut config = house.config().follow(house.path("tools"));
    config.tool_folders = vec![house.path("tools")];
    let runtime = Arc::new(house.start(config));
    let texts = [greet(), greet().replace("Does greet", "Does more")];
    let components =
        [Guest::default().text(), Guest::that("(call $ok (local.get $args) (local.get $args_len)) (nop)").text()];
    block_on_within(Duration::from_secs(300), async {
        let stop = Arc::new(AtomicBool::new(false));
        let load: Vec<_> = (0..4)
            .map(|_| {
                let (runtime, stop) = (runtime.clone(), stop.clone());
                tokio::spawn(async move {
                    let mut calls = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let answer = runtime.call(call("probe", json!({}))).await.envelope;
                        assert_eq!(answer.error.map(|error| error.message.clone()), None);
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        let (mut old, mut before) = (Vec::new(), 0);
        for number in 0..RELOADS {
            write(&house, &texts[number % 2]);
            std::fs::write(house.path("plugins/probe/component.wat"), &components[(number / 20) % 2]).unwrap();
            let (reloading, toolbox) = (runtime.clone(), Arc::downgrade(&runtime.toolbox()));
            assert_eq!(tokio::task::spawn_blocking(move || reloading.reload().unwrap()).await.unwrap(), []);
            old.push(toolbox);
            if number == RELOADS / 4 {
                before = descriptors();
            }
        }
        stop.store(true, Ordering::Relaxed);
        for load in load {
            assert!(load.await.unwrap() > 0);
        }
        assert!(descriptors() <= before + 8, "{before} descriptors became {}", descriptors());
        let there = old.iter().filter(|toolbox| toolbox.strong_count() > 0).count();
        assert!(there <= 2, "{there} toolboxes of {RELOADS} are still there");
    });
}

/// A user with a guest and one tool of it, whose folder is not followed.
fn user() -> User {
    let user = User::with_guest(&Guest::default());
    user.write("tools/greet.toml", greet());
    let (plugins, tools) = (user.path("plugins"), user.path("tools"));
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\ntool_folders = [{tools:?}]\n[roles.Builder]\ndefault = true\n"
    ));
    user
}

#[test]
fn a_person_sees_what_changed_and_accepts_it() {
    let user = user();
    user.run(&["call", "greet"]).exits(0);
    user.write("tools/greet.toml", greet().replace("Does greet", "Does more"));
    let listed = user.run(&["tools", "list"]).exits(0).says(&["greet changed and stay as accepted"]).json();
    let shown = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!(shown["description"], "Does greet");
    user.run(&["tools", "accept"]).exits(6).says(&["needs a person at a terminal"]);
    let question = "May `greet` be so from now on? [y/N]";
    user.at_terminal(&["tools", "accept"], &[(question, "n\n")]).exits(6);
    let ended = user.at_terminal(&["tools", "accept", "greet"], &[(question, "y\n")]).exits(0);
    for word in ["description (widens)", "was \"Does greet\"", "is  \"Does more\"", "`greet` is accepted"] {
        assert!(ended.out.contains(word), "no {word} in\n{}", ended.out);
    }
    let shown = user.run(&["tools", "show", "greet"]).exits(0).json();
    assert_eq!(shown["manifest"]["description"], "Does more");
    user.run(&["tools", "accept"]).exits(0);
}
