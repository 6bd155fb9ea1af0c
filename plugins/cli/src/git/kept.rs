//! What does git show of files that are kept from tools? They are covered on disk; git's own store has them
//! nevertheless, so they are left out where git can leave paths out, and refused where it cannot.

use super::{Settings, git};
use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::process::Ending;
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::{failure, program};

/// Subcommands that show what files hold and take paths to leave out.
const CONTENTS: &[&str] =
    &["archive", "diff", "diff-files", "diff-index", "diff-tree", "format-patch", "grep", "log", "show", "whatchanged"];
/// Those of them that go through a history.
const WALKS: &[&str] = &["log", "whatchanged"];
/// Subcommands that show or copy what files hold by other names than their paths.
const OBJECTS: &[&str] = &[
    "bundle",
    "cat-file",
    "checkout-index",
    "clone",
    "fast-export",
    "merge-file",
    "merge-tree",
    "pack-objects",
    "range-diff",
    "read-tree",
    "rerere",
];
/// Others, with the words that make them do so.
const WITH: &[(&str, &[&str])] = &[
    ("add", &["-p", "-i", "-e", "--patch", "--interactive", "--edit"]),
    ("am", &["--show-current-patch"]),
    ("checkout", &["-p", "--patch"]),
    ("commit", &["-p", "-v", "--patch", "--interactive", "--verbose"]),
    ("rebase", &["--show-current-patch"]),
    ("reset", &["-p", "--patch"]),
    ("restore", &["-p", "--patch"]),
    ("show", &["-g", "--all", "--branches", "--glob", "--reflog", "--stdin", "--tags", "--walk-reflogs"]),
    ("stash", &["show", "-p", "--patch"]),
    ("status", &["-v", "--verbose"]),
    ("worktree", &["add"]),
];
/// What makes a history show what files hold or lets it be searched; such options may stand in one word.
const PATCHES: &[&str] = &[
    "-p",
    "-u",
    "-U",
    "-c",
    "-m",
    "-W",
    "-L",
    "-S",
    "-G",
    "--patch",
    "--unified",
    "--cc",
    "--word-diff",
    "--color-words",
    "--function-context",
    "--remerge-diff",
    "--dd",
    "--diff-merges",
    "--full-diff",
    "--binary",
    "--ext-diff",
];

/// What is kept from tools, where git runs.
pub(super) struct Kept {
    /// Where git runs, and the top of its repository.
    from: String,
    top: String,
    /// Virtual paths.
    paths: Vec<String>,
}

impl Kept {
    /// None if nothing is kept that git could have in its store.
    pub(super) fn of(directory: &str, settings: &Settings) -> Result<Option<Kept>, Error> {
        let paths: Vec<String> = program::hidden().into_iter().filter(|path| !path.contains("/.git/")).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let asked = ["rev-parse", "--show-toplevel"].map(str::to_owned).into();
        let told = git(asked, directory, settings, None)?;
        // Without a repository, or in one without files beside it, paths count from where git runs.
        let top = match told.ending {
            Ending::Code(0) => told.out.text.trim_end_matches('\n').to_owned(),
            _ => directory.to_owned(),
        };
        Ok(Some(Kept { from: directory.to_owned(), top, paths }))
    }

    /// Changes git's arguments so that nothing of it is shown.
    pub(super) fn leave_out(
        &self,
        subcommand: &str,
        args: &[String],
        line: &mut Vec<String>,
        settings: &Settings,
    ) -> Result<(), Error> {
        self.check(subcommand, args)?;
        // Without a repository git reads what is on disk, and that is covered.
        if !shows_contents(subcommand, args) || args.iter().any(|arg| arg == "--no-index") {
            return Ok(());
        }
        if self.names_files(args, settings)? {
            return Err(refused(subcommand, "files by the names of their objects, and some are kept from tools"));
        }
        if subcommand == "show" || WALKS.contains(&subcommand) {
            // Paths make git leave out commits that change none of them; these bring them back.
            line.splice(1..1, ["--full-history", "--sparse"].map(str::to_owned));
        }
        let beneath = |path: &String| path.strip_prefix(&self.top)?.strip_prefix('/').map(str::to_owned);
        line.extend(self.paths.iter().filter_map(beneath).map(|path| format!(":(exclude,top,literal){path}")));
        Ok(())
    }

    /// Refuses what names a path that is kept, and what shows files in ways of its own.
    fn check(&self, subcommand: &str, args: &[String]) -> Result<(), Error> {
        if let Some(path) = args.iter().find_map(|arg| self.named(arg)) {
            return Err(refused(subcommand, &format!("`{path}`, which is kept from tools")));
        }
        let shows = WITH.iter().any(|(name, words)| *name == subcommand && args.iter().any(|arg| is_one(arg, words)));
        match shows || OBJECTS.contains(&subcommand) {
            true => {
                Err(refused(subcommand, &format!("files whole, also `{}`, which is kept from tools", self.paths[0])))
            }
            false => Ok(()),
        }
    }

    /// The kept path that an argument names: by itself, as an option's value, or in a revision as `HEAD:path`.
    fn named(&self, arg: &str) -> Option<&str> {
        let value = arg.split_once('=').map(|(_, value)| value);
        let after = arg.rsplit_once(':').map(|(_, path)| path);
        let texts = [Some(arg), value, after].into_iter().flatten();
        let places = texts.flat_map(|text| [normal(&self.from, text), normal(&self.top, text)]);
        places.into_iter().find_map(|place| {
            let is_kept = |kept: &&String| place.strip_prefix(kept.as_str()).is_some_and(is_end);
            self.paths.iter().find(is_kept).map(String::as_str)
        })
    }

    /// Whether a revision stands for a file or a folder instead of a commit: then paths cannot be told.
    fn names_files(&self, args: &[String], settings: &Settings) -> Result<bool, Error> {
        let asked =
            args.iter().take_while(|arg| *arg != "--").filter(|arg| !arg.starts_with('-') && !arg.contains('\n'));
        // Both ends of a range; as it is, and what a tag leads to.
        let ends = asked.flat_map(|arg| arg.split("..")).map(|end| end.trim_start_matches(['^', '.']));
        let names: String = ends.filter(|end| !end.is_empty()).map(|end| format!("{end}\n{end}^{{}}\n")).collect();
        if names.is_empty() {
            return Ok(false);
        }
        let line = ["cat-file", "--batch-check=%(objecttype)"].map(str::to_owned).into();
        let kinds = git(line, &self.from, settings, Some(names.into_bytes()))?;
        Ok(kinds.out.text.lines().any(|kind| matches!(kind, "blob" | "tree")))
    }
}

fn refused(subcommand: &str, what: &str) -> Error {
    let message = format!("`git {subcommand}` would show {what}");
    failure::error(ErrorKind::Denied, Some("path_out_of_bounds"), message, None)
}

/// Whether what files hold is shown. A history shows it only when asked.
fn shows_contents(subcommand: &str, args: &[String]) -> bool {
    let asked = || args.iter().any(|arg| PATCHES.iter().any(|option| arg.starts_with(option) || is_short(arg, option)));
    CONTENTS.contains(&subcommand) && (!WALKS.contains(&subcommand) || asked())
}

/// Whether an argument is one of some words. Long options may be cut short, letters may stand together.
fn is_one(arg: &str, words: &[&str]) -> bool {
    let name = arg.split('=').next().unwrap_or_default();
    words.iter().any(|word| match word.strip_prefix('-').filter(|letter| !letter.starts_with('-')) {
        Some(letter) => name.starts_with('-') && !name.starts_with("--") && name.contains(letter),
        None => name == *word || is_short(name, word),
    })
}

/// Whether an argument is a long option cut short.
fn is_short(arg: &str, option: &str) -> bool {
    arg.len() > 2 && arg.starts_with("--") && option.starts_with(arg)
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// A path in normal form, from a folder if it does not begin at the root.
fn normal(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    #[test]
    fn what_is_kept_is_neither_named_nor_shown_whole() {
        let kept = Kept {
            from: "/workspace/sub".into(),
            top: "/workspace".into(),
            paths: args(&["/workspace/.env", "/workspace/sub/key"]),
        };
        let refuses = |subcommand: &str, words: &[&str]| kept.check(subcommand, &args(words)).is_err();
        assert!(refuses("show", &["HEAD:.env"]));
        assert!(refuses("show", &["HEAD:./key"]));
        assert!(refuses("show", &["HEAD:sub/../.env"]));
        assert!(refuses("log", &["-L1,5:key"]));
        assert!(refuses("blame", &["HEAD", "--", "../.env"]));
        assert!(refuses("diff", &["--", "/workspace/.env"]));
        assert!(refuses("cat-file", &["-p", "abc"]));
        assert!(refuses("stash", &["show"]));
        assert!(refuses("status", &["-svv"]));
        assert!(refuses("commit", &["--verb"]));
        assert!(refuses("worktree", &["add", "x"]));
        assert!(!refuses("show", &["HEAD:.environment"]));
        assert!(!refuses("worktree", &["list"]));
        assert!(!refuses("commit", &["-m", "verbose -v"]));
        assert!(!refuses("log", &["-p"]));
    }

    #[test]
    fn a_history_shows_files_only_when_asked() {
        assert!(!shows_contents("log", &args(&["--oneline", "--stat"])));
        assert!(shows_contents("log", &args(&["-p"])));
        assert!(shows_contents("log", &args(&["--patc"])));
        assert!(shows_contents("log", &args(&["-SKEY"])));
        assert!(shows_contents("diff", &[]));
        assert!(!shows_contents("status", &[]));
    }
}
