//! Does the documentation say what happens? Every command that it shows is run, and its tables are compared.

use crate::support::house::project;
use crate::support::user::{User, binary, finish};
use hermes_runtime::error::Kind;
use std::path::{Path, PathBuf};

/// All documents of the project.
fn documents() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() {
                if !name.starts_with('.') && !path.join("CACHEDIR.TAG").is_file() {
                    walk(&path, found);
                }
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&project(), &mut found);
    found.sort();
    found
}

/// The lines of all blocks of a language, with their numbers.
fn block_lines<'a>(text: &'a str, language: &str) -> Vec<(usize, &'a str)> {
    let mut inside = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), inside) {
            (Some(name), None) => inside = Some(name.trim()),
            (Some(_), Some(_)) => inside = None,
            (None, Some(name)) if name == language => lines.push((index + 1, line)),
            (None, _) => {}
        }
    }
    lines
}

/// A command and the exit code that its comment gives.
fn expectation(line: &str) -> (&str, i32) {
    match line.split_once("# exit ") {
        Some((command, code)) => (command.trim_end(), code.trim().parse().expect("a number follows `# exit`")),
        None => (line, 0),
    }
}

#[test]
fn every_command_that_is_shown_ends_as_it_is_said_to() {
    let user = User::new();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for (number, line) in block_lines(&text, "sh") {
            let place = format!("{}:{number}", document.strip_prefix(project()).unwrap().display());
            if line.trim().is_empty() {
                continue;
            }
            if !line.starts_with("hermes-dispatch ") {
                wrong.push(format!("{place}: `{line}` is no command that this test runs; put it into a `text` block"));
                continue;
            }
            let (command, code) = expectation(line);
            let mut shell = user.program("setsid");
            shell.args(["--wait", "sh", "-c", command]).current_dir(project());
            let ended = finish(shell.spawn().unwrap(), &[]);
            ran += 1;
            if ended.code != Some(code) {
                wrong.push(format!("{place}: `{command}` exits with {:?}\n{}{}", ended.code, ended.out, ended.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran >= 5, "only {ran} commands are shown");
}

#[test]
fn the_first_call_answers_as_shown() {
    let text = std::fs::read_to_string(project().join("README.md")).unwrap();
    let shown: String = block_lines(&text, "json").into_iter().map(|(_, line)| line).collect();
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("README shows one answer");
    let user = User::new();
    let (_, first) = block_lines(&text, "sh")[0];
    let mut shell = user.program("setsid");
    shell.args(["--wait", "sh", "-c", first]).current_dir(project());
    let answer = finish(shell.spawn().unwrap(), &[]).exits(0).json();
    for key in ["path", "size", "digest", "encoding", "truncated", "lines", "bytes", "next_offset"] {
        assert_eq!(answer["data"][key], shown["data"][key], "{key}");
    }
    assert_eq!(answer["metadata"]["repairs"], shown["metadata"]["repairs"]);
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&answer["metadata"]), keys(&shown["metadata"]));
}

#[test]
fn the_configuration_that_is_shown_is_accepted() {
    let text = std::fs::read_to_string(project().join("README.md")).unwrap();
    let lines: Vec<&str> = block_lines(&text, "toml").into_iter().map(|(_, line)| line).collect();
    let user = User::new();
    let file = user.configure(&lines.join("\n"));
    std::fs::create_dir(user.path("home/datasets")).unwrap();
    user.write("config/hermes-dispatch/permissions.cedar", "permit(principal, action, resource);");
    user.write("config/hermes-dispatch/factors.cedar", "");
    user.write("workspace/a.txt", "one\n");
    user.run(&["call", "file_read", "path=a.txt", "--workflow", "feature-7", "--purpose", "fix it"]).exits(0);
    let settings = user.run(&["config", "show", "--origin", "--output", "text"]).exits(0).out;
    assert!(settings.contains(&format!("ceiling.memory_mb = 512  # user {}", file.display())), "{settings}");
}

#[test]
fn the_table_of_codes_is_the_programs() {
    let text = std::fs::read_to_string(project().join("README.md")).unwrap();
    let (mut wrong, mut listed) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [code, kind, exit, _] = cells[..] else { continue };
        let (Ok(code), Ok(exit)) = (code.parse::<u16>(), exit.parse::<u8>()) else { continue };
        match Kind::by_name(kind.trim_matches('`')) {
            Some(kind) if kind.code() == code && kind.exit_code() == exit => listed.push(kind),
            Some(_) | None => wrong.push(line.to_owned()),
        }
    }
    let reserved = |kind: &Kind| text.contains(&format!("{} `{}`", kind.code(), kind.name()));
    let missing = Kind::ALL.iter().filter(|kind| !listed.contains(kind) && !reserved(kind));
    wrong.extend(missing.map(|kind| format!("`{}` is not in the table", kind.name())));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Cargo builds the command for the tests of its own package, not for these. With `--workspace` it does both.
#[test]
fn the_command_is_as_new_as_its_sources() {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).unwrap();
    let built = changed(&binary());
    let mut newer = Vec::new();
    let mut folders = vec![project().join("host/cli/src"), project().join("host/runtime/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if changed(&path) > built => newer.push(path.display().to_string()),
                false => {}
            }
        }
    }
    assert!(newer.is_empty(), "run `cargo build --workspace`; the command is older than\n{}", newer.join("\n"));
}
