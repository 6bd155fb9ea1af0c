//! With which code does the command exit, and what does it say? Every class of outcome, without a terminal.

use crate::support::guest::Guest;
use crate::support::records;
use crate::support::user::{User, finish};
use serde_json::json;
use std::io::Read;

const LOOP: &str = "(loop $on (br $on)) unreachable";

#[test]
fn a_call_that_works_exits_with_0_and_leaves_one_record() {
    let user = User::new();
    user.write("workspace/a.txt", "one\n");
    let answer = user.run(&["call", "file_read", "path=a.txt"]).exits(0);
    assert_eq!(answer.json()["data"]["text"], "one\n");
    assert_eq!(answer.err, "");
    let call_id = answer.json()["metadata"]["call_id"].as_str().unwrap().to_owned();
    let (intent, outcome) = records::of_call(&user.state(), &call_id);
    assert!(intent.is_none() && outcome.error.is_none());
    let shown = user.run(&["audit", "show", &call_id]).exits(0).json();
    assert_eq!(shown[0]["record"]["call_id"], json!(call_id));
    assert_eq!(user.run(&["audit", "verify"]).exits(0).json()["records"], 1);
    user.run(&["doctor"]).exits(0);
}

#[test]
fn wrong_options_exit_with_2_and_start_nothing() {
    let user = User::new();
    let wrong: &[&[&str]] = &[
        &[],
        &["frobnicate"],
        &["call"],
        &["call", "file_read", "path=a", "--output", "xml"],
        &["call", "file_read", "path=a", "--args", "{}"],
        &["call", "file_read", "--batch", "-"],
        &["call", "file_read", "--mode", "workflow"],
        &["call", "file_read", "--grant", "data"],
        &["call", "file_read", "--grant", "Data=."],
        &["call", "file_read", "--grant", "data=missing"],
        &["call", "file_read", "--grant", "workspace=."],
        &["call", "file_read", "--config", "missing.toml"],
        &["call", "file_read", "--workspace", "missing"],
    ];
    for args in wrong {
        let ended = user.run(args).exits(2);
        assert!(ended.out.is_empty() && !ended.err.is_empty(), "{args:?}: {ended:?}");
    }
    assert!(!user.state().exists(), "a command that was refused has made a journal");
}

#[test]
fn an_adapter_that_cannot_be_used_exits_with_4() {
    let user = User::with_guest(&Guest::default());
    user.write("plugins/probe/component.wat", "(component");
    let ended = user.run(&["call", "probe"]).exits(4).says(&["plugins/probe/adapter.toml", "probe"]);
    assert_eq!(ended.kind(), "no_adapter");
    std::fs::remove_file(user.path("plugins/probe/component.wat")).unwrap();
    user.run(&["call", "probe"]).says(&["component.wat", "build the plugin, or correct `component`"]);
}

#[test]
fn a_state_folder_that_is_none_exits_with_4() {
    let user = User::new();
    user.write("state", "a file");
    let ended = user.run(&["call", "file_list"]).exits(4).says(&["the state folder", "set `state_dir`"]);
    assert_eq!(ended.out, "");
    user.run(&["doctor"]).exits(4);
}

#[test]
fn a_damaged_journal_is_named_and_left_alone() {
    let user = User::new();
    let junk = "this is no database at all\n".repeat(1000);
    let file = user.write("state/hermes-dispatch/journal.db", &junk);
    let words = ["journal.db", "not a database"];
    user.run(&["call", "file_list"]).exits(4).says(&words).says(&["move the file away and keep it"]);
    user.run(&["audit", "list"]).exits(10).says(&words);
    user.run(&["audit", "verify"]).exits(10);
    let doctor = user.run(&["doctor"]).exits(4);
    assert!(doctor.out.contains("not a database"), "{}", doctor.out);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), junk);
    std::fs::remove_file(file).unwrap();
    user.run(&["audit", "list"]).exits(4).says(&["there is no journal at", "the first call makes it"]);
    user.run(&["call", "file_list"]).exits(0);
}

#[test]
fn an_unknown_name_exits_with_5_and_near_names() {
    let user = User::new();
    let answer = user.run(&["call", "file_raed", "path=a"]).exits(5);
    assert_eq!(answer.kind(), "unknown_tool");
    assert!(answer.out.contains("file_read"), "{}", answer.out);
    user.run(&["tools", "show", "file_raed"]).exits(5).says(&["did you mean file_read"]);
    user.run(&["audit", "show", "nothing"]).exits(5).says(&["no call's id begins with `nothing`"]);
}

#[test]
fn a_tool_that_fails_exits_with_5() {
    let user = User::new();
    user.write("workspace/notes.txt", "");
    let answer = user.run(&["call", "file_read", "path=note.txt"]).exits(5);
    assert_eq!(answer.kind(), "tool_failed");
    assert!(answer.json()["error"]["hint"].as_str().unwrap().contains("/workspace/notes.txt"), "{}", answer.out);
}

#[test]
fn what_a_role_may_not_exits_with_6() {
    let user = User::new();
    user.configure("[roles.Reviewer]\ndefault = true\n");
    let answer = user.run(&["call", "file_write", "path=a", "mode=create", "content=x"]).exits(6);
    assert_eq!((answer.kind().as_str(), &answer.json()["error"]["step"]), ("denied", &json!("permission")));
    for path in ["/etc/passwd", "../..", "/workspace/../../etc/passwd"] {
        let answer = user.run(&["call", "file_read", &format!("path={path}")]).exits(6);
        assert_eq!(answer.kind(), "denied", "{path}");
    }
    assert!(user.workspace().is_empty());
}

#[test]
fn where_nobody_can_be_asked_a_write_exits_with_7() {
    let user = User::new();
    user.configure("[approval]\npark_wait_seconds = 0\n");
    let answer = user.run(&["call", "file_write", "path=a.txt", "mode=create", "content=x"]).exits(7);
    assert_eq!(answer.kind(), "approval_pending");
    assert!(user.workspace().is_empty());
    user.configure("[approval]\nunattended = \"deny\"\n");
    let answer = user.run(&["call", "file_write", "path=b.txt", "mode=create", "content=x"]).exits(7);
    assert_eq!(answer.kind(), "no_approver");
}

#[test]
fn all_problems_of_the_arguments_exit_with_8() {
    let user = User::new();
    let answer = user.run(&["call", "file_read", "pth=a.txt", "limit=many", "tail:=true"]).exits(8);
    let problems = answer.json()["error"]["problems"].as_array().unwrap().clone();
    let paths: Vec<&str> = problems.iter().map(|problem| problem["path"].as_str().unwrap()).collect();
    for path in ["/limit", "/path", "/pth", "/tail"] {
        assert!(paths.contains(&path), "{path} is not in {paths:?}");
    }
}

#[test]
fn a_conflict_exits_with_8_and_writes_nothing() {
    let user = User::builder();
    user.write("workspace/a.txt", "mine");
    let digest = format!("if_digest=blake3:{}", "0".repeat(64));
    let answer = user.run(&["call", "file_write", "path=a.txt", "mode=overwrite", "content=x", &digest]).exits(8);
    assert_eq!((answer.kind().as_str(), user.house().read("a.txt").as_str()), ("conflict", "mine"));
}

#[test]
fn a_component_at_its_limits_exits_with_9() {
    let user = User::with_guest(&Guest::that(LOOP));
    user.write("workspace/hermes.toml", "[ceiling]\nfuel = 100000\n");
    let answer = user.run(&["call", "probe"]).exits(9);
    assert_eq!(answer.kind(), "out_of_fuel");
    assert!(answer.out.contains("100000"), "the project's ceiling is not what ended it: {}", answer.out);
    let user = User::with_guest(&Guest::that("unreachable"));
    assert_eq!(user.run(&["call", "probe"]).exits(9).kind(), "trap");
}

#[test]
fn a_changed_record_exits_with_10() {
    let user = User::new();
    for _ in 0..3 {
        user.run(&["call", "file_list"]).exits(0);
    }
    user.run(&["audit", "verify"]).exits(0);
    let journal = rusqlite::Connection::open(user.state().join("journal.db")).unwrap();
    let changed = journal
        .execute("UPDATE records SET body = replace(body, 'file_list', 'file_lisp') WHERE seq = 2", [])
        .or_else(|_| {
            // Records may be guarded against honest mistakes; whoever owns the file takes the guard away.
            let guards: Vec<String> = journal
                .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            guards.iter().try_for_each(|guard| journal.execute_batch(&format!("DROP TRIGGER {guard}")))?;
            journal.execute("UPDATE records SET body = replace(body, 'file_list', 'file_lisp') WHERE seq = 2", [])
        });
    assert_eq!(changed.unwrap(), 1);
    drop(journal);
    assert_eq!(user.run(&["audit", "verify"]).exits(10).json()["broken"][0], 2);
    let text = user.run(&["audit", "verify", "--output", "text"]).exits(10).out;
    assert!(text.contains("record 2"), "{text}");
    user.run(&["doctor"]).exits(4);
}

#[test]
fn a_call_whose_time_is_over_exits_with_124() {
    let user = User::with_guest(&Guest { manifest: "timeout_ms = 50".into(), ..forever() });
    assert_eq!(user.run(&["call", "probe"]).exits(124).kind(), "timeout");
    let user = User::with_guest(&forever());
    user.write("workspace/hermes.toml", "[ceiling]\ntimeout_ms = 50\n");
    assert_eq!(user.run(&["call", "probe"]).exits(124).kind(), "timeout", "the project's ceiling");
}

/// A guest that nothing but its deadline ends.
fn forever() -> Guest {
    Guest { limits: "fuel = 100000000000".into(), ..Guest::that(LOOP) }
}

#[test]
fn interrupting_a_call_exits_with_130_and_is_recorded() {
    let user = User::with_guest(&Guest { effect: "write".into(), ..forever() });
    for batch in [false, true] {
        let args: &[&str] = if batch { &["call", "--batch", "-"] } else { &["call", "probe"] };
        let mut command = user.command(args);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        if batch {
            let mut stdin = child.stdin.take().unwrap();
            std::io::Write::write_all(&mut stdin, b"{\"tool\": \"probe\"}\n{\"tool\": \"file_list\"}\n").unwrap();
        }
        // Its intent is on disk before it runs.
        let intents = || {
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
            let journal = rusqlite::Connection::open_with_flags(user.state().join("journal.db"), flags).ok()?;
            journal.query_row("SELECT COUNT(*) FROM records WHERE kind = 'intent'", [], |row| row.get::<_, i64>(0)).ok()
        };
        while intents() < Some(1 + i64::from(batch)) {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself: {:?}", finish(child, &[]));
            std::thread::yield_now();
        }
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let ended = finish(child, &[]).exits(130);
        assert_eq!(out, "", "{}", ended.err);
    }
    let entries = user.run(&["audit", "list", "--output", "ndjson"]).exits(0).lines();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry["record"]["error"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["cancelled", "cancelled"], "the rest of a batch does not run");
    assert!(records::verified(&user.state()).unknown.is_empty());
}
