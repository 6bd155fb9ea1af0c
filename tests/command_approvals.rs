//! How does a person decide what waits? The command, without a terminal and at one, beside a call that waits.

use crate::support::user::User;
use serde_json::Value;

const WRITE: [&str; 5] = ["call", "file_write", "path=n.txt", "mode=create", "content=hello"];

/// A user whose calls do not wait, without colours.
fn user() -> User {
    let mut user = User::new();
    user.environment.push(("NO_COLOR".into(), "1".into()));
    user.configure("[approval]\npark_wait_seconds = 0\n");
    user
}

fn ask(user: &User) -> String {
    let answer = user.run(&WRITE).exits(7).json();
    assert_eq!(answer["error"]["kind"], "approval_pending", "{answer}");
    answer["error"]["approval_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_parked_call_is_approved_at_another_terminal_and_then_runs() {
    let user = user();
    let id = ask(&user);
    let listed = user.run(&["approvals", "list"]).exits(0).json();
    assert_eq!((listed[0]["id"].as_str(), listed.as_array().map(Vec::len)), (Some(id.as_str()), Some(1)));
    let shown = user.run(&["approvals", "show", &id, "--output", "text"]).exits(0);
    for word in ["file_write", "/workspace/n.txt", "\"content\": \"hello\"", "as guest", "pending", "of 100"] {
        assert!(shown.out.contains(word), "{word} is not in\n{}", shown.out);
    }
    let approved = user.at_terminal(&["approvals", "approve", &id[..20]], &[("Run it once? [y/N]", "y\n")]).exits(0);
    assert!(approved.out.contains("\"content\": \"hello\""), "what is approved is shown whole: {}", approved.out);
    assert!(user.workspace().is_empty(), "approving runs nothing");
    user.run(&WRITE).exits(0);
    assert_eq!(user.workspace(), ["n.txt"]);
    user.run(&["call", "file_write", "path=n.txt", "mode=overwrite", "content=hello"]).exits(7);
}

#[test]
fn nothing_is_decided_without_a_person_at_a_terminal() {
    let user = user();
    let id = ask(&user);
    for args in [
        &["approvals", "approve", &id][..],
        &["approvals", "deny", &id],
        &["approvals", "watch"],
        &["approvals", "forget", &id],
        &["approvals", "resume", "local:0"],
        &["token", "add", "x"],
        &["token", "add", "x", "--operator"],
    ] {
        user.run(args).exits(6);
        user.run_with(args, "y\ny\n").exits(6);
    }
    let listed: Value = user.run(&["approvals", "list"]).json();
    assert_eq!(listed[0]["state"], "pending");
    user.at_terminal(&["approvals", "approve", &id], &[("Run it once? [y/N]", "n\n")]).exits(6);
    user.run(&WRITE).exits(7);
    assert!(user.workspace().is_empty());
}

#[test]
fn whoever_shows_an_operators_token_watches_and_answers_line_by_line() {
    let mut user = user();
    let first = ask(&user);
    let other = ["call", "file_write", "path=other.txt", "mode=create", "content=hello"];
    let second = user.run(&other).exits(7).json()["error"]["approval_id"].as_str().unwrap().to_owned();
    let shown = user.at_terminal(&["token", "add", "alice", "--operator"], &[]).exits(0).out;
    let token = shown.split_whitespace().find(|word| word.starts_with("hermes_")).unwrap().to_owned();
    user.environment.push(("HERMES_OPERATOR_TOKEN".into(), format!("{token}0")));
    user.run_with(&["approvals", "watch"], &format!("y {first}\n")).exits(6);
    user.environment.last_mut().unwrap().1 = token;
    // A yes that names no question answers none.
    let watched = user.run_with(&["approvals", "watch"], "y\ny\nyes\n\ny nothing\n").exits(0);
    let shown: Vec<String> = watched.lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert!(shown.contains(&first) && shown.contains(&second), "{shown:?}");
    assert_eq!(user.run(&["approvals", "list"]).json().as_array().unwrap().len(), 2);
    let answers = format!("n {second} not on a Friday\ny {first}\n");
    let said = user.run_with(&["approvals", "watch", "--output", "text"], &answers).exits(0);
    assert!(said.out.contains("\"content\": \"hello\"") && said.out.contains("of 100"), "{}", said.out);
    user.run(&WRITE).exits(0);
    assert_eq!(user.workspace(), ["n.txt"]);
    let denied = user.run(&other).exits(7).json();
    assert!(denied["error"]["message"].as_str().unwrap().ends_with("not on a Friday"), "{denied}");
    let records = user.run(&["audit", "list", "-n", "10"]).exits(0).json().to_string();
    assert!(records.contains("operator alice by command"), "{records}");
}

#[test]
fn a_no_tells_its_reason_and_is_taken_back() {
    let user = user();
    let id = ask(&user);
    user.at_terminal(&["approvals", "deny", &id, "--reason", "use another name"], &[]).exits(0);
    let answer = user.run(&WRITE).exits(7).json();
    assert_eq!(answer["error"]["kind"], "approval_denied");
    assert!(answer["error"]["message"].as_str().unwrap().ends_with("use another name"), "{answer}");
    user.at_terminal(&["approvals", "approve", &id], &[("Run it once? [y/N]", "y\n")]).exits(8);
    user.at_terminal(&["approvals", "forget", &id], &[]).exits(0);
    assert_eq!(user.run(&WRITE).exits(7).kind(), "approval_pending");
}

#[test]
fn a_standing_yes_lets_the_same_call_run_again() {
    let user = user();
    let append = ["call", "file_write", "path=n.txt", "mode=append", "content=x"];
    let id = user.run(&append).exits(7).json()["error"]["approval_id"].as_str().unwrap().to_owned();
    let question = "Run the same call again for 5 minutes? [y/N]";
    user.at_terminal(&["approvals", "approve", &id, "--for", "5"], &[(question, "y\n")]).exits(0);
    for _ in 0..3 {
        user.run(&append).exits(0);
    }
    assert_eq!(user.house().read("n.txt"), "xxx");
    let records = user.run(&["audit", "list", "-n", "1"]).exits(0).json();
    assert_eq!(records[0]["record"]["approval"].as_str(), Some(id.as_str()), "the record names the standing yes");
}

#[test]
fn what_is_permitted_can_be_looked_at() {
    let user = user();
    let explained =
        user.run(&["policy", "explain", "file_write", "path=x.cedar", "mode=create", "content=x"]).exits(0).json();
    assert_eq!((explained["outcome"].as_str(), explained["risk"].as_u64()), (Some("asks"), Some(93)));
    assert!(
        explained["parts"].as_array().unwrap().iter().any(|part| part["id"] == "target_policy" && part["points"] == 60)
    );
    let shown = user.run(&["policy", "explain", "file_read", "path=x", "--output", "text"]).exits(0);
    assert!(shown.out.contains("file_read as guest: runs") && shown.out.contains("23 of 100: low"), "{}", shown.out);
    let matrix =
        user.run(&["policy", "matrix", "--of", "Builder", "--of", "Reviewer", "--tool", "file_write"]).exits(0).json();
    assert_eq!(
        (&matrix["Builder"]["file_write"], &matrix["Reviewer"]["file_write"]),
        (&"runs medium".into(), &"-".into())
    );
    let schema = user.run(&["policy", "schema", "file_write"]).exits(0);
    assert!(schema.out.contains("action") && schema.out.contains("path"), "{}", schema.out);
    assert!(user.workspace().is_empty());
    let tests = user.write(
        "outside/tests.toml",
        r#"
[[test]]
name = "a builder writes"
role = "Builder"
tool = "file_write"
args = { path = "a", mode = "create", content = "" }
outcome = "runs"
level = "medium"

[[test]]
name = "a builder who was denied often"
role = "Builder"
tool = "file_write"
args = { path = "a", mode = "create", content = "" }
history = { high = 6, denials = 5 }
outcome = "asks"
risk = 69
"#,
    );
    user.run(&["policy", "test", tests.to_str().unwrap()]).exits(0);
    user.write("outside/tests.toml", std::fs::read_to_string(&tests).unwrap().replace("risk = 69", "risk = 70"));
    user.run(&["policy", "test", tests.to_str().unwrap()]).exits(1);
}

#[test]
fn past_decisions_suggest_rules_and_make_samples() {
    let user = user();
    for number in 0..3 {
        let path = format!("path=n{number}.txt");
        let call = ["call", "file_write", path.as_str(), "mode=create", "content=x"];
        let id = user.run(&call).exits(7).json()["error"]["approval_id"].as_str().unwrap().to_owned();
        user.at_terminal(&["approvals", "deny", &id], &[]).exits(0);
    }
    let suggested = user.run(&["policy", "suggest"]).exits(0).json();
    assert_eq!((suggested[0]["decisions"].as_u64(), suggested[0]["asked_after"].as_u64()), (Some(3), Some(0)));
    assert!(suggested[0]["rule"].as_str().unwrap().contains("forbid (principal == Role::\"guest\""), "{suggested}");
    let samples = user.run(&["policy", "samples"]).exits(0).lines();
    assert_eq!(samples.len(), 3);
    assert!(samples.iter().all(|sample| sample["label"] == "denied" && sample["tool"] == "file_write"));
}

/// The process that waited is killed after the yes: what was allowed runs once, for whoever makes the call again.
#[test]
fn a_yes_outlives_the_process_that_asked_and_counts_once() {
    let mut user = User::new();
    user.environment.push(("NO_COLOR".into(), "1".into()));
    user.configure("[approval]\npark_wait_seconds = 60\n");
    let mut waiting = user.program(crate::support::user::binary());
    let mut waiting = waiting.args(WRITE).spawn().unwrap();
    let id = loop {
        let listed = user.run(&["approvals", "list"]).exits(0).json();
        match listed[0]["id"].as_str() {
            Some(id) => break id.to_owned(),
            None => assert_eq!(waiting.try_wait().unwrap(), None, "it waits for a person"),
        }
    };
    let pid = rustix::process::Pid::from_child(&waiting);
    // Stopped first, so that it cannot run between the yes and its end.
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    user.at_terminal(&["approvals", "approve", &id], &[("Run it once? [y/N]", "y\n")]).exits(0);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(user.workspace().is_empty());
    user.configure("[approval]\npark_wait_seconds = 0\n");
    user.run(&WRITE).exits(0);
    assert_eq!(user.workspace(), ["n.txt"]);
    std::fs::remove_file(user.path("workspace/n.txt")).unwrap();
    user.run(&WRITE).exits(7);
    assert!(user.workspace().is_empty(), "never twice");
}

/// Recorded calls are decided again under other policies, and nothing of them runs.
#[test]
fn recorded_calls_are_decided_again_under_changed_policies() {
    let user = user();
    ask(&user);
    let before = user.run(&["policy", "replay"]).exits(0).json();
    assert_eq!((before["same"].as_u64(), before["changed"].as_array().map(Vec::len)), (Some(1), Some(0)), "{before}");
    let policy = user.write(
        "outside/no.cedar",
        "@id(\"no_writes\") @reason(\"nobody writes\")\nforbid (principal, action == Action::\"file_write\", resource);\n",
    );
    user.configure(&format!("[policies]\npermissions = [{policy:?}]\n[approval]\npark_wait_seconds = 0\n"));
    let after = user.run(&["policy", "replay"]).exits(0).json();
    let changed = &after["changed"][0];
    assert_eq!((changed["was"].as_str(), changed["now"].as_str()), (Some("asks"), Some("denied")), "{after}");
    assert!(user.workspace().is_empty());
}

#[test]
fn denials_are_counted_by_what_they_have_in_common() {
    let user = user();
    let id = ask(&user);
    user.at_terminal(&["approvals", "deny", &id], &[]).exits(0);
    for _ in 0..2 {
        user.run(&WRITE).exits(7);
    }
    user.run(&["call", "file_read", "path=/outside/x"]).exits(6);
    let denials = user.run(&["stats", "denials"]).exits(0).json();
    let of =
        |kind: &str| denials.as_array().unwrap().iter().find(|row| row["kind"] == kind).cloned().unwrap_or_default();
    assert_eq!((of("approval_denied")["calls"].as_u64(), of("denied")["tool"].as_str()), (Some(2), Some("file_read")));
    let shown = user.run(&["stats", "denials", "file_write", "--output", "text"]).exits(0);
    assert!(shown.out.contains("file_write as guest") && !shown.out.contains("file_read"), "{}", shown.out);
}

/// Whoever asks for a role that the user's configuration does not give leaves a trace.
#[test]
fn a_role_that_is_refused_stands_in_the_journal() {
    let user = user();
    user.run(&["--role", "Admin", "call", "file_list"]).exits(6);
    let connection = rusqlite::Connection::open(user.state().join("journal.db")).unwrap();
    let body: String = connection
        .query_row("SELECT body FROM records WHERE kind = 'event' ORDER BY seq DESC LIMIT 1", (), |row| row.get(0))
        .unwrap();
    assert!(body.contains("identity.refused") && body.contains("Admin"), "{body}");
}
