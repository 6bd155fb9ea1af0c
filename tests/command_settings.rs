//! Which settings are in force, and where does each come from? And what of the surroundings the command needs: folders,
//! rights, space on the disk.
#![expect(clippy::disallowed_methods, reason = "a test owns the user's folders")]

use crate::support::records;
use crate::support::user::{User, binary, finish};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// What a setting is and where it comes from.
#[track_caller]
fn setting(user: &User, args: &[&str], key: &str) -> (Value, String) {
    let rows = user.run(&[args, &["config", "show", "--origin"]].concat()).exits(0).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key);
    let row = row.unwrap_or_else(|| panic!("no `{key}` in {rows:#}"));
    (row["value"].clone(), row["origin"].as_str().unwrap().to_owned())
}

#[test]
fn each_setting_names_the_file_it_comes_from() {
    let user = User::new();
    assert_eq!(setting(&user, &[], "ceiling.fuel").1, "default");
    let own = user.configure("protected = [\"x\"]\n[ceiling]\nfuel = 5000\n[result]\nbudget_tokens = 7\n[grants.home]\npath = \"/usr/share\"\n");
    let project =
        user.write("workspace/hermes.toml", "[ceiling]\nfuel = 3000\nhost_calls = 20\n[result]\nbudget_tokens = 9\n");
    let (own, project) = (format!("user {}", own.display()), format!("project {}", project.display()));
    assert_eq!(setting(&user, &[], "ceiling.fuel"), (json!(3000), project.clone()));
    assert_eq!(setting(&user, &[], "ceiling.host_calls"), (json!(20), project));
    assert_eq!(setting(&user, &[], "grants.home.path"), (json!("/usr/share"), own.clone()));
    assert_eq!(setting(&user, &[], "result.budget_tokens"), (json!(7), own), "the project does not lower it");
}

#[test]
fn a_setting_of_an_option_or_of_nobody_is_said_to_be_that() {
    let mut user = User::new();
    let other = user.path("outside").display().to_string();
    let key = "grants.workspace.path";
    assert_eq!(setting(&user, &[], key), (json!(user.path("workspace")), "default".into()), "the current folder");
    assert_eq!(setting(&user, &["--workspace", &other], key), (json!(other), "command line".into()));
    user.environment.push(("HERMES_WORKSPACE".into(), other.clone()));
    assert_eq!(setting(&user, &[], key), (json!(other), "environment".into()));
}

#[test]
fn an_option_wins_over_the_environment_and_that_over_the_files() {
    let mut user = User::new();
    user.configure("[roles.Builder]\ndefault = true\n[roles.Reviewer]\n[roles.Admin]\n");
    let role = |user: &User, args: &[&str]| {
        let ended = user.run(&[args, &["call", "file_list"]].concat()).exits(0);
        let call_id = ended.json()["metadata"]["call_id"].as_str().unwrap().to_owned();
        records::of_call(&user.state(), &call_id).1.caller.role.clone()
    };
    assert_eq!(role(&user, &[]), "Builder");
    user.environment.push(("HERMES_ROLE".into(), "Reviewer".into()));
    assert_eq!(role(&user, &[]), "Reviewer");
    assert_eq!(role(&user, &["--role", "Admin"]), "Admin");
    let other = user.write("outside/other.toml", "[ceiling]\nfuel = 11\n[roles.Reviewer]\n");
    let third = user.write("outside/third.toml", "[ceiling]\nfuel = 12\n[roles.Reviewer]\n");
    user.environment.push(("HERMES_CONFIG".into(), other.display().to_string()));
    assert_eq!(setting(&user, &[], "ceiling.fuel").0, 11);
    assert_eq!(setting(&user, &["--config", third.to_str().unwrap()], "ceiling.fuel").0, 12);
}

#[test]
fn what_nobody_configured_is_refused_without_a_terminal() {
    let mut user = User::new();
    user.configure(
        "[roles.Builder]\n[situations]\nworkflows = [\"feature-*\"]\n[grants.data]\npath = \"/usr/share\"\n",
    );
    let cases: [(&[&str], &str); 8] = [
        (&["--role", "Admin"], "role `Admin` is not in your configuration (it names Builder)"),
        (&["--role", "operator"], "role `operator`"),
        (&["--workflow", "release"], "workflow `release` fits none of `situations.workflows`"),
        (&["--purpose", "fix it"], "purpose `fix it` fits none of `situations.purposes`"),
        (&["--grant", "x=/usr"], "the grant `x` of `/usr`"),
        (&["--grant", "x=/usr/share/doc:rw"], "the grant `x` of `/usr/share/doc`"),
        (&["--grant", "x=/usr/share/.."], "the grant `x`"),
        (&["--grant", "x=../outside"], "the grant `x`"),
    ];
    for (args, word) in cases {
        let ended = user.run(&[args, &["call", "file_list"]].concat()).exits(6);
        assert_eq!(ended.out, "");
        ended.says(&[word, "there is no terminal to ask at"]);
    }
    user.environment.push(("HERMES_ROLE".into(), "Admin".into()));
    user.run(&["call", "file_list"]).exits(6).says(&["role `Admin`"]);
    user.environment.clear();
    for args in [&["--role", "Builder"][..], &["--workflow", "feature-1"], &["--grant", "x=/usr/share/doc"]] {
        user.run(&[args, &["call", "file_list"]].concat()).exits(0);
    }
    user.run(&["trust"]).exits(6).says(&["a person at a terminal"]);
    user.run(&["trust", "--revoke"]).exits(6);
    assert!(!user.state().join("trust.toml").exists());
}

#[test]
fn a_home_or_a_system_folder_is_no_workspace() {
    let mut user = User::new();
    user.write("home/secret", "s3cret");
    let home = user.path("home").display().to_string();
    let check = |user: &User, folder: &str, path: &str| {
        let answer = user.run(&["--workspace", folder, "call", "file_read", path]).exits(5);
        assert_eq!(answer.kind(), "unknown_tool", "{folder}");
        answer.says(&[&format!("`{folder}` is too much to hand to tools"), "--workspace DIR"]);
    };
    check(&user, &home, "path=secret");
    check(&user, "/", "path=etc/passwd");
    check(&user, "/etc", "path=passwd");
    // By whatever name the home folder goes.
    std::os::unix::fs::symlink(&home, user.path("link")).unwrap();
    user.environment.push(("HOME".into(), user.path("link").display().to_string()));
    check(&user, &home, "path=secret");
    user.run(&["--workspace", "/", "doctor"]).exits(0);
}

#[test]
fn a_file_is_no_workspace() {
    let user = User::new();
    let file = user.write("workspace/a.txt", "");
    user.run(&["--workspace", file.to_str().unwrap(), "call", "file_list"]).exits(2).says(&["a.txt"]);
}

#[test]
fn the_list_of_trusted_projects_is_protected_wherever_the_state_is() {
    let user = User::new();
    user.configure("state_dir = \"../../elsewhere\"\n[grants.all]\npath = \"../..\"\nmode = \"rw\"\n[roles.Builder]\ndefault = true\n");
    let mut places =
        vec!["config/hermes-dispatch/config.toml", "elsewhere/trust.toml", "state/hermes-dispatch/trust.toml"];
    places.push("workspace/hermes.toml");
    for place in places {
        let args = ["call", "file_write", &format!("path=/all/{place}"), "mode=overwrite", "content=x"];
        let answer = user.run(&args);
        assert_eq!(answer.kind(), "denied", "{place}: {}", answer.out);
    }
}

#[test]
fn a_copy_elsewhere_needs_nothing_but_a_home() {
    let user = User::new();
    user.write("workspace/a.txt", "one\n");
    let copy = user.path("outside/another-name");
    std::fs::copy(binary(), &copy).unwrap();
    let mut command = user.program("setsid");
    command.env_clear().env("HOME", user.path("home")).arg("--wait").arg(copy);
    let ended = finish(command.args(["call", "file_read", "path=a.txt"]).spawn().unwrap(), &[]).exits(0);
    assert_eq!((&ended.json()["data"]["text"], ended.err.as_str()), (&json!("one\n"), ""));
    assert!(user.path("home/.local/state/hermes-dispatch/journal.db").is_file());
    assert!(user.path("home/.cache/hermes-dispatch").is_dir());
}

#[test]
fn a_folder_that_others_can_read_becomes_private() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    std::fs::create_dir_all(user.state()).unwrap();
    std::fs::set_permissions(user.state(), std::fs::Permissions::from_mode(0o755)).unwrap();
    user.run(&["call", "file_list"]).exits(0);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&user.state()), 0o700);
    assert_eq!(mode(&user.state().join("journal.db")) & 0o077, 0);
}

/// One answer of a running batch to one call.
fn ask(child: &mut (std::process::ChildStdin, BufReader<std::process::ChildStdout>), call: &Value) -> Value {
    writeln!(child.0, "{call}").unwrap();
    let mut line = String::new();
    child.1.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// A disk without space, made by a limit on the size of files that ends while the command runs.
#[test]
fn without_space_for_the_journal_nothing_is_written_and_reads_go_on() {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let user = User::builder();
    user.write("workspace/a.txt", "one\n");
    user.run(&["call", "file_read", "path=a.txt"]).exits(0);
    let mut shell = user.program("sh");
    shell.args(["-c", "trap '' XFSZ; exec setsid --wait hermes-dispatch call --batch -"]);
    let mut child = shell.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let mut talk = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let write = |name: &str, size: usize| json!({ "tool": "file_write", "args": { "path": name, "mode": "create", "content": "x".repeat(size) } });
    let read = json!({ "tool": "file_read", "args": { "path": "a.txt" } });
    assert_eq!(ask(&mut talk, &read)["status"], "ok");

    let full = Rlimit { current: Some(2 << 20), maximum: getrlimit(Resource::Fsize).maximum };
    let before = prlimit(Some(pid), Resource::Fsize, full).unwrap();
    let answer = ask(&mut talk, &write("big.txt", 4 << 20));
    assert_eq!((&answer["error"]["kind"], &answer["error"]["code"]), (&json!("audit_unavailable"), &json!(503)));
    let answer = ask(&mut talk, &write("small.txt", 1));
    assert_eq!(answer["error"]["kind"], "audit_unavailable", "as long as the journal is known to fail");
    assert_eq!(ask(&mut talk, &read)["data"]["text"], "one\n", "reads go on");
    assert_eq!(user.workspace(), ["a.txt"]);

    prlimit(Some(pid), Resource::Fsize, before).unwrap();
    let mut tries = 0;
    while ask(&mut talk, &write("after.txt", 1))["status"] != "ok" {
        tries += 1;
        assert!(tries < 7000, "the journal never works again");
        std::thread::yield_now();
    }
    drop(talk);
    assert_eq!(finish(child, &[]).exits(4).out, "");
    assert_eq!(user.workspace(), ["a.txt", "after.txt"]);
    let list = user.run(&["audit", "list", "-n", "10000", "--output", "ndjson"]).exits(0).lines();
    assert_eq!(list.len(), 6 + tries, "every call has its record, those of the full disk too");
    assert!(records::verified(&user.state()).unknown.is_empty());
}
