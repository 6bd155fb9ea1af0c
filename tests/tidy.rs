//! Is the project what ARCHITECTURE.md says? The invariants that can be read off the sources.

use crate::support::house::project;
use std::path::{Path, PathBuf};

/// The seven steps, in order. A step uses what is before it.
const STEPS: &[&str] = &["registry", "adapter", "permission", "validation", "sandbox", "result", "injection"];

/// Files that are longer than 400 lines, each with its reason.
const LONG: &[(&str, &str)] = &[
    ("host/runtime/src/config.rs", "one type for each table of the configuration file"),
    ("host/runtime/src/settings.rs", "one type for each table of the configuration"),
    ("host/runtime/src/record.rs", "one type for each part of a record, and what is masked in each"),
    ("tests/approvals.rs", "questions, answers and calls, in one process and over restarts"),
    ("sdk/rust/src/bindings.rs", "generated from the contract"),
    ("host/cli/src/args.rs", "one declaration for each word of the command line"),
    ("host/cli/src/policy.rs", "each way to look at the rules, with its text"),
    ("host/runtime/src/permission/policy/mod.rs", "every check of a policy at load, beside what loads it"),
];

/// Files that hold `unsafe` code, each with its reason.
const UNSAFE: &[(&str, &str)] = &[
    ("host/runtime/src/sandbox/install.rs", "loads code that it has compiled itself"),
    ("host/runtime/src/sandbox/capability/process/launcher/system.rs", "calls of the kernel that exist only in C"),
    ("host/runtime/benches/slow/mod.rs", "SQLite's layer over the system is a table of C functions"),
];

/// Places of the library that touch the outside world, each with its reason.
const OUTSIDE: &[(&str, &str)] = &[
    ("sandbox/capability/", "what tools may reach"),
    ("sandbox/install.rs", "keeps compiled components"),
    ("sandbox/helper.rs", "looks which program this is"),
    ("journal.rs", "the records"),
    ("store.rs", "the file of the records"),
    ("writer.rs", "writes the records"),
    ("presence.rs", "looks which processes use the records"),
    ("wal.rs", "looks at what a crash left of the records"),
    ("injection/audit/", "reads the records"),
    ("injection/feedback.rs", "keeps fitted weights"),
    ("injection/recovery.rs", "keeps its tables in the journal's transactions"),
    ("injection/trajectory.rs", "keeps its tables in the journal's transactions"),
    ("artifact.rs", "keeps whole results of which a part was shown"),
    ("key.rs", "keeps the runtime's own keys"),
    ("config.rs", "reads the configuration"),
    ("document.rs", "reads files that people wrote"),
    ("registry/admin.rs", "reads manifests"),
    ("registry/parsed.rs", "keeps what manifests said"),
    ("registry/pinned.rs", "keeps what is accepted of tools"),
    ("folders.rs", "looks whether folders of plugins and tools have changed"),
    ("registry/life.rs", "keeps its tables in the journal's transactions"),
    ("upkeep.rs", "reads figures, with connections of the journal"),
    ("registry/statistics.rs", "keeps its tables in the journal's transactions"),
    ("registry/limit.rs", "keeps its tables in the journal's transactions"),
    ("permission/approval/", "a table beside the records, and the sockets of calls that wait"),
    ("permission/past.rs", "a table beside the records"),
    ("adapter/plugin.rs", "reads plugins"),
    ("validation/learning.rs", "reads and writes its tables, with connections of the journal"),
];

/// Kinds of failure without a test, each with its reason.
const UNTESTED: &[(&str, &str)] = &[("Internal", "a fault of the runtime that no input is known to cause")];

/// The files that put the steps together.
const SPINE: &[&str] = &[
    "lib.rs",
    "dispatch.rs",
    "early.rs",
    "listed.rs",
    "toolbox.rs",
    "built_in.rs",
    "showing.rs",
    "foresight.rs",
    "nesting.rs",
    "replaying.rs",
    "beside.rs",
    "upkeep.rs",
    "shelf.rs",
    "checking.rs",
    "profile.rs",
];

/// Files that name programs of the machine, after which a tool may be called.
const PROGRAMS: &[&str] =
    &["host/runtime/src/permission/target/command.rs", "host/runtime/src/permission/target/git.rs"];

struct Source {
    /// Relative to the project.
    name: String,
    text: String,
}

/// All files beneath some folders whose name ends so.
fn files(folders: &[&str], ends: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in folders {
        walk(&project().join(folder), &mut found);
    }
    found.sort();
    let source = |path: PathBuf| {
        let name = path.strip_prefix(project()).unwrap().to_string_lossy().into_owned();
        ends.iter()
            .any(|end| name.ends_with(end))
            .then(|| Source { name, text: std::fs::read_to_string(&path).unwrap_or_default() })
    };
    let sources: Vec<Source> = found.into_iter().filter_map(source).collect();
    assert!(!sources.is_empty(), "nothing is beneath {folders:?}");
    sources
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() && !path.is_symlink() {
            // Cargo marks its folder; a folder of sources may have the same name.
            true if path.join("CACHEDIR.TAG").is_file() || (name.starts_with('.') && name != ".ci") => {}
            true => walk(&path, found),
            // Where a checkout has its own folder, git keeps the way to its store in a file.
            false if name == ".git" => {}
            false => found.push(path),
        }
    }
}

fn rust() -> Vec<Source> {
    files(&["host", "tests", "plugins", "sdk"], &[".rs"])
}

fn library() -> Vec<Source> {
    files(&["host/runtime/src"], &[".rs"])
}

/// The part of a file that is the program: no tests, no comments.
fn program(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// The names that follow `crate::` in a file.
fn uses(text: &str) -> Vec<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let single = text.match_indices("crate::").map(|(at, word)| name(&text[at + word.len()..]));
    let listed = text.match_indices("crate::{").flat_map(|(at, word)| {
        let list = text[at + word.len()..].split('}').next().unwrap_or_default();
        list.split(',').map(|item| name(item.trim())).collect::<Vec<_>>()
    });
    single.chain(listed).collect()
}

/// Sentences that do not hold; shown together.
fn report(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_step_uses_shared_words_and_earlier_steps_alone() {
    let mut broken = Vec::new();
    for source in library() {
        let inside = source.name.strip_prefix("host/runtime/src/").unwrap();
        if SPINE.contains(&inside) {
            continue;
        }
        let own = inside.split(['/', '.']).next().unwrap();
        let number = STEPS.iter().position(|step| *step == own);
        for used in uses(&program(&source.text)) {
            let allowed = match STEPS.iter().position(|step| *step == used) {
                Some(step) => number.is_some_and(|number| step <= number),
                None => used != "dispatch",
            };
            if !allowed {
                broken.push(format!("{inside} uses `{used}`, which comes after it"));
            }
        }
    }
    report(broken);
}

#[test]
fn the_folders_are_the_steps_and_stand_in_reading_order() {
    let text = std::fs::read_to_string(project().join("host/runtime/src/lib.rs")).unwrap();
    let modules: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(';')?.strip_prefix("pub mod ")).collect();
    let steps: Vec<&str> = modules.into_iter().filter(|module| STEPS.contains(module)).collect();
    assert_eq!(steps, STEPS);
    let mut folders: Vec<String> = std::fs::read_dir(project().join("host/runtime/src"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut sorted = STEPS.to_vec();
    sorted.sort_unstable();
    assert_eq!(folders, sorted);
    for (index, step) in STEPS.iter().enumerate() {
        let text = std::fs::read_to_string(project().join(format!("host/runtime/src/{step}/mod.rs"))).unwrap();
        assert!(text.starts_with(&format!("//! Step {} of 7: ", index + 1)), "{step}");
    }
}

#[test]
fn no_line_of_the_host_names_a_tool() {
    let mut names = Vec::new();
    for manifest in files(&["plugins"], &[".toml"]).iter().filter(|source| source.name.contains("/tools/")) {
        let manifest: toml::Table = manifest.text.parse().unwrap();
        names.push(manifest["tool"]["name"].as_str().unwrap().to_owned());
    }
    assert!(names.len() >= 4, "{names:?}");
    let mut broken = Vec::new();
    let decides = |source: &&Source| {
        source.name.contains("/src/")
            && !source.name.ends_with("_tests.rs")
            && !PROGRAMS.contains(&source.name.as_str())
    };
    for source in files(&["host"], &[".rs"]).iter().filter(decides) {
        let code = program(&source.text);
        broken.extend(
            names
                .iter()
                .filter(|name| code.contains(&format!("\"{name}\"")))
                .map(|name| format!("{} has \"{name}\"", source.name)),
        );
    }
    report(broken);
}

#[test]
fn every_file_says_which_question_it_answers() {
    report(rust().iter().filter(|source| !source.text.starts_with("//! ")).map(|source| source.name.clone()).collect());
}

#[test]
fn no_file_is_long_without_a_reason() {
    let mut broken = Vec::new();
    for source in rust() {
        let (lines, listed) = (source.text.lines().count(), LONG.iter().any(|(name, _)| *name == source.name));
        match (lines > 400, listed) {
            (true, false) => broken.push(format!("{} has {lines} lines", source.name)),
            (false, true) => broken.push(format!("{} is no longer long", source.name)),
            (true, true) | (false, false) => {}
        }
    }
    report(broken);
}

#[test]
fn only_listed_files_are_unsafe() {
    let mut broken = Vec::new();
    for source in files(&["host"], &[".rs"]) {
        let code = program(&source.text);
        let is_unsafe =
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|word| code.contains(word));
        let listed = UNSAFE.iter().any(|(name, _)| *name == source.name);
        match (is_unsafe, listed) {
            (true, false) => broken.push(format!("{} is unsafe and not listed", source.name)),
            (false, true) => broken.push(format!("{} is no longer unsafe", source.name)),
            (true, true) | (false, false) => {}
        }
    }
    report(broken);
}

#[test]
fn only_the_rim_touches_the_outside_world() {
    const WORDS: &[&str] =
        &["std::fs", "tokio::fs", "cap_std", "rusqlite::", "process::Command", "std::net", "tokio::net", "std::env"];
    let mut broken = Vec::new();
    let mut touching = Vec::new();
    for source in library() {
        let inside = source.name.strip_prefix("host/runtime/src/").unwrap().to_owned();
        let code = program(&source.text);
        for word in WORDS.iter().filter(|word| code.contains(**word)) {
            match OUTSIDE.iter().any(|(place, _)| inside.starts_with(place)) {
                true => touching.push(inside.clone()),
                false => broken.push(format!("{inside} uses {word}")),
            }
        }
    }
    let unused = |place: &str| !touching.iter().any(|inside| inside.starts_with(place));
    broken.extend(
        OUTSIDE.iter().filter(|(place, _)| unused(place)).map(|(place, _)| format!("{place} touches nothing any more")),
    );
    report(broken);
}

#[test]
fn every_plugin_is_whole_and_has_a_scenario() {
    let scenarios = files(&["tests/scenarios"], &["scenario.toml"]);
    let mut broken = Vec::new();
    for entry in std::fs::read_dir(project().join("plugins")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("Cargo.toml").is_file() && !folder.join("adapter.toml").is_file() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for part in ["adapter.toml", "README.md", "tools"] {
            if !folder.join(part).exists() {
                broken.push(format!("plugins/{name} has no {part}"));
            }
        }
        for tool in std::fs::read_dir(folder.join("tools")).into_iter().flatten() {
            let manifest: toml::Table = std::fs::read_to_string(tool.unwrap().path()).unwrap().parse().unwrap();
            let tool = manifest["tool"]["name"].as_str().unwrap();
            if !scenarios.iter().any(|scenario| scenario.text.contains(&format!("tool = \"{tool}\""))) {
                broken.push(format!("no scenario calls `{tool}` of plugins/{name}"));
            }
        }
    }
    report(broken);
}

#[test]
fn every_kind_of_failure_that_the_runtime_has_is_tested() {
    let mut broken = Vec::new();
    let tests: String = files(&["tests"], &[".rs", ".toml"])
        .iter()
        .filter(|source| source.name != "tests/tidy.rs")
        .map(|source| source.text.as_str())
        .collect();
    let library: String = library()
        .iter()
        .filter(|source| !source.name.ends_with("/error.rs"))
        .map(|source| program(&source.text))
        .collect();
    for kind in hermes_runtime::error::Kind::ALL {
        let variant = format!("{kind:?}");
        let word = format!("Kind::{variant}");
        let used =
            library.match_indices(&word).any(|(at, _)| !library[at + word.len()..].starts_with(char::is_alphanumeric));
        let tested = tests.contains(&format!("\"{}\"", kind.name())) || tests.contains(&word);
        let listed = UNTESTED.iter().any(|(name, _)| *name == variant);
        if used && tested == listed {
            broken.push(format!("{variant}: tested is {tested}, listed as untested is {listed}"));
        }
    }
    report(broken);
}

/// A pattern that is meant for build output takes a folder of sources with it, and a fresh clone does not build.
#[test]
fn no_source_is_ignored() {
    let text = std::fs::read_to_string(project().join(".gitignore")).unwrap();
    let patterns: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut broken = Vec::new();
    for source in files(&["host", "tests", "plugins", "sdk", "wit"], &[""]) {
        let anywhere = patterns.iter().filter(|pattern| !pattern.trim_end_matches('/').contains('/'));
        let hit = anywhere
            .map(|pattern| pattern.trim_end_matches('/'))
            .find(|name| source.name.split('/').any(|part| part == *name));
        let anchored = patterns
            .iter()
            .find(|pattern| source.name.starts_with(pattern.trim_start_matches('/')) && pattern.starts_with('/'));
        broken.extend(hit.or(anchored.copied()).map(|pattern| format!("{} is ignored by `{pattern}`", source.name)));
    }
    report(broken);
}

#[test]
fn nothing_names_the_place_where_it_was_written() {
    // Put together here, so that this file has none of them.
    let words = [["/ro", "ot/"], ["/wo", "rk/"], ["/ho", "me/"], ["arti", "factory"], ["/ca", "ses/open"]]
        .map(|parts| parts.concat());
    let mut broken = Vec::new();
    for source in files(&[""], &[""]).iter().filter(|source| source.name != ".git") {
        broken.extend(
            words
                .iter()
                .filter(|word| source.text.contains(word.as_str()))
                .map(|word| format!("{} has {word}", source.name)),
        );
    }
    report(broken);
}
