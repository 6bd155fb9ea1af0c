//! `git`: one subcommand with its arguments, on a repository that may be hostile.
//!
//! A repository's own configuration can name programs that git would run. Each setting that does is found by asking
//! git for the names, which runs nothing, and overridden by the environment, which no file outdoes.

mod kept;

use kept::Kept;
use serde::Deserialize;

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::process::Ending;
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::program::{self, Program};
use crate::{failure, report};

/// The arguments of `git`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    subcommand: String,
    #[serde(default)]
    args: Vec<String>,
    cwd: String,
    /// How long it may run; the host sees to it.
    #[serde(default, rename = "timeout_seconds")]
    _timeout_seconds: Option<u64>,
}

/// Git's own subcommands. Any other name would be an alias of the repository's or a program from somewhere.
const SUBCOMMANDS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-tree",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Variables that keep git from what is not in the repository, and from asking anybody.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Settings that always count, whatever the repository says.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "none"),
    ("core.attributesFile", "/dev/null"),
    ("core.alternateRefsCommand", "true"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("interactive.diffFilter", ""),
    ("sequence.editor", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("web.browser", "false"),
    ("help.browser", "false"),
    ("uploadpack.packObjectsHook", ""),
];

/// Settings whose name has a part that the repository chooses: first and last part, and what is put in their place.
const NAMED_SETTINGS: &[(&str, &str, &str)] = &[
    ("filter", "clean", ""),
    ("filter", "smudge", ""),
    ("filter", "process", ""),
    ("filter", "required", "false"),
    ("diff", "command", "true"),
    ("diff", "textconv", "cat"),
    ("merge", "driver", "false"),
    ("mergetool", "cmd", "false"),
    ("mergetool", "path", "false"),
    ("difftool", "cmd", "false"),
    ("difftool", "path", "false"),
    ("gpg", "program", "false"),
    ("credential", "helper", ""),
    ("remote", "uploadpack", "git-upload-pack"),
    ("remote", "receivepack", "git-receive-pack"),
    ("remote", "vcs", ""),
    ("remote", "proxy", ""),
    ("submodule", "update", "none"),
    ("trailer", "command", "true"),
    ("trailer", "cmd", "true"),
    ("tar", "command", "false"),
    ("hook", "command", "true"),
    ("browser", "cmd", "false"),
    ("browser", "path", "false"),
    ("man", "cmd", "false"),
    ("man", "path", "false"),
    ("pager", "", "false"),
    ("sendemail", "sendmailcmd", "false"),
    ("guitool", "cmd", "false"),
];

/// Subcommands that show differences, and so would run the repository's programs for them.
const DIFFERENCES: &[&str] =
    &["diff", "diff-files", "diff-index", "diff-tree", "log", "show", "whatchanged", "format-patch"];

/// Runs git with nothing of the repository's but its data.
pub(crate) fn run(arguments: &Arguments) -> Result<Output, Error> {
    let subcommand = arguments.subcommand.as_str();
    if !SUBCOMMANDS.contains(&subcommand) {
        let message = format!("`{subcommand}` is no subcommand of git's own; aliases are not followed");
        return Err(failure::error(ErrorKind::InvalidInput, Some("unknown_subcommand"), message, None));
    }
    let settings = overridden(&arguments.cwd)?;
    let mut args = line(subcommand, &arguments.args);
    if let Some(kept) = Kept::of(&arguments.cwd, &settings)? {
        kept.leave_out(subcommand, &arguments.args, &mut args, &settings)?;
    }
    let finished = git(args, &arguments.cwd, &settings, None)?;
    // These two say with 1 that there is a difference, or none found, which is an answer.
    let says_by_code = matches!(subcommand, "diff" | "grep" | "diff-tree" | "diff-index" | "diff-files")
        && (subcommand == "grep" || arguments.args.iter().any(|arg| arg == "--exit-code" || arg == "--quiet"));
    let successes: &[u8] = if says_by_code && finished.err.text.is_empty() { &[0, 1] } else { &[0] };
    report::answer(&format!("git {subcommand}"), &finished, successes)
}

/// Settings as name and value.
type Settings = [(String, String)];

fn git(
    args: Vec<String>,
    directory: &str,
    settings: &Settings,
    input: Option<Vec<u8>>,
) -> Result<program::Finished, Error> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut environment: Vec<(String, String)> = ENVIRONMENT.iter().map(owned).collect();
    environment.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
    for (index, (name, value)) in settings.iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{index}"), name.clone()));
        environment.push((format!("GIT_CONFIG_VALUE_{index}"), value.clone()));
    }
    let program = Program { name: "git", args, directory, environment, input, head: None };
    program::run(program).map_err(failure::not_started)
}

/// The settings that count here: the fixed ones, and one for each of the repository's that names a program.
fn overridden(directory: &str) -> Result<Vec<(String, String)>, Error> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut settings: Vec<(String, String)> = SETTINGS.iter().map(owned).collect();
    let asked = ["config", "--null", "--name-only", "--list"].map(str::to_owned).into();
    let names = git(asked, directory, &settings, None)?;
    if !matches!(names.ending, Ending::Code(0)) {
        // Without a readable configuration git does nothing else either, and says so itself.
        return Ok(settings);
    }
    if names.out.omitted > 0 {
        let message = "the repository's configuration is too long to be checked".to_owned();
        return Err(failure::error(ErrorKind::TooLarge, Some("too_large"), message, None));
    }
    settings.extend(names.out.text.split('\0').filter_map(harmless));
    Ok(settings)
}

/// What to set in the place of a setting that names a program.
fn harmless(name: &str) -> Option<(String, String)> {
    let (first, rest) = name.split_once('.')?;
    let last = rest.rsplit_once('.').map_or("", |(_, last)| last);
    let fits = |(wanted_first, wanted_last, _): &&(&str, &str, &str)| {
        first.eq_ignore_ascii_case(wanted_first) && last.eq_ignore_ascii_case(wanted_last)
    };
    NAMED_SETTINGS.iter().find(fits).map(|(.., value)| (name.to_owned(), (*value).to_owned()))
}

/// The arguments for git: what was asked for, without the repository's programs.
fn line(subcommand: &str, args: &[String]) -> Vec<String> {
    let mut line = vec![subcommand.to_owned()];
    if DIFFERENCES.contains(&subcommand) {
        line.extend(["--no-ext-diff", "--no-textconv"].map(str::to_owned));
    }
    line.extend_from_slice(args);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs_are_overridden_whatever_their_own_part_is() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(harmless(name).map(|(_, value)| value).as_deref(), expect, "{name}");
        };
        check("filter.a=b.c.clean", Some(""));
        check("Filter.x.Smudge", Some(""));
        check("diff.evil.textconv", Some("cat"));
        check("pager.log", Some("false"));
        check("user.name", None);
        check("diff.renames", None);
    }

    #[test]
    fn nothing_of_the_repositorys_shows_differences() {
        assert_eq!(line("log", &["-3".to_owned()]), ["log", "--no-ext-diff", "--no-textconv", "-3"]);
        assert_eq!(line("status", &[]), ["status"]);
    }
}
