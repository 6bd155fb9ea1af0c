//! Does the way of a newcomer work? The commands that the author's guide shows are typed, in their order, in an empty
//! folder, with nothing but the command and a compiler; what breaks off is shown where it does.

use crate::support::house::project;
use crate::support::user::{User, binary};
use std::path::{Path, PathBuf};

/// A user without colours who has a compiler.
///
/// What is compiled is kept from test to test, as it is for a person from plugin to plugin.
fn author() -> User {
    let mut user = User::new();
    let home = std::env::home_dir().unwrap();
    let folder = |variable: &str, usual: &str| std::env::var_os(variable).map_or(home.join(usual), PathBuf::from);
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = [
        ("NO_COLOR", "1".to_owned()),
        ("PATH", format!("{}:{path}", binary().parent().unwrap().display())),
        ("CARGO_HOME", folder("CARGO_HOME", ".cargo").display().to_string()),
        ("RUSTUP_HOME", folder("RUSTUP_HOME", ".rustup").display().to_string()),
        ("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("author").display().to_string()),
    ];
    user.environment.extend(variables.map(|(name, value)| (name.to_owned(), value)));
    user
}

/// The commands of the guide in the order of its chapters, with the exit code that each says it has.
fn shown() -> Vec<(String, i32)> {
    let folder = project().join("sdk/guide/src");
    let chapters = std::fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let chapters: Vec<&str> = chapters.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')')).collect();
    let mut named: Vec<&str> = chapters.iter().copied().chain(["SUMMARY.md"]).collect();
    named.sort_unstable();
    let mut there: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort_unstable();
    assert_eq!(named, there, "SUMMARY.md lists each chapter once");
    let text: String = chapters.iter().map(|chapter| std::fs::read_to_string(folder.join(chapter)).unwrap()).collect();
    let command = |line: &str| match line.split_once("# exit ") {
        Some((command, code)) => (command.trim_end().to_owned(), code.trim().parse().unwrap()),
        None => (line.to_owned(), 0),
    };
    text.lines().filter_map(|line| line.strip_prefix("$ ")).map(command).collect()
}

#[test]
fn the_guide_leads_from_nothing_to_a_call_through_the_seven_steps() {
    let user = author();
    let commands = shown();
    assert!(commands.len() >= 8, "{commands:?}");
    let mut last = String::new();
    for (command, code) in &commands {
        let dialogue: &[(&str, &str)] = if command.contains("plugin install") { &[("[y/N]", "y\n")] } else { &[] };
        let ended = user.typed(command, &user.path("outside"), dialogue);
        assert_eq!(ended.code, Some(*code), "`{command}`\n{}", ended.out);
        last = ended.out;
    }
    for word in ["\"words\": 2", "\"status\": \"ok\""] {
        assert!(last.contains(word), "nothing of `{word}` in\n{last}");
    }
    let list = user.run(&["audit", "list"]).exits(0).json();
    // The seventh step is the record itself.
    let steps: Vec<&str> =
        list[0]["record"]["steps"].as_array().unwrap().iter().filter_map(|step| step["step"].as_str()).collect();
    assert_eq!(steps, ["registry", "adapter", "permission", "validation", "sandbox", "result"], "{list:#}");
}

#[test]
fn a_component_that_breaks_off_is_shown_with_function_file_and_line() {
    let user = author();
    user.run(&["plugin", "new", "broken"]).exits(0);
    let folder = user.path("workspace/broken");
    let source = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let source = source.replace(
        "    call.progress(",
        "    third_word(&text.split_whitespace().map(str::len).collect::<Vec<_>>());\n    call.progress(",
    );
    let source = source + "\n#[inline(never)]\nfn third_word(lengths: &[usize]) -> usize {\n    lengths[2]\n}\n";
    std::fs::write(folder.join("src/lib.rs"), &source).unwrap();
    let line = source.lines().position(|line| line.contains("lengths[2]")).unwrap() + 1;
    std::fs::write(folder.join("tests/count.toml"), {
        let case = std::fs::read_to_string(folder.join("tests/count.toml")).unwrap();
        case.replace("one two\\nthree\\n", "one two\\n")
    })
    .unwrap();
    // The case's file has two words, so the tool breaks off, and the case does not hold.
    let ended = user.run(&["plugin", "dev", "broken", "--once"]).exits(5);
    for word in ["third_word", &format!("src/lib.rs:{line}"), "index out of bounds"] {
        assert!(ended.out.contains(word), "nothing of `{word}` in\n{}\n{}", ended.out, ended.err);
    }
}

#[test]
fn a_plugins_own_failing_test_fails_the_command() {
    let user = author();
    user.run(&["plugin", "new", "failing"]).exits(0);
    let file = user.path("workspace/failing/src/lib.rs");
    let source = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, source.replace("words: 3", "words: 4")).unwrap();
    let ended = user.run(&["plugin", "test", "failing"]).exits(5);
    assert!(ended.out.contains("words_are_counted"), "{}\n{}", ended.out, ended.err);
    std::fs::write(&file, "not Rust").unwrap();
    user.run(&["plugin", "build", "failing"]).exits(5).says(&["the plugin does not compile"]);
}
