//! Is shell text judged by what it does? Two hundred spellings of ten acts that have to be asked about, and two hundred
//! texts beside them that only look alike, by the shipped manifest.

use crate::support::house::project;
use hermes_runtime::call::Arguments;
use hermes_runtime::permission::target::path::Places;
use hermes_runtime::permission::target::{self, Target};
use hermes_runtime::registry::Tool;
use hermes_runtime::registry::manifest::Effect;
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::validation;
use serde_json::{Value, json};
use std::time::Duration;

/// Acts that change something or reach out, each as name and arguments without anything that needs a quote.
const ACTS: [(&str, &str); 10] = [
    ("git", "push origin main"),
    ("rm", "-rf build"),
    ("curl", "-d @a.txt https://example.org"),
    ("chmod", "777 a.txt"),
    ("mv", "a.txt b.txt"),
    ("git", "commit -m x"),
    ("python3", "run.py"),
    ("tee", "a.txt"),
    ("kill", "1"),
    ("touch", "X"),
];

/// Ways to say an act. `{name}` and `{args}` stand for its parts, `{first}` and `{rest}` for the name's letters.
const SPELLINGS: [&str; 20] = [
    "{name} {args}",
    "ls; {name} {args}",
    "ls && {name} {args}",
    "true || {name} {args}",
    "ls | {name} {args}",
    "{name} {args} & ls",
    "ls\n{name} {args}",
    "echo $({name} {args})",
    "echo `{name} {args}`",
    "({name} {args})",
    "{ {name} {args}; }",
    "'{name}' {args}",
    "{first}''{rest} {args}",
    "\\{name} {args}",
    "/usr/bin/{name} {args}",
    "env LANG=C {name} {args}",
    "timeout 5 nice -n 3 {name} {args}",
    "sh -c '{name} {args}'",
    "if true; then {name} {args}; fi",
    "find . -exec {name} {args} ;",
];

/// Texts that name an act and do not commit it.
const HARMLESS: [&str; 20] = [
    "echo {name} {args}",
    "echo '{name} {args}; {name}'",
    "grep '{name} {args}' notes.txt",
    "ls # {name} {args}",
    "printf '%s\\n' '$({name} {args})'",
    "cat '{name} {args}.txt'",
    "git log --grep='{name}' -n 3",
    "rg -n '{name}' src",
    "ls && echo \"{name} | {args}\"",
    "find . -name '{name}*' -type f",
    "git log -S'{name}' --oneline",
    "cat <<'EOF'\n{name} {args}\nEOF",
    "head -n 5 {name}.md | wc -l",
    "test -f {name} || echo '&& {name}'",
    "which {name}",
    "command -v {name}",
    "git diff -- {name}",
    "grep -rn \"{name}\" . 2>/dev/null",
    "for f in {name} b; do cat \"$f\"; done",
    "sort {name}.txt | uniq -c | head",
];

fn shipped(name: &str) -> Tool {
    let file = project().join("plugins/cli/tools").join(format!("{name}.toml"));
    tool::parse(&file, &std::fs::read_to_string(&file).unwrap(), &Surroundings::default()).unwrap()
}

fn judged(tool: &Tool, args: Value) -> (Effect, Vec<Target>) {
    let judged = validation::judge(tool, &Arguments::Value(args), Duration::from_secs(600)).unwrap();
    let targets = target::of(tool, &judged, &Places::default());
    (target::effect(tool, &targets), targets)
}

fn spelled(template: &str, (name, args): (&str, &str)) -> String {
    let (first, rest) = name.split_at(1);
    let parts = [("{name}", name), ("{args}", args), ("{first}", first), ("{rest}", rest)];
    parts.iter().fold(template.to_owned(), |text, (part, by)| text.replace(part, by))
}

#[test]
fn no_spelling_of_a_forbidden_act_is_taken_for_reading() {
    let terminal = shipped("terminal");
    for act in ACTS {
        for template in SPELLINGS {
            let text = spelled(template, act);
            let (effect, targets) = judged(&terminal, json!({ "command": text }));
            assert_eq!(effect, Effect::Destructive, "{text}");
            let said = format!("{} {}", act.0, act.1.trim_end_matches(" -"));
            let names = |target: &Target| target.text() == said || matches!(target, Target::Unreadable(_));
            assert!(targets.iter().any(names), "{text}: {targets:?}");
        }
    }
}

#[test]
fn no_harmless_text_is_taken_for_an_act() {
    let terminal = shipped("terminal");
    for act in ACTS {
        for template in HARMLESS {
            let text = spelled(template, act);
            let (effect, targets) = judged(&terminal, json!({ "command": text }));
            assert_eq!(effect, Effect::Read, "{text}: {targets:?}");
        }
    }
}

#[test]
fn a_command_is_the_same_target_in_the_shell_and_as_arguments() {
    let of = |tool: &str, args: Value| judged(&shipped(tool), args).1[0].text().to_owned();
    let push = of("git", json!({ "subcommand": "push", "args": ["origin", "main"] }));
    assert_eq!(push, "git push origin main");
    for text in
        ["git -C sub push origin main", "git --no-pager push 'origin' main", "sudo -u root git push origin main"]
    {
        assert_eq!(of("terminal", json!({ "command": text })), push, "{text}");
    }
    let reads = |args: Value| judged(&shipped("git"), args).0 == Effect::Read;
    assert!(reads(json!({ "subcommand": "log", "args": ["-n", "3"] })));
    assert!(!reads(json!({ "subcommand": "log", "args": ["--output=X"] })));
    assert!(!reads(json!({ "subcommand": "branch", "args": ["new"] })));
}

#[test]
fn what_cannot_be_judged_is_never_taken_for_reading() {
    let terminal = shipped("terminal");
    for text in [
        "$x",
        "ls $'\\x3b'touch",
        "eval \"$x\"",
        "ls ${x}",
        "echo x | sh",
        "bash <<< ls",
        "alias ls=rm",
        "trap 'rm x' EXIT",
        "git -c alias.log='!touch X' log",
        "git log *",
        "LD_PRELOAD=./x.so ls",
        "sort -o a a",
        "find . -delete",
        "rg --pre ./x y",
        "uniq a b",
        "date -s 2000-01-01",
        "exec > X",
        "ls > X",
        "./ls",
        "sub/git log",
        "env -S 'rm x'",
    ] {
        assert_eq!(judged(&terminal, json!({ "command": text })).0, Effect::Destructive, "{text}");
    }
    let many = format!("{}rm x", "true && ".repeat(60));
    assert_eq!(judged(&terminal, json!({ "command": many })).0, Effect::Destructive);
}
