//! Which command really runs? Sees through the commands that only run others, names each by its plain name, and puts
//! git's own options aside, so that one rule about a command holds for all its spellings. Pure.

use super::shell::{self, DEPTH, Simple, Word};
use crate::registry::forms::{Argument, Forms};

/// One command as it will run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The plain name and the arguments.
    pub(super) words: Vec<Word>,
    /// Why it is never only reading, whatever its name is.
    pub(super) bars: Vec<&'static str>,
}

/// Folders of the system's own programs.
const SYSTEM: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// Shells that take a text.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];
/// Commands that change what later words mean.
const CHANGERS: &[&str] = &["alias", "unalias", "trap", "hash", "enable", "shopt", "bind", "complete", "fc"];
/// Variables that are set for one command and change nothing but its language and its colours.
const HARMLESS: &[&str] =
    &["LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "TERM", "FORCE_COLOR", "CLICOLOR"];

/// A command that runs another one: its name, its options that take a value in the next word, and how many words
/// stand before the other command.
struct Wrapper {
    name: &'static str,
    with_value: &'static [&'static str],
    operands: usize,
    bar: Option<&'static str>,
}

const fn wrapper(name: &'static str, with_value: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, with_value, operands, bar: None }
}

const PRIVILEGED: Option<&str> = Some("it runs as somebody else");

const WRAPPERS: &[Wrapper] = &[
    wrapper("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    wrapper("chrt", &[], 1),
    wrapper("taskset", &[], 1),
    Wrapper { name: "time", with_value: &["-f", "-o", "--format", "--output"], operands: 0, bar: None },
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    Wrapper { name: "exec", with_value: &["-a"], operands: 0, bar: None },
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper(
        "xargs",
        &[
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--replace",
            "--max-chars",
        ],
        0,
    ),
    Wrapper {
        name: "flock",
        with_value: &["-w", "-E", "--timeout", "--wait"],
        operands: 1,
        bar: Some("it makes a file"),
    },
    Wrapper {
        name: "strace",
        with_value: &["-e", "-o", "-p", "-s", "-u"],
        operands: 0,
        bar: Some("it looks into another process"),
    },
    Wrapper { name: "chroot", with_value: &[], operands: 1, bar: PRIVILEGED },
    Wrapper { name: "unshare", with_value: &[], operands: 0, bar: PRIVILEGED },
    Wrapper {
        name: "sudo",
        with_value: &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group", "--host", "--prompt", "--chdir",
        ],
        operands: 0,
        bar: PRIVILEGED,
    },
    Wrapper { name: "doas", with_value: &["-u", "-C"], operands: 0, bar: PRIVILEGED },
    Wrapper { name: "runuser", with_value: &["-u", "-g", "-G"], operands: 0, bar: PRIVILEGED },
    Wrapper { name: "setpriv", with_value: &[], operands: 0, bar: PRIVILEGED },
];

/// Git's options that stand before its subcommand and take the next word.
const GIT_WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--list-cmds",
];
/// Those that change which programs git runs or whose files it shows.
const GIT_BARS: &[&str] =
    &["-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--namespace", "--super-prefix"];

/// All commands that a text for the shell runs.
pub(super) fn of_text(text: &str, depth: usize) -> Result<Vec<Command>, String> {
    if depth > DEPTH {
        return Err("shells are nested too deeply".into());
    }
    let mut found = Vec::new();
    for simple in shell::commands(text)? {
        of_simple(&simple, depth, &mut found)?;
    }
    Ok(found)
}

/// The commands that a list of arguments runs, without any shell.
pub(super) fn of_words(words: Vec<Word>) -> Result<Vec<Command>, String> {
    let mut found = Vec::new();
    see_through(words, Vec::new(), 0, &mut found)?;
    Ok(found)
}

fn of_simple(simple: &Simple, depth: usize, found: &mut Vec<Command>) -> Result<(), String> {
    let mut bars = Vec::new();
    if !simple.writes.is_empty() {
        bars.push("it writes to a file");
    }
    let alone = simple.words.is_empty();
    let changes = |name: &str| match alone {
        true => shell::is_special(name),
        false => !HARMLESS.contains(&name) && !name.starts_with("LC_"),
    };
    if simple.assignments.iter().any(|(name, _)| changes(name)) {
        bars.push("it sets a variable that can change what runs");
    }
    if alone {
        let words = simple.assignments.iter().map(|(name, value)| plain(&format!("{name}={}", value.text))).collect();
        found.push(Command { words, bars });
        return Ok(());
    }
    see_through(simple.words.clone(), bars, depth, found)
}

fn plain(text: &str) -> Word {
    Word { text: text.to_owned(), expands: false }
}

/// Takes wrappers off, one after the other, and keeps what is inside of them.
fn see_through(
    mut words: Vec<Word>,
    mut bars: Vec<&'static str>,
    depth: usize,
    found: &mut Vec<Command>,
) -> Result<(), String> {
    loop {
        let Some(first) = words.first().cloned() else { return Ok(()) };
        if first.expands || first.text.is_empty() {
            return Err("the name of a command is only known when it runs".into());
        }
        let name = plain_name(&first.text).to_owned();
        words[0].text = name.clone();
        if CHANGERS.contains(&name.as_str()) && !takes_a_trap_away(&words) {
            return Err(format!("`{name}` changes what later words mean"));
        }
        if SHELLS.contains(&name.as_str())
            && let Some(text) = shell_text(&words)?
        {
            return of_text(&text, depth + 1).map(|inner| keep_all(inner, &bars, found));
        }
        match name.as_str() {
            "eval" => {
                let text = fixed_text(&words[1..], "eval")?;
                return of_text(&text, depth + 1).map(|inner| keep_all(inner, &bars, found));
            }
            "watch" => {
                let from =
                    words.iter().skip(1).position(|word| !word.text.starts_with('-')).map_or(words.len(), |at| at + 1);
                let text = fixed_text(&words[from..], "watch")?;
                return of_text(&text, depth + 1).map(|inner| keep_all(inner, &bars, found));
            }
            "env" => match inside_env(&words, &mut bars)? {
                Some(inner) => words = inner,
                None => return keep(Command { words, bars }, found),
            },
            "find" => {
                for inner in inside_find(&words) {
                    see_through(inner, bars.clone(), depth + 1, found)?;
                }
                return keep(Command { words, bars }, found);
            }
            "git" => return keep(git(words, bars)?, found),
            _ => match inside(&name, &words, &mut bars)? {
                Some(inner) => words = inner,
                None => return keep(Command { words, bars }, found),
            },
        }
    }
}

fn keep(command: Command, found: &mut Vec<Command>) -> Result<(), String> {
    found.push(command);
    Ok(())
}

fn keep_all(inner: Vec<Command>, bars: &[&'static str], found: &mut Vec<Command>) {
    found.extend(inner.into_iter().map(|mut command| {
        command.bars.extend_from_slice(bars);
        command
    }));
}

/// `trap` that lets signals be ignored, or takes another one back, runs nothing later.
fn takes_a_trap_away(words: &[Word]) -> bool {
    let empty = words.get(1).is_some_and(|word| !word.expands && matches!(word.text.as_str(), "" | "-"));
    words[0].text == "trap" && empty
}

/// The name of a program of the system, wherever it was found; any other path stays.
fn plain_name(text: &str) -> &str {
    match text.rsplit_once('/') {
        Some((folder, name)) if SYSTEM.contains(&folder) => name,
        _ => text,
    }
}

/// Words that the shell will put together and read again.
fn fixed_text(words: &[Word], who: &str) -> Result<String, String> {
    if words.iter().any(|word| word.expands) {
        return Err(format!("what `{who}` runs is only known when it runs"));
    }
    Ok(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}

/// The text after `-c`; `None` for a shell that reads a file or its input.
fn shell_text(words: &[Word]) -> Result<Option<String>, String> {
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        if word.expands {
            return Err("what a shell runs is only known when it runs".into());
        }
        let is_option = word.text.starts_with('-') && !word.text.starts_with("--");
        if is_option && word.text.contains('c') {
            let text = rest.next().ok_or("a shell is given no text after `-c`")?;
            return fixed_text(std::slice::from_ref(text), "a shell").map(Some);
        }
        match word.text.as_str() {
            "-o" | "-O" | "+o" | "+O" | "--rcfile" | "--init-file" => drop(rest.next()),
            text if text.starts_with(['-', '+']) => {}
            _ => return Ok(None),
        }
    }
    // Without a text or a file it runs what it reads.
    Err("a shell runs what it is given to read".into())
}

/// What is inside of a plain wrapper; `None` if the command is none, or has nothing in it.
fn inside(name: &str, words: &[Word], bars: &mut Vec<&'static str>) -> Result<Option<Vec<Word>>, String> {
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else { return Ok(None) };
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-') && word.text.len() > 1) {
        if word.expands {
            return Err(format!("the options of `{name}` are only known when it runs"));
        }
        // These only say what a name stands for.
        if name == "command" && matches!(word.text.as_str(), "-v" | "-V") {
            return Ok(None);
        }
        if name == "time" && (word.text.starts_with("-o") || word.text.starts_with("--output")) {
            bars.push("it writes to a file");
        }
        at += if wrapper.with_value.contains(&word.text.as_str()) { 2 } else { 1 };
        if word.text == "--" {
            break;
        }
    }
    if matches!(name, "sudo" | "doas") {
        while words.get(at).is_some_and(|word| word.text.contains('=')) {
            at += 1;
        }
    }
    let mut inner = words.get(at + wrapper.operands..).unwrap_or_default().to_vec();
    bars.extend(wrapper.bar);
    if name == "xargs" {
        if inner.is_empty() {
            inner.push(plain("echo"));
        }
        // More arguments come from its input.
        inner.push(Word { text: "…".into(), expands: true });
    }
    Ok((!inner.is_empty()).then_some(inner))
}

/// What is inside of `env`, which may set variables.
fn inside_env(words: &[Word], bars: &mut Vec<&'static str>) -> Result<Option<Vec<Word>>, String> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            _ if word.expands => return Err("what `env` runs is only known when it runs".into()),
            text if text.starts_with("-S") || text.starts_with("--split") => {
                return Err("`env` takes a text apart by rules of its own".into());
            }
            "-u" | "--unset" | "-C" | "--chdir" => at += 2,
            text if text.starts_with('-') => at += 1,
            text => match text.split_once('=') {
                Some((name, _)) => {
                    if !HARMLESS.contains(&name) && !name.starts_with("LC_") {
                        bars.push("it sets a variable that can change what runs");
                    }
                    at += 1;
                }
                None => break,
            },
        }
    }
    let inner = words.get(at..).unwrap_or_default();
    Ok((!inner.is_empty()).then(|| inner.to_vec()))
}

/// The commands that `find` runs on what it finds.
fn inside_find(words: &[Word]) -> Vec<Vec<Word>> {
    let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &Word| matches!(word.text.as_str(), ";" | "+");
    let starts = words.iter().enumerate().filter(|(_, word)| runs(word)).map(|(at, _)| at + 1);
    starts.map(|from| words[from..].iter().take_while(|word| !ends(word)).cloned().collect()).collect()
}

/// Git with its subcommand in the second place.
fn git(words: Vec<Word>, mut bars: Vec<&'static str>) -> Result<Command, String> {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        if word.expands {
            return Err("git's options are only known when it runs".into());
        }
        let option = word.text.split('=').next().unwrap_or_default();
        if GIT_BARS.contains(&option) || word.text.starts_with("-c") {
            bars.push("it changes what git itself runs or looks at");
        }
        at += if GIT_WITH_VALUE.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    if words.get(at).is_some_and(|word| word.expands) {
        return Err("git's subcommand is only known when it runs".into());
    }
    let subcommand = words.get(at..).unwrap_or_default();
    Ok(Command { words: [&words[..1], subcommand].concat(), bars })
}

impl Command {
    /// Whether it does nothing but read, by the forms of its tool.
    pub(in crate::permission) fn is_one_of(&self, forms: &Forms) -> bool {
        self.bars.is_empty() && self.fits(forms)
    }

    /// Whether its words fit one of some forms, whatever else it does.
    pub(in crate::permission) fn fits(&self, forms: &Forms) -> bool {
        let arguments: Vec<Argument<'_>> =
            self.words.iter().map(|word| Argument { text: &word.text, expands: word.expands }).collect();
        forms.allow(&arguments)
    }

    /// The paths within revisions (`HEAD:path`) that git is asked for.
    pub(super) fn revisions(&self) -> impl Iterator<Item = &str> {
        let is_git = self.words.first().is_some_and(|word| word.text == "git");
        let words = self.words.iter().skip(2).filter(move |_| is_git);
        words.filter_map(|word| word.text.rsplit_once(':')).map(|(_, path)| path.trim_start_matches("./"))
    }

    /// The command on one line, with quotes where the shell would need them.
    pub(super) fn text(&self) -> String {
        let bare = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./=:@%+,^~".contains(&b))
        };
        let shown = |word: &Word| match bare(&word.text) || word.expands {
            true => word.text.clone(),
            false => format!("'{}'", word.text.replace('\'', "'\\''")),
        };
        self.words.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}
