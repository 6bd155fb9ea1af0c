//! What do people see of what is written down? Sessions, replays, figures and damage, by the command.

use crate::support::user::{User, binary};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// What a session asks for: a task, a read, a write, three refusals.
fn calls() -> String {
    let calls = [
        json!({ "tool": "set_task", "args": { "task": "count the lines" } }),
        json!({ "tool": "file_read", "args": { "path": "a.txt" } }),
        json!({ "tool": "file_write", "args": { "path": "b.txt", "mode": "create", "content": "1\n" } }),
        json!({ "tool": "file_read", "args": { "path": "/etc/passwd" } }),
        json!({ "tool": "file_reed", "args": { "path": "a.txt" } }),
        json!({ "tool": "file_read", "args": { "pfad": "a.txt" } }),
    ];
    calls.iter().map(|call| format!("{call}\n")).collect()
}

/// A session of one process. Its name.
fn session(user: &User) -> String {
    user.write("workspace/a.txt", "one\n");
    user.run_with(&["call", "--batch", "-"], &calls()).exits(6);
    let listed = user.run(&["trajectory", "list"]).exits(0).json();
    listed[0]["session"].as_str().unwrap().to_owned()
}

/// A session whose process is killed once all is answered, so that its log stays beside the records.
fn killed_session(user: &User) {
    user.write("workspace/a.txt", "one\n");
    let mut command = user.program(binary());
    let mut child = command.args(["call", "--batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let calls = calls();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(calls.as_bytes()).unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap()).lines().take(calls.lines().count());
    assert_eq!(answers.map(Result::unwrap).count(), calls.lines().count());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_session_is_shown_so_that_a_person_can_read_it() {
    let user = User::builder();
    let name = session(&user);
    let shown = user.run(&["trajectory", "show", &name, "--output", "text"]).exits(0).out;
    let lines = [
        "task: count the lines",
        "   got    one",
        "   change /workspace/b.txt",
        "   failed 403 `/etc/passwd` is outside every directory granted to tools",
        "   next   do not repeat it; find another way",
        "   wrong  /pfad: expected",
    ];
    for line in lines {
        assert!(shown.lines().any(|found| found.starts_with(line)), "no `{line}` in\n{shown}");
    }
    let steps = user.run(&["trajectory", "export", &name]).exits(0).lines();
    assert_eq!(steps.len(), 6);
    assert!(steps[1..4].iter().all(|step| step["task"] == "count the lines"), "{steps:#?}");
    let worth = steps.iter().flat_map(|step| step["reward"].as_object().unwrap().values());
    assert!(worth.map(|worth| worth.as_f64().unwrap()).all(|worth| worth != 0.0 || worth.is_sign_positive()));
    let chat = user.run(&["trajectory", "export", &name, "--as", "chat"]).exits(0).json();
    let asked: Vec<&Value> = chat["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "user").collect();
    assert_eq!(asked, [&json!({ "role": "user", "content": "count the lines" })]);
}

/// A session agrees with itself, also where arguments were refused before they were written down.
#[test]
fn a_session_gives_its_own_answers_again_and_runs_again() {
    let user = User::builder();
    let name = session(&user);
    let answers = user.run(&["trajectory", "replay", &name, "--answers"]).exits(0).lines();
    let code = |answer: &Value| answer["error"]["code"].as_u64().unwrap_or(200);
    assert_eq!(answers.iter().map(code).collect::<Vec<_>>(), [200, 200, 200, 403, 404, 400]);
    let again = user.run(&["trajectory", "replay", &name, "--output", "text"]).exits(0).out;
    let said: Vec<&str> = again.lines().filter_map(|line| line.split_once("  ")).map(|(_, said)| said).collect();
    assert_eq!(
        said,
        [
            "set_task: not replayed: it is one of the runtime's own tools, which have no component",
            "file_read: as it was, 4 crossings",
            "file_write: as it was, 1 crossing",
            "file_read: not replayed: it ended before a component ran",
            "file_reed: not replayed: it ended before a component ran",
            "file_read: not replayed: it ended before a component ran",
        ]
    );
    let other = user.write("outside/calls.ndjson", "{\"tool\": \"file_read\", \"args\": {\"path\": \"c.txt\"}}\n");
    let other = ["trajectory", "replay", &name, "--answers", "--calls", other.to_str().unwrap()];
    user.run(&other).exits(8).says(&["call 1: `file_read` was not called with these arguments"]);
}

#[test]
fn the_use_of_results_is_told_in_sentences() {
    let user = User::builder();
    session(&user);
    for words in [["stats", "results"], ["results", "stats"]] {
        let said = user.run(&[&words[..], &["--output", "text"]].concat()).exits(0).out;
        assert!(said.contains("0 cut results") && said.contains("`results tune` needs 12"), "{said}");
        assert_eq!(user.run(&words).exits(0).json()["usage"]["cut"], 0);
    }
    user.run(&["results", "tune"]).exits(4).says(&["0 cut results"]);
    user.run(&["results", "undo"]).exits(2).says(&["no weights were fitted"]);
}

/// What a crash left is said by everybody who is asked about the journal.
#[test]
fn a_write_that_was_cut_off_is_told_to_whoever_looks() {
    let user = User::builder();
    killed_session(&user);
    let log = user.state().join("journal.db-wal");
    let whole = std::fs::read(&log).unwrap();
    assert!(whole.len() > 32, "the log stays when the command is killed");
    std::fs::write(&log, [&whole[..], &[0, 0, 0, 1, 0, 0, 0, 9], &whole[16..24], &[7; 700]].concat()).unwrap();
    user.run(&["call", "file_list"]).exits(0);
    let said = "an unfinished write of 716 bytes was dropped";
    for words in [&["audit", "verify"][..], &["doctor"]] {
        let told = user.run(&[words, &["--output", "text"]].concat()).out;
        assert!(told.contains("unbroken") && told.contains(said), "{told}");
    }
    let verified = user.run(&["audit", "verify"]).exits(0).json();
    let event = verified["repaired"][0]["seq"].as_i64().unwrap();
    let export = user.path("outside/export.jsonl");
    user.run(&["audit", "export", export.to_str().unwrap()]).exits(0);
    let export = std::fs::read_to_string(export).unwrap();
    let line = export.lines().find(|line| line.contains("journal.repaired")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["record"]["seq"], event);
    let id = line["record"]["call_id"].as_str().unwrap();
    let shown = user.run(&["audit", "show", id, "--output", "text"]).exits(0).out;
    assert!(shown.contains("journal.repaired by runtime") && shown.contains("716"), "{shown}");
    assert_eq!(user.run(&["audit", "show", id]).exits(0).json()["event"]["details"]["bytes"], 716);
}
