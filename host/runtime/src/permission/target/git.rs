//! Does a command of git show what files held? A place that is kept from tools is covered for every program, but git
//! has its old versions in a store of its own. So in text for the shell, where nothing can be left out of what git
//! shows, only commands are let through that are known to show nothing of files. Pure.

use super::command::Command;
use super::path::{Places, WORKSPACE, is_beneath};
use super::shell::Word;

/// What makes a history show what files held, or lets it be searched.
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
    "--textconv",
    "--find-object",
    "--pickaxe-all",
    "--pickaxe-regex",
];
/// Options that begin as one of those does and are none.
const HARMLESS: &[&str] = &["--color", "--pretty", "--parents", "--use-mailmap", "--first-parent"];
const PIECES: &[&str] = &["-p", "--patch"];

/// Subcommands that show nothing of files, but with these options or words.
const QUIET: &[(&str, &[&str])] = &[
    ("add", &["-p", "-i", "-e", "--patch", "--interactive", "--edit"]),
    ("am", &["--show-current-patch"]),
    ("apply", &[]),
    ("bisect", &[]),
    ("branch", &[]),
    ("check-attr", &[]),
    ("check-ignore", &[]),
    ("check-ref-format", &[]),
    ("checkout", PIECES),
    ("cherry", &[]),
    ("cherry-pick", &[]),
    ("clean", &[]),
    ("commit", &["-p", "-v", "--patch", "--interactive", "--verbose"]),
    ("commit-graph", &[]),
    ("config", &[]),
    ("count-objects", &[]),
    ("describe", &[]),
    ("fetch", &[]),
    ("for-each-ref", &[]),
    ("fsck", &[]),
    ("gc", &[]),
    ("hash-object", &[]),
    ("help", &[]),
    ("init", &[]),
    ("log", PATCHES),
    ("ls-files", &[]),
    ("ls-remote", &[]),
    ("ls-tree", &[]),
    ("maintenance", &[]),
    ("merge", &[]),
    ("merge-base", &[]),
    ("mv", &[]),
    ("name-rev", &[]),
    ("notes", &[]),
    ("pack-refs", &[]),
    ("prune", &[]),
    ("pull", &[]),
    ("push", &[]),
    ("rebase", &["--show-current-patch"]),
    ("reflog", PATCHES),
    ("remote", &[]),
    ("repack", &[]),
    ("reset", PIECES),
    ("restore", PIECES),
    ("revert", &[]),
    ("rev-list", PATCHES),
    ("rev-parse", &[]),
    ("rm", &[]),
    ("shortlog", &[]),
    ("show-branch", &[]),
    ("show-ref", &[]),
    ("sparse-checkout", &[]),
    ("stash", &["show", "-p", "--patch"]),
    ("status", &["-v", "--verbose"]),
    ("submodule", &[]),
    ("switch", &[]),
    ("symbolic-ref", &[]),
    ("tag", &[]),
    ("update-index", &[]),
    ("update-ref", &[]),
    ("var", &[]),
    ("verify-commit", &[]),
    ("verify-pack", &[]),
    ("verify-tag", &[]),
    ("version", &[]),
    ("whatchanged", PATCHES),
    ("worktree", &["add"]),
    ("write-tree", &[]),
];

/// A place that is kept from tools and that git would show as it was, as text for whoever is refused.
pub(super) fn shows_protected(command: &Command, places: &Places) -> Option<String> {
    let [git, subcommand, rest @ ..] = &command.words[..] else { return None };
    if git.text != "git" {
        return None;
    }
    let covered = |place: &&String| {
        places.grants.iter().any(|grant| is_beneath(place, grant)) && !place.to_lowercase().contains("/.git/")
    };
    let place = places.protected.iter().find(covered)?;
    let named = rest.iter().flat_map(|word| command_paths(&word.text)).find(|path| is_kept(path, places));
    if let Some(named) = named {
        return Some(said(&named, &subcommand.text));
    }
    let quiet = QUIET.iter().find(|(name, _)| *name == subcommand.text);
    let shows = quiet.is_none_or(|(_, unless)| rest.iter().take_while(|word| word.text != "--").any(in_list(unless)));
    shows.then(|| said(place, &subcommand.text))
}

fn said(place: &str, subcommand: &str) -> String {
    format!("{place} (as `git {subcommand}` would show it from git's own store)")
}

fn is_kept(path: &str, places: &Places) -> bool {
    places.protected.iter().any(|place| is_beneath(path, place))
}

/// What an argument names as a path, as if git ran in the workspace: itself, and what follows a revision.
fn command_paths(text: &str) -> impl Iterator<Item = String> {
    let after = text.rsplit_once(':').map(|(_, path)| path);
    std::iter::once(text).chain(after).map(|path| match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{WORKSPACE}/{}", path.trim_start_matches("./")),
    })
}

/// Whether a word is one of a list, or could be when the shell is done with it: options may be cut short, letters may
/// stand together.
fn in_list(list: &'static [&'static str]) -> impl Fn(&Word) -> bool {
    move |word| {
        let text = word.text.split('=').next().unwrap_or_default();
        let begins = text.chars().next();
        if word.expands {
            let is_plain = begins.is_some_and(|first| first.is_alphanumeric() || matches!(first, '/' | '.' | '_'));
            return !list.is_empty() && !is_plain;
        }
        list.iter().any(|wanted| match (wanted.strip_prefix("--"), wanted.strip_prefix('-')) {
            (Some(_), _) => {
                text.len() > 2
                    && text.starts_with("--")
                    && !HARMLESS.contains(&text)
                    && (wanted.starts_with(text) || text.starts_with(wanted))
            }
            (None, Some(letter)) => {
                text.starts_with('-') && !text.starts_with("--") && (text.starts_with(wanted) || text.contains(letter))
            }
            (None, None) => text == *wanted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_files_is_told_from_what_does_not() {
        let places = Places {
            grants: ["/workspace".to_owned()].into(),
            protected: ["/workspace/.env".to_owned(), "/workspace/.git/hooks".to_owned()].into(),
            ..Places::default()
        };
        let shows = |text: &str, places: &Places| {
            let commands = super::super::command::of_text(text, 0).unwrap();
            commands.iter().any(|command| shows_protected(command, places).is_some())
        };
        for text in [
            "git log -p",
            "git log --patc -3",
            "git -C sub log -1 -U9",
            "git log -S KEY",
            "git show",
            "git show HEAD:.env",
            "git diff",
            "git diff --cached",
            "git grep KEY HEAD",
            "git blame HEAD -- .env",
            "git checkout HEAD -- .env",
            "git restore --source=HEAD~3 ./.env",
            "git cat-file -p abc",
            "git archive HEAD",
            "git stash show -p",
            "git status -vv",
            "git commit -av",
            "git worktree add ../x",
            "git clone . x",
            "git log $x",
            "git add *.rs",
            "sh -c 'git log --patch'",
            "ls | xargs git show",
        ] {
            assert!(shows(text, &places), "{text}");
        }
        for text in [
            "git log",
            "git log --oneline --stat -3 --color --pretty=oneline",
            "git log -- src/a.rs",
            "git status -s",
            "git add .",
            "git add src/*.rs",
            "git commit -m 'a message'",
            "git push -u origin main",
            "git branch -v",
            "git worktree list",
            "git stash",
            "ls",
        ] {
            assert!(!shows(text, &places), "{text}");
        }
        // Without a place that is kept from tools there is nothing to leave out; hooks are no part of the store.
        let hooks = Places { protected: ["/workspace/.git/hooks".to_owned()].into(), ..places };
        assert!(!shows("git log -p", &hooks));
    }
}
