//! Does the tour of the tools say what happens? Each command of it is run in a copy of its folder, one after the other.

use crate::support::house::{copy_folder, project};
use crate::support::user::{User, finish};

/// A command of the tour, the exit code that is told and what it says.
struct Shown<'a> {
    line: usize,
    command: &'a str,
    code: i32,
    out: Vec<&'a str>,
}

fn shown(text: &str) -> Vec<Shown<'_>> {
    let (mut found, mut inside) = (Vec::<Shown<'_>>::new(), false);
    for (index, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(language) => inside = !inside && language == "console",
            None if !inside => {}
            None => match (line.strip_prefix("$ "), line.strip_prefix("? "), found.last_mut()) {
                (Some(command), ..) => found.push(Shown { line: index + 1, command, code: 0, out: Vec::new() }),
                (None, Some(code), Some(last)) => last.code = code.trim().parse().unwrap(),
                (None, None, Some(last)) => last.out.push(line),
                (None, _, None) => panic!("line {} belongs to no command", index + 1),
            },
        }
    }
    found
}

/// Whether lines are those that are shown: `...` stands for any lines, `[..]` for any text.
fn fits(shown: &[&str], said: &[&str]) -> bool {
    match (shown.split_first(), said.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        (Some((shown, shown_rest)), Some((said, said_rest))) => line_fits(shown, said) && fits(shown_rest, said_rest),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn line_fits(shown: &str, said: &str) -> bool {
    let Some((before, after)) = shown.split_once("[..]") else { return shown.trim_end() == said.trim_end() };
    let Some(rest) = said.strip_prefix(before) else { return false };
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| line_fits(after, &rest[at..]))
}

#[test]
fn every_command_of_the_tour_says_what_is_shown() {
    let text = std::fs::read_to_string(project().join("sdk/guide/tools.md")).unwrap();
    let user = User::new();
    copy_folder(&project().join("host/runtime/examples/tour"), &user.path("workspace"));
    let commands = shown(&text);
    assert!(commands.len() >= 12, "the tour has only {} commands", commands.len());
    let mut wrong = Vec::new();
    for Shown { line, command, code, out } in commands {
        let mut shell = user.program("setsid");
        shell.args(["--wait", "sh", "-c", command]);
        let ended = finish(shell.spawn().unwrap(), &[]);
        let said: Vec<&str> = ended.out.lines().collect();
        if ended.code != Some(code) || !(out.is_empty() || fits(&out, &said)) {
            wrong.push(format!(
                "line {line}: `{command}` exits with {:?} and says\n{}{}",
                ended.code, ended.out, ended.err
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
