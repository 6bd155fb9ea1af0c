//! In which forms does the command take calls, and in which does it answer?
#![expect(clippy::disallowed_methods, reason = "a test owns the user's folders")]

use crate::support::guest::Guest;
use crate::support::user::User;
use serde_json::json;

#[test]
fn arguments_arrive_alike_however_they_are_written() {
    let user = User::with_guest(&Guest::default());
    let text = r#"{"a": "x=y", "n": 3, "deep": [{"ü": null}]}"#;
    let file = user.write("outside/args.json", text);
    let ways = [
        user.run(&["call", "probe", "a=x=y", "n:=3", r#"deep:=[{"ü": null}]"#]),
        user.run(&["call", "probe", "--args", text]),
        user.run(&["call", "probe", "--args-file", file.to_str().unwrap()]),
        user.run_with(&["call", "probe", "--args-file", "-"], text),
        user.run_with(&["call", "--batch", "-"], &format!("{{\"tool\": \"probe\", \"args\": {text}}}")),
    ];
    for ended in ways {
        assert_eq!(ended.exits(0).json()["data"], json!({ "a": "x=y", "n": 3, "deep": [{ "ü": null }] }));
    }
    assert_eq!(user.run(&["call", "probe"]).exits(0).json()["data"], json!({}));
    assert_eq!(user.run(&["call", "probe", "a="]).exits(0).json()["data"], json!({ "a": "" }));
}

#[test]
fn a_key_that_is_given_twice_is_refused() {
    let user = User::new();
    for args in [&["path=a", "path=b"][..], &["--args", r#"{"path": "a", "path": "b"}"#]] {
        let answer = user.run(&[&["call", "file_read"], args].concat()).exits(8);
        assert!(
            answer.json()["error"]["problems"][0]["received"].as_str().unwrap().contains("twice"),
            "{}",
            answer.out
        );
    }
}

#[test]
fn what_is_neither_text_nor_json_is_refused_by_name() {
    let user = User::new();
    for (args, word) in [
        (&["path"][..], "`path` is not of the form key=text or key:=JSON"),
        (&["limit:=many"], "`limit:=many` is neither key=text nor key:=JSON"),
        (&["--args-file", "missing.json"], "`missing.json` cannot be opened"),
        (&["--args-file", "."], "`.` cannot be read"),
    ] {
        user.run(&[&["call", "file_read"], args].concat()).exits(2).says(&[word]);
    }
    user.run(&["call", "--batch", "missing"]).exits(2).says(&["`missing` cannot be opened"]);
    let answer = user.run(&["call", "file_read", "--args", "[1]"]).exits(8);
    assert_eq!(answer.kind(), "invalid_input");
}

#[test]
fn a_batch_runs_in_order_and_exits_as_its_first_failure() {
    let user = User::builder();
    let lines = [
        r#"{"tool": "file_write", "args": {"path": "a.txt", "mode": "create", "content": "1"}}"#,
        "",
        r#"{"tool": "file_read", "args": {"path": "missing"}}"#,
        r#"{"tool": "file_read", "args": {"pth": "a.txt"}}"#,
        r#"{"tool": "file_write", "args": {"path": "a.txt", "mode": "append", "content": "2"}}"#,
        r#"{"tool": "file_read", "args": {"path": "a.txt"}}"#,
    ];
    let ended = user.run_with(&["call", "--batch", "-"], &lines.join("\n")).exits(5);
    let answers = ended.lines();
    let tools: Vec<&str> = answers.iter().map(|answer| answer["metadata"]["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["file_write", "file_read", "file_read", "file_write", "file_read"]);
    assert_eq!(answers[4]["data"]["text"], "12");
    let list = user.run(&["audit", "list", "--output", "ndjson"]).exits(0).lines();
    let ids = |lines: &[serde_json::Value], at: &str| {
        lines.iter().map(|line| line.pointer(at).unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&list, "/record/call_id"), ids(&answers, "/metadata/call_id"));
    let sessions = ids(&list, "/record/session");
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
}

#[test]
fn a_broken_line_ends_a_batch_by_its_number_and_loses_no_record() {
    let user = User::new();
    for broken in ["not a call", r#"{"tool": "file_list", "arguments": {}}"#, r#"{"args": {}}"#, "[]"] {
        let before = user.run(&["audit", "list", "-n", "100", "--output", "ndjson"]).out.lines().count();
        let input = format!("{{\"tool\": \"file_list\"}}\n{broken}\n{{\"tool\": \"file_list\"}}\n");
        let ended = user.run_with(&["call", "--batch", "-"], &input).exits(2).says(&["line 2 of the batch is no call"]);
        assert_eq!(ended.lines().len(), 1, "what came before has its answer, what comes after does not run");
        let after = user.run(&["audit", "list", "-n", "100", "--output", "ndjson"]).exits(0).lines().len();
        assert_eq!(after, before + 1);
    }
    let mut command = user.command(&["call", "--batch", "-"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{\"tool\": \"\xff\"}\n").unwrap();
    crate::support::user::finish(child, &[]).exits(2).says(&["line 1 of the batch cannot be read"]);
}

#[test]
fn answers_have_the_form_that_is_asked_for() {
    let user = User::new();
    user.write("workspace/a.txt", "one\ntwo");
    let indented = user.run(&["call", "file_read", "path=a.txt"]).exits(0);
    assert!(indented.out.lines().count() > 10 && indented.json()["status"] == "ok", "{}", indented.out);
    let lines = user.run(&["call", "file_read", "path=a.txt", "-o", "ndjson"]).exits(0);
    assert_eq!((lines.out.lines().count(), &lines.json()["status"]), (1, &json!("ok")));
    let text = user.run(&["call", "file_read", "path=a.txt", "-o", "text"]).exits(0);
    assert_eq!(text.out, "one\ntwo\n");
    assert!(text.err.starts_with("ok · file_read · low risk"), "{}", text.err);
    let refused = user.run(&["call", "file_read", "path=/etc/passwd", "-o", "text"]).exits(6);
    assert_eq!(refused.out, "", "a refusal is no output");
    refused.says(&["403 denied: `/etc/passwd` is outside every directory granted to tools"]);
    for list in [&["tools", "list"][..], &["audit", "list"]] {
        assert!(user.run(list).exits(0).json().is_array());
        assert!(user.run(&[list, &["-o", "ndjson"]].concat()).exits(0).lines().len() > 1);
        assert!(user.run(&[list, &["-o", "text"]].concat()).exits(0).out.contains("file_read"));
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let user = User::new();
    user.write("workspace/a.txt", "one\n");
    for output in ["json", "ndjson", "text"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = user.command(&["call", "file_read", "path=a.txt", "--output", output]);
        let ended = crate::support::user::finish(command.stdout(full).spawn().unwrap(), &[]);
        assert_ne!(ended.code, Some(0), "{output}: the answer is lost and nobody is told");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure_of_the_command() {
    let user = User::new();
    let all: [&[&str]; 7] = [
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["man"],
        &["tools", "list"],
        &["config", "show"],
        &["call", "file_list"],
    ];
    for args in all {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = user.command(args);
        let ended = crate::support::user::finish(command.stdout(writer).spawn().unwrap(), &[]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn completions_and_manual_are_there() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = user.run(&["completions", shell]).exits(0).out;
        for word in ["hermes-dispatch", "args-file", "verify"] {
            assert!(text.contains(word), "{shell} has no `{word}`");
        }
    }
    let page = user.run(&["man"]).exits(0).out;
    assert!(page.contains(".TH") && page.contains("hermes"), "{page}");
    let folder = user.path("outside/man");
    user.run(&["man", "--dir", folder.to_str().unwrap()]).exits(0);
    let pages = std::fs::read_dir(folder).unwrap().count();
    assert!(pages > 10, "{pages} pages");
    user.run(&["man", "--dir", "/dev/null/x"]).exits(2).says(&["the manual cannot be written"]);
    let help = user.run(&["help", "call"]).exits(0).out;
    assert!(help.contains("--batch"), "{help}");
    user.run(&["--version"]).exits(0);
    assert!(!user.state().exists(), "asking for help has made a journal");
}

#[test]
fn the_beginning_of_an_id_names_one_call_or_none() {
    let user = User::new();
    user.run_with(&["call", "--batch", "-"], "{\"tool\": \"file_list\"}\n{\"tool\": \"file_list\"}\n").exits(0);
    let ended = user.run(&["audit", "show", "0"]);
    assert_ne!(ended.code, Some(0), "two calls begin so, and one of them is shown as if it were meant: {}", ended.out);
}
