//! What happens at a terminal? A person is asked, and nothing that is shown can deceive them.

use crate::support::guest::Guest;
use crate::support::user::{Ended, User};

/// Letters that move, hide or recolour what a terminal shows.
const EVIL: &str = "a\u{1b}[8mb\u{1b}]0;c\u{7}d\u{9b}31me\u{202e}f\u{200b}g\u{7f}h";

/// Fails if something reached the terminal that it would obey.
#[track_caller]
fn harmless(ended: &Ended) {
    let obeyed = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = ended.out.chars().filter(obeyed).collect();
    assert!(found.is_empty(), "{found:?} in\n{:?}", ended.out);
}

/// A user without colours, whose terminal is sent nothing but text.
fn plain(mut user: User) -> User {
    user.environment.push(("NO_COLOR".into(), "1".into()));
    user
}

const WRITE: [&str; 5] = ["call", "file_write", "path=n.txt", "mode=create", "content=hello\nyou"];

#[test]
fn a_person_sees_the_whole_call_and_says_yes() {
    let user = plain(User::new());
    let ended = user.at_terminal(&WRITE, &[("Run it once? [y/N]", "y\n")]).exits(0);
    for word in [
        "approval needed: file_write",
        "as operator",
        "/workspace/n.txt",
        "\"mode\": \"create\"",
        "\"content\": \"hello\\nyou\"",
        "Change a file in one step",
        "of 100",
        "the call changes something",
        "in 600 s",
    ] {
        assert!(ended.out.contains(word), "nothing of `{word}` in\n{}", ended.out);
    }
    assert_eq!(user.house().read("n.txt"), "hello\nyou");
    // What the person said is an event of its own, before the call's record.
    let list = user.run(&["audit", "list", "-n", "1"]).exits(0).json();
    assert!(list[0]["record"]["approver"].as_str().unwrap().starts_with("terminal of user"), "{list:#}");
    let all = user.run(&["audit", "list", "--output", "text"]).exits(0).out;
    assert!(all.contains("[EVENT] permission.decision by="), "{all}");
}

#[test]
fn anything_but_a_yes_is_a_no() {
    let user = plain(User::new());
    for (number, said) in ["n\n", "\n", "yeah\n", "maybe y\n", "\u{4}"].into_iter().enumerate() {
        // A no is remembered, so each is said to another call.
        let content = format!("content=hello {number}");
        let write = ["call", "file_write", "path=n.txt", "mode=create", &content];
        let ended = user.at_terminal(&write, &[("Run it once? [y/N]", said)]).exits(7);
        assert!(ended.out.contains("403 approval_denied"), "{said:?}: {}", ended.out);
    }
    assert!(user.workspace().is_empty());
    user.at_terminal(&WRITE, &[("Run it once? [y/N]", " YES \n")]).exits(0);
}

#[test]
fn leaving_a_question_exits_with_130_and_runs_nothing() {
    let user = plain(User::new());
    user.at_terminal(&WRITE, &[("Run it once? [y/N]", "\u{3}")]).exits(130);
    assert!(user.workspace().is_empty());
    let list = user.run(&["audit", "list", "-n", "1"]).exits(0).json();
    assert_eq!(list[0]["record"]["error"]["kind"], "cancelled", "{list:#}");
}

#[test]
fn an_answer_that_nobody_gives_in_time_is_a_no() {
    let user = plain(User::new());
    user.configure("[approval]\nexpires_seconds = 1\n");
    let ended = user.at_terminal(&WRITE, &[("Run it once? [y/N]", "")]).exits(7);
    assert!(ended.out.contains("approval_expired"), "{}", ended.out);
    assert!(user.workspace().is_empty());
}

#[test]
fn a_yes_counts_for_one_call_of_a_batch() {
    let user = User::new();
    let batch = r#"{"tool": "file_write", "args": {"path": "n.txt", "mode": "create", "content": "x"}}"#;
    let file = user.write("outside/batch", format!("{batch}\n{batch}\n"));
    let args = ["call", "--batch", file.to_str().unwrap(), "--output", "json"];
    let ended = user.at_terminal(&args, &[("[y/N]", "y\n"), ("[y/N]", "n\n")]).exits(7);
    assert!(ended.out.contains("\"status\":\"ok\"") && ended.out.contains("approval_denied"), "{}", ended.out);
}

#[test]
fn a_role_that_is_not_configured_is_asked_about_and_said_no_to() {
    let user = plain(User::new());
    let args = ["--role", "Builder", "call", "file_list"];
    let ended = user.at_terminal(&args, &[("Allow it for this command? [y/N]", "n\n")]).exits(6);
    assert!(ended.out.contains("role `Builder` is not in your configuration"), "{}", ended.out);
    user.at_terminal(&args, &[("Allow it for this command? [y/N]", "y\n")]).exits(0);
    let grant = ["--grant", "x=../outside", "call", "file_list", "path=/x"];
    user.at_terminal(&grant, &[("Allow it for this command? [y/N]", "y\n")]).exits(0);
}

/// A project that brings a plugin with it.
fn project() -> User {
    let user = plain(User::new());
    Guest::default().put(user.house());
    std::fs::rename(user.path("plugins"), user.path("workspace/plugins")).unwrap();
    user.write("workspace/hermes.toml", "plugin_folders = [\"plugins\"]\n");
    user.configure("[roles.Builder]\ndefault = true\n");
    user
}

const TRUST: (&str, &str) = ("may they decide which tools there are? [y/N]", "y\n");

#[test]
fn a_project_is_trusted_by_a_person_and_until_it_changes() {
    let user = project();
    user.run(&["call", "probe"]).exits(2);
    user.at_terminal(&["trust"], &[(TRUST.0, "n\n")]).exits(6);
    user.run(&["call", "probe"]).exits(2);
    let shown = user.at_terminal(&["trust"], &[TRUST]).exits(0);
    for file in
        ["hermes.toml", "plugins/probe/adapter.toml", "plugins/probe/component.wat", "plugins/probe/tools/tool.toml"]
    {
        assert!(shown.out.contains(file), "{file} is not in\n{}", shown.out);
    }
    user.run(&["call", "probe"]).exits(0);
    let changes: [(&str, &[u8]); 4] = [
        ("plugins/probe/component.wat", b"(component)"),
        ("plugins/probe/tools/other.toml", b""),
        ("plugins/readme", b"a new file"),
        ("hermes.toml", b"plugin_folders = [\"plugins\"]\n# more\n"),
    ];
    for (file, content) in changes {
        let before = std::fs::read(user.path("workspace").join(file)).ok();
        user.write(&format!("workspace/{file}"), content);
        let ended = user.run(&["call", "probe"]);
        assert_eq!(ended.code, Some(2), "{file} changed: {}", ended.out);
        ended.says(&["counts only in a project that a person trusts"]);
        match before {
            Some(content) => drop(user.write(&format!("workspace/{file}"), content)),
            None => std::fs::remove_file(user.path("workspace").join(file)).unwrap(),
        }
        user.run(&["call", "probe"]).exits(0);
    }
    user.at_terminal(&["trust", "--revoke"], &[]).exits(0);
    user.run(&["call", "probe"]).exits(2);
}

#[test]
fn what_changes_while_the_question_is_open_is_not_trusted() {
    let user = project();
    let component = user.path("workspace/plugins/probe/component.wat");
    let other = std::fs::read_to_string(&component).unwrap() + ";; other";
    let change = || std::fs::write(&component, &other).unwrap();
    let ended = user.at_terminal_while(&["trust"], &[TRUST], change);
    let after = user.run(&["call", "probe"]);
    assert_eq!(after.code, Some(2), "trusted although nobody saw it: {}\n{}", ended.out, after.out);
}

#[test]
fn a_project_cannot_hide_what_it_asks_trust_for() {
    let user = project();
    user.write(&format!("workspace/plugins/{EVIL}"), "");
    harmless(&user.at_terminal(&["trust"], &[(TRUST.0, "n\n")]));
}

#[test]
fn a_project_file_is_shown_without_what_a_terminal_obeys() {
    let user = plain(User::new());
    for text in [format!("[resu{EVIL}lt]\n"), format!("# {EVIL}\n[grants.x]\n"), "[ceilin\rg]\n".into()] {
        user.write("workspace/hermes.toml", &text);
        harmless(&user.at_terminal(&["call", "file_list"], &[]).exits(2));
    }
    let escaped: String = EVIL.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    for text in [
        format!("[\"{escaped}\"]\n"),
        format!("plugin_folders = [\"../{escaped}\"]\n"),
        format!("[tools.\"{escaped}\"]\nx = 1\n"),
    ] {
        user.write("workspace/hermes.toml", &text);
        harmless(&user.at_terminal(&["call", "file_list"], &[]).exits(2));
    }
    user.write(
        "workspace/hermes.toml",
        format!("protected = [\"{escaped}\"]\n[tools.\"{escaped}\"]\ndisabled = true\n"),
    );
    harmless(&user.at_terminal(&["config", "show", "--origin"], &[]).exits(0));
}

#[test]
fn what_tools_answer_is_shown_without_what_a_terminal_obeys() {
    let user = plain(User::new());
    user.write("workspace/a.txt", EVIL);
    user.write(&format!("workspace/{EVIL}"), "");
    for output in [&[][..], &["--output", "text"], &["--output", "json"], &["--output", "ndjson"]] {
        for call in [
            &["call", "file_read", "path=a.txt"][..],
            &["call", "file_list"],
            &["call", "file_search", "query=a"],
            &["call", "file_read", &format!("path={EVIL}")],
            &["call", EVIL],
            &["call", "file_read", "path=a.txt", &format!("{EVIL}=1")],
            &["audit", "list"],
        ] {
            harmless(&user.at_terminal(&[call, output].concat(), &[]));
        }
    }
}

#[test]
fn what_a_component_says_is_shown_without_what_a_terminal_obeys() {
    let data: String = EVIL.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let length = EVIL.len();
    let report = format!(
        "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 1) (i32.const 1024) (i32.const {length}))"
    );
    let log = format!("(call $log (i32.const 3) (i32.const 1024) (i32.const {length}))");
    let bodies = [
        format!("{report} {log} (call $text (i32.const 1024) (i32.const {length}))"),
        format!("{report} {log} (call $fail (i32.const 4) (i32.const 1024) (i32.const {length}))"),
    ];
    for body in bodies {
        let guest = Guest { fields: format!("(data (i32.const 1024) \"{data}\")"), ..Guest::that(body) };
        let user = plain(User::with_guest(&guest));
        let ended = user.at_terminal(&["call", "probe", "--verbose"], &[]);
        assert!(ended.out.contains("[8mb"), "what it said is shown nowhere: {}", ended.out);
        harmless(&ended);
        let shown = user.at_terminal(&["audit", "show", "0", "--output", "text"], &[]).exits(0);
        assert!(shown.out.contains("[8mb"), "{}", shown.out);
        harmless(&shown);
    }
}

#[test]
fn what_was_typed_is_shown_without_what_a_terminal_obeys() {
    let user = plain(User::new());
    for args in [&[EVIL][..], &["call", "a", "--output", EVIL], &["--config", EVIL, "doctor"], &["audit", "show", EVIL]]
    {
        harmless(&user.at_terminal(args, &[]));
    }
}
