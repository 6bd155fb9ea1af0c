//! What does each role get of each tool, and what does each dimension of risk add? The tools that are shipped and those
//! of the example, judged and not run. Each pair of calls differs in one dimension only.

use crate::support::block_on;
use crate::support::house::{House, copy_folder, project};
use hermes_runtime::call::{Caller, Mode, Situation};
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::permission::explain::{Explanation, Outcome};
use hermes_runtime::record::History;
use hermes_runtime::{Call, Runtime};
use serde_json::{Value, json};
use std::sync::Arc;

struct World {
    _house: House,
    runtime: Runtime,
}

fn world(more: &str) -> World {
    let house = House::with_files();
    copy_folder(&project().join("host/runtime/examples/production-database"), &house.path("example"));
    let file = house.path("example/hermes.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    // The servers of the example are not needed to judge.
    let text = text.split("[mcp").next().unwrap().to_owned() + more;
    let source = Source { origin: Origin::User(file), text, trusted: false };
    let config = Config::load(house.config(), &[source]).unwrap().config;
    let runtime = Runtime::start(config, &[], None).unwrap();
    World { _house: house, runtime }
}

impl World {
    fn judge(&self, role: &str, situation: Situation, history: History, tool: &str, args: Value) -> Explanation {
        let call = Call::new(tool, args)
            .caller(Arc::new(Caller { id: "c".into(), role: role.into() }))
            .situation(Arc::new(situation));
        block_on(self.runtime.explain(&call, Some(history))).unwrap()
    }
}

fn exploring() -> Situation {
    Situation::default()
}

fn building() -> Situation {
    Situation {
        workflow: Some("build".into()),
        mode: Mode::Workflow,
        purpose: Some("run the tests".into()),
        task: None,
    }
}

#[test]
fn each_role_gets_of_each_tool_what_the_manifests_say() {
    let world = world("");
    let tools = ["file_read", "file_write", "terminal", "db_query", "deploy"];
    let expected = [
        ("Builder", ["runs low", "runs medium", "runs medium", "-", "-"]),
        ("Reviewer", ["runs low", "-", "-", "-", "-"]),
        ("DevOps", ["runs low", "runs medium", "runs medium", "asks high", "asks high"]),
        ("DataEngineer", ["runs low", "-", "-", "asks high", "-"]),
        ("Admin", ["runs low", "runs medium", "runs medium", "asks high", "asks high"]),
    ];
    for (role, cells) in expected {
        for (tool, cell) in tools.iter().zip(cells) {
            let found = world.runtime.explain_role(role, tool, &Arc::new(exploring())).unwrap();
            let shown = match (found.outcome, found.level) {
                (Outcome::Denied, _) => "-".to_owned(),
                (Outcome::Asks, level) => format!("asks {}", level.unwrap()),
                (Outcome::Runs, level) => format!("runs {}", level.unwrap()),
            };
            assert_eq!(shown, cell, "{role} {tool}: {found:#?}");
        }
    }
}

#[test]
fn a_target_makes_the_difference() {
    let world = world("");
    let write = |path: &str| {
        let args = json!({ "path": path, "mode": "create", "content": "x" });
        world.judge("Builder", exploring(), History::default(), "file_write", args)
    };
    let (test, production) = (write("tests/test_a.py"), write("deploy/production.toml"));
    assert_eq!((test.risk, test.outcome), (Some(33), Outcome::Runs));
    assert_eq!((production.risk, production.outcome), (Some(68), Outcome::Asks));
    assert_eq!(production.labels, ["production_configuration"]);
    assert_eq!(write("rules/a.cedar").outcome, Outcome::Asks, "editing a policy asks");
}

#[test]
fn a_situation_makes_the_difference() {
    let world = world("");
    let run = |situation| {
        world.judge("Builder", situation, History::default(), "terminal", json!({ "command": "cargo build" }))
    };
    let (working, exploring) = (run(building()), run(exploring()));
    assert_eq!((working.risk, working.level), (Some(20), Some("low")));
    assert_eq!((exploring.risk, exploring.level), (Some(43), Some("medium")));
}

#[test]
fn a_past_makes_the_difference() {
    let world = world("");
    let run = |history| world.judge("Builder", exploring(), history, "terminal", json!({ "command": "cargo build" }));
    let calm = run(History::default());
    let wild = run(History { high: 5, ..History::default() });
    assert_eq!((calm.risk, calm.outcome), (Some(43), Outcome::Runs));
    assert_eq!((wild.risk, wild.outcome), (Some(63), Outcome::Asks));
    let read = |history| world.judge("Builder", exploring(), history, "file_read", json!({ "path": "a" })).risk;
    let worst = History { high: 10, denials: 9, tainted: true, halted: false };
    assert_eq!(read(History::default()), read(worst), "a past adds nothing to a workspace read of plain data");
}

#[test]
fn data_makes_the_difference() {
    let world = world(
        "\n[[labels]]\ntarget = \"content\"\nlabels = [\"public\"]\n[[labels]]\ntarget = \"analytics\"\nlabels = [\"financial\"]\n",
    );
    let query = |database: &str| {
        let args = json!({ "query": "SELECT 1", "database": database });
        world.judge("DevOps", building(), History::default(), "database_query", args)
    };
    let risks = ["content", "user_profiles", "analytics"].map(|database| query(database).risk.unwrap());
    assert_eq!(risks, [35, 55, 65], "public, personal, financial");
}

#[test]
fn what_destroys_is_high_or_denied() {
    let world = world("");
    let deploy = world.judge(
        "DevOps",
        exploring(),
        History::default(),
        "deploy",
        json!({ "environment": "production", "version": "v1.2.3" }),
    );
    assert_eq!((deploy.outcome, deploy.level), (Outcome::Asks, Some("high")));
    let call = Call::new("database_query", json!({ "query": "DROP TABLE visits", "database": "analytics" }))
        .caller(Arc::new(Caller { id: "c".into(), role: "Admin".into() }));
    assert!(block_on(world.runtime.explain(&call, None)).is_err(), "the manifest lets no such text through");
    let sneaked = world.judge(
        "Admin",
        building(),
        History::default(),
        "database_query",
        json!({ "query": "SELECT 1; ALTER TABLE visits ADD x INT", "database": "analytics" }),
    );
    assert_eq!((sneaked.outcome, sneaked.effect), (Outcome::Asks, "destructive"));
}

#[test]
fn an_operator_and_a_guest_read_the_workspace_and_are_asked_about_the_rest() {
    let world = world("");
    let outcome =
        |role: &str, tool: &str, args: Value| world.judge(role, exploring(), History::default(), tool, args).outcome;
    for role in ["operator", "guest"] {
        assert_eq!(outcome(role, "file_read", json!({ "path": "a" })), Outcome::Runs);
        assert_eq!(outcome(role, "terminal", json!({ "command": "ls" })), Outcome::Runs);
        assert_eq!(outcome(role, "git", json!({ "subcommand": "log" })), Outcome::Runs);
        assert_eq!(outcome(role, "git", json!({ "subcommand": "push" })), Outcome::Asks);
        assert_eq!(outcome(role, "terminal", json!({ "command": "rm a" })), Outcome::Asks);
        assert_eq!(outcome(role, "file_write", json!({ "path": "a", "mode": "create", "content": "" })), Outcome::Asks);
    }
}
