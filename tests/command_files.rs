//! What does the command say about files that are wrong? The file, the line and the way out, on standard error, and
//! nothing is half done. What is good stays in service.
#![expect(clippy::disallowed_methods, reason = "a test owns the user's folders")]

use crate::support::guest::Guest;
use crate::support::user::{Ended, User};
use serde_json::{Value, json};

/// The faults that a refusal lists.
#[track_caller]
fn faults(ended: &Ended) -> Vec<Value> {
    let said: Value = serde_json::from_str(&ended.err).unwrap_or_else(|error| panic!("{error}:\n{}", ended.err));
    said["error"]["faults"].as_array().unwrap().clone()
}

/// Asks for settings that are refused with one fault at a place.
#[track_caller]
fn refused(user: &User, file: &str, line: u64, words: &[&str]) {
    user.write("workspace/a.txt", "one\n");
    let ended = user.run(&["call", "file_read", "path=a.txt"]).exits(2);
    assert_eq!(ended.out, "");
    let faults = faults(&ended);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert_eq!(faults[0]["file"], json!(user.path(file)));
    assert_eq!(faults[0]["line"], line, "{}", faults[0]);
    for word in words {
        assert!(faults[0].to_string().contains(word), "nothing of `{word}` in {}", faults[0]);
    }
    let text = user.run(&["call", "file_read", "path=a.txt", "--output", "text"]).exits(2);
    assert!(text.err.contains(&format!(":{line}:")), "{}", text.err);
    assert!(!user.state().exists(), "a refused command has made a journal");
}

#[test]
fn an_unknown_key_of_the_configuration_is_refused_with_the_nearest() {
    let user = User::new();
    user.configure("# mine\n\n[ceilling]\nfuel = 1\n");
    refused(&user, "config/hermes-dispatch/config.toml", 3, &["unknown field `ceilling`", "did you mean `ceiling`?"]);
    user.configure("[tools.file_read]\ndenied_role = [\"x\"]\n");
    refused(&user, "config/hermes-dispatch/config.toml", 2, &["denied_role", "did you mean `denied_roles`?"]);
    user.configure("[ceiling]\nfuel = \"much\"\n");
    refused(&user, "config/hermes-dispatch/config.toml", 2, &["invalid type"]);
    user.configure("[ceiling\n");
    refused(&user, "config/hermes-dispatch/config.toml", 1, &["unclosed"]);
}

#[test]
fn a_project_that_widens_is_refused_with_its_line() {
    let cases = [
        ("# no grants here\n[grants.data]\npath = \"/\"\n", 2, "`grants`"),
        ("# roles\n[roles.Admin]\ndefault = true\n", 2, "`roles`"),
        ("[situations]\nworkflows = [\"*\"]\n", 1, "`situations`"),
        ("[approval]\nexpires_seconds = 1\n", 1, "`approval`"),
        ("state_dir = \"state\"\n", 1, "`state_dir`"),
        ("cache_dir = \"cache\"\n", 1, "`cache_dir`"),
        ("\nplugin_folders = [\"plugins\"]\n", 2, "run `hermes-dispatch trust` there"),
        ("tool_folders = [\"tools\"]\n", 1, "run `hermes-dispatch trust` there"),
        ("plugin_folders = [\"../plugins\"]\n", 1, "not beneath the project's folder"),
        ("[tools.file_write]\nrequired_roles = [\"guest\"]\n", 2, "`required_roles`"),
        ("[tools.file_write]\naliases = [\"read\"]\n", 2, "`aliases`"),
        ("[ceilings]\nfuel = 1\n", 1, "did you mean `ceiling`?"),
    ];
    for (text, line, word) in cases {
        let user = User::new();
        user.write("workspace/hermes.toml", text);
        refused(&user, "workspace/hermes.toml", line, &[word]);
    }
}

#[test]
fn a_project_narrows_and_never_widens() {
    let user = User::builder();
    let text = "protected = [\"secret\"]\n[ceiling]\nfuel = 9000000000000\nmemory_mb = 8\n[tools.file_write]\ndisabled = true\n";
    let file = user.write("workspace/hermes.toml", text);
    user.write("workspace/secret/key", "s3cret");
    let answer = user.run(&["call", "file_read", "path=secret/key"]).exits(6);
    assert!(!answer.out.contains("s3cret"));
    let answer = user.run(&["call", "file_write", "path=a", "mode=create", "content=x"]).exits(5);
    assert_eq!(answer.kind(), "retired");
    let settings = user.run(&["config", "show", "--origin", "--output", "text"]).exits(0).out;
    let project = format!("# project {}", file.display());
    assert!(settings.contains(&format!("ceiling.memory_mb = 8  {project}")), "{settings}");
    assert!(
        settings.contains("ceiling.fuel = 100000000000  # default"),
        "what it did not lower is not its: {settings}"
    );
}

/// What is in a workspace is other people's, and the command looks at it before anybody is asked.
#[test]
fn a_project_file_that_is_none_holds_nothing_up() {
    for make in
        ["mkfifo hermes.toml", "ln -s /dev/zero hermes.toml", "mkdir hermes.toml", "printf '\\377' > hermes.toml"]
    {
        let user = User::new();
        assert!(user.program("sh").args(["-c", make]).status().unwrap().success());
        let mut command = user.program("timeout");
        // Bounded memory, or the test takes the machine with it.
        let bounded = "ulimit -v 8388608; exec setsid --wait hermes-dispatch call file_list";
        let ended = crate::support::user::finish(command.args(["20", "sh", "-c", bounded]).spawn().unwrap(), &[]);
        assert_eq!(ended.code, Some(2), "{make}: {}{}", ended.out, ended.err);
        ended.says(&["hermes.toml", "cannot be read"]);
    }
}

#[test]
fn a_broken_manifest_is_shown_and_the_rest_is_in_service() {
    let user = User::with_guest(&Guest { manifest: "categry = \"x\"".into(), ..Guest::default() });
    user.write("workspace/a.txt", "one\n");
    let words = ["plugins/probe/tools/tool.toml:6:1", "unknown field `categry`", "did you mean `category`?"];
    assert_eq!(user.run(&["call", "probe"]).exits(5).says(&words).kind(), "unknown_tool");
    let answer = user.run(&["call", "file_read", "path=a.txt"]).exits(0).says(&words).json();
    assert_eq!(answer["data"]["text"], "one\n");
    let doctor = user.run(&["doctor", "--output", "text"]).exits(4).out;
    assert!(doctor.contains("FAULT") && doctor.contains("tool.toml:6:1"), "{doctor}");
}

#[test]
fn a_broken_adapter_is_shown_and_the_rest_is_in_service() {
    let user = User::with_guest(&Guest::default());
    let file = user.path("plugins/probe/adapter.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("capabilities", "capabilites");
    std::fs::write(file, text).unwrap();
    let words = ["plugins/probe/adapter.toml:5:1", "unknown field `capabilites`", "did you mean `capabilities`?"];
    user.run(&["call", "file_list"]).exits(0).says(&words);
}

#[test]
fn a_component_that_is_none_is_shown_and_the_rest_is_in_service() {
    let cases: [(&[u8], &str); 4] = [
        (b"(module)", "core module, not a component"),
        (b"(component", "not a valid component"),
        (b"\0asm\x01\0\0\0", "core module, not a component"),
        (b"\x7fELF nonsense", "not a component"),
    ];
    for (component, why) in cases {
        let user = User::with_guest(&Guest::default());
        user.write("plugins/probe/component.wat", component);
        user.run(&["call", "file_list"]).exits(0).says(&["plugins/probe/adapter.toml", "adapter `probe`", why]);
        let answer = user.run(&["call", "probe"]).exits(4);
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(why), "{}", answer.out);
        assert!(!answer.out.contains(user.house().root().to_str().unwrap()), "an answer names a host path");
        user.run(&["doctor"]).exits(4);
    }
}

#[test]
fn a_missing_folder_of_plugins_is_shown_and_the_rest_is_in_service() {
    let user = User::new();
    user.configure("plugin_folders = [\"nowhere\"]\ntool_folders = [\"nothing\"]\n");
    let words = ["hermes-dispatch/nowhere", "correct `plugin_folders`", "hermes-dispatch/nothing"];
    user.run(&["call", "file_list"]).exits(0).says(&words);
    user.run(&["doctor"]).exits(4);
}

#[test]
fn a_missing_granted_folder_keeps_the_runtime_from_starting() {
    let user = User::new();
    user.configure("[grants.data]\npath = \"nowhere\"\n");
    let ended = user.run(&["call", "file_list"]).exits(4).says(&["nowhere", "correct `grants.data`"]);
    assert_eq!(ended.out, "");
    user.run(&["doctor"]).exits(4);
}

#[test]
fn a_damaged_list_of_trusted_projects_trusts_nobody() {
    let user = User::new();
    user.write("state/hermes-dispatch/trust.toml", "[projects\n");
    user.write("workspace/plugins/x", "");
    user.write("workspace/hermes.toml", "plugin_folders = [\"plugins\"]\n");
    user.run(&["call", "file_list"]).exits(2).says(&["counts only in a project that a person trusts"]);
}
