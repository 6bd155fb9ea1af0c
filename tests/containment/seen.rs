//! What does a person see of a command, what does a program see of the runtime, and what does no adapter see?

use super::start;
use crate::support::house::{House, call};
use crate::support::people::{Channel, Person};
use crate::support::user::User;
use crate::support::{block_on, block_on_within};
use hermes_runtime::permission::approval::Approver;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Who approves sees all of what will run, whatever stands in it, and only that runs.
#[test]
fn a_person_sees_the_whole_command() {
    let house = House::with_files();
    std::fs::create_dir(house.path("workspace/scratch")).unwrap();
    house.write("scratch/keep.txt", "kept");
    let person = Arc::new(Channel::new(Person::No));
    let runtime = house.start_with(house.config(), Some(person.clone() as Arc<dyn Approver>));
    let long = format!("{}rm scratch/keep.txt", (0..300).map(|n| format!("echo line {n}\n")).collect::<String>());
    let deceptive =
        ["echo safe \u{1b}[2K\rrm scratch/keep.txt", "echo \u{202e}txt.peek/hctarcs mr", "echo a\rrm scratch/keep.txt"];
    // In a role in which everything that does not only read asks.
    let run = async |command: &str| {
        runtime.call(call("terminal", json!({ "command": command })).role("guest")).await.envelope
    };
    block_on(async {
        let envelope = run(&long).await;
        assert_eq!(envelope.error.unwrap().kind.name(), "approval_denied");
        for command in deceptive {
            let envelope = run(command).await;
            assert_eq!(envelope.error.unwrap().kind.name(), "approval_denied", "{command:?}");
        }
        let huge = run(&format!("echo {}", "x".repeat(200 << 10))).await.error.unwrap();
        assert_eq!((huge.code, huge.kind.name()), (400, "invalid_input"), "{huge:#?}");
    });
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 1 + deceptive.len());
    let whole = |args: &str| serde_json::from_str::<Value>(args).unwrap()["command"].as_str().unwrap().to_owned();
    assert_eq!(whole(&asked[0].args), long);
    assert!(asked[0].targets.iter().any(|target| target == "rm scratch/keep.txt"), "{:?}", asked[0].targets.last());
    for (request, command) in asked[1..].iter().zip(deceptive) {
        assert_eq!(whole(&request.args), command);
        let shown = format!("{:?}{:?}", request.targets, request.effect);
        assert!(shown.contains("cannot be judged"), "{shown}");
    }
    assert_eq!(house.read("scratch/keep.txt"), "kept");
}

/// Variables of whoever starts the runtime, secrets under any name among them, reach no program and no record.
#[test]
fn the_environment_of_the_runtime_reaches_no_program() {
    let mut user = User::builder();
    let secrets = [("OPENAI_API_KEY", "canary-k1"), ("TDR_AUDIT_KEY", "canary-k2"), ("FOO_SESSION_0", "canary-k3")];
    user.environment.extend(secrets.map(|(name, value)| (name.to_owned(), value.to_owned())));
    user.environment.push(("LD_PRELOAD".into(), "/canary-none.so".into()));
    std::fs::write(
        user.path("workspace/test_env.py"),
        "def test_env():\n    import os; print(dict(os.environ)); assert 0\n",
    )
    .unwrap();
    let calls = [
        r#"{"tool": "terminal", "args": {"command": "env; cat /proc/$PPID/environ /proc/1/environ; true"}}"#,
        r#"{"tool": "pytest", "args": {}}"#,
        r#"{"tool": "git", "args": {"subcommand": "var", "args": ["-l"]}}"#,
    ];
    let ended = user.run_with(&["call", "--batch", "-", "--output", "ndjson"], &calls.join("\n"));
    assert_eq!(ended.lines().len(), calls.len(), "{ended:#?}");
    assert!(
        ended.lines()[0]["data"]["stdout"].as_str().unwrap_or_default().contains("HOME=/var/agent"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("canary"), "{}", ended.out);
    let journal = std::fs::read(user.state().join("journal.db")).unwrap();
    let wal = std::fs::read(user.state().join("journal.db-wal")).unwrap_or_default();
    let has = |bytes: &[u8]| bytes.windows(8).any(|part| part == b"canary-k");
    assert!(!has(&journal) && !has(&wal), "a record has a secret of the environment");
}

/// What is kept from tools is kept from a project's tests as well, and from the browser.
#[test]
fn what_is_kept_from_tools_is_kept_from_every_adapter() {
    let house = House::with_files();
    std::fs::create_dir(house.path("workspace/keys")).unwrap();
    for file in [".env", "keys/id"] {
        house.write(file, "API_KEY=canary-4711\n");
    }
    std::os::unix::fs::symlink(".env", house.path("workspace/x")).unwrap();
    house.write(
        "test_print.py",
        "def test_print():\n    print(open('.env').read(), open('keys/id').read()); assert 0\n",
    );
    let mut config = house.config();
    config.protected.extend([house.path("workspace/.env"), house.path("workspace/keys")]);
    let runtime = start(&house, config);
    let calls = [
        ("file_read", json!({ "path": ".env" })),
        ("file_read", json!({ "path": "a/../.env" })),
        ("file_read", json!({ "path": "x" })),
        ("file_search", json!({ "query": "API_KEY" })),
        ("file_list", json!({ "path": "keys" })),
        ("terminal", json!({ "command": "cat .env x .e* keys/*; grep KEY .e*; cd keys; cat *" })),
        ("terminal", json!({ "command": "python3 -c \"print(open('.env').read())\"" })),
        ("pytest", json!({})),
        ("git", json!({ "subcommand": "show", "args": ["HEAD:.env"] })),
        ("git", json!({ "subcommand": "diff", "args": ["--no-index", "/dev/null", ".env"] })),
        ("browser_navigate", json!({ "url": "file:///workspace/.env" })),
    ];
    block_on_within(Duration::from_secs(120), async {
        for (tool, args) in calls {
            let envelope = runtime.call(call(tool, args.clone())).await.envelope;
            let text = serde_json::to_string(&envelope).unwrap();
            assert!(!text.contains("canary"), "{tool} {args}: {text}");
            assert!(tool == "file_search" || envelope.error.is_some(), "{tool} {args}: {text}");
            assert!(tool != "file_search" || text.contains("polic") || text.contains("skipped"), "{text}");
        }
    });
}
