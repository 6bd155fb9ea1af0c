//! Where is a virtual path? Beneath a grant, in a place that is kept from every tool, or nowhere. Judges the normal
//! form, without looking at the disk; the `files` capability looks again at what it opens.

use super::Target;
use crate::address::HostGrants;
use std::collections::BTreeSet;

/// The virtual path of the directory in which an agent works.
pub const WORKSPACE: &str = "/workspace";

/// The places that virtual paths can lead to. Lifetime: the process.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Virtual names of the granted directories, with a leading slash.
    pub grants: BTreeSet<String>,
    /// Virtual paths that no tool may touch.
    pub protected: BTreeSet<String>,
    /// Those of them whose content is to stay unknown, also as it once was.
    pub secrets: BTreeSet<String>,
    /// Hosts of this machine or its network that the operator lets tools reach.
    pub hosts: HostGrants,
}

impl Places {
    /// What no program sees: the secrets among what is kept from tools, and what git would run on its own.
    pub(crate) fn hidden(&self) -> Vec<String> {
        let hooks = self.grants.iter().map(|grant| format!("{grant}/.git/hooks"));
        self.secrets.iter().cloned().chain(hooks).collect()
    }

    /// Judges a path in normal form, for a call that `changes` things or only reads.
    pub fn locate(&self, path: &str, changes: bool) -> Target {
        let text = path.to_owned();
        let granted = path == "/" || self.grants.iter().any(|grant| is_beneath(path, grant));
        if !granted || path.split('/').any(|part| part == "..") {
            Target::OutOfBounds(text)
        } else if self.protected.iter().any(|place| is_beneath(path, place))
            || is_hook(path)
            || (changes && is_git_config(path))
        {
            Target::Protected(text)
        } else {
            Target::Granted(text)
        }
    }
}

/// Whether a path is another one or lies beneath it, by whole names.
pub fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path leads to what git would run on its own.
pub fn is_hook(path: &str) -> bool {
    in_git_folder(path, &["hooks"])
}

/// Whether a path leads to what tells git which programs to run; tools may read it and never change it.
pub fn is_git_config(path: &str) -> bool {
    in_git_folder(path, &["config", "config.worktree", "info", "modules", "worktrees", "commondir"])
}

fn in_git_folder(path: &str, names: &[&str]) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_one = |part: &str| names.iter().any(|name| part.eq_ignore_ascii_case(name));
    parts.windows(2).any(|pair| pair[0].eq_ignore_ascii_case(".git") && is_one(pair[1]))
        // A link file instead of the folder would lead git to any configuration.
        || (names.contains(&"config") && parts.last().is_some_and(|last| last.eq_ignore_ascii_case(".git")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_whole_names() {
        let places = Places {
            grants: ["/workspace".to_owned()].into(),
            protected: ["/workspace/.state".to_owned()].into(),
            secrets: BTreeSet::new(),
            hosts: HostGrants::default(),
        };
        let check = |path: &str, expect: fn(String) -> Target| {
            assert_eq!(places.locate(path, false), expect(path.to_owned()));
        };
        check("/workspace/a", Target::Granted);
        check("/", Target::Granted);
        check("/workspaces/a", Target::OutOfBounds);
        check("/etc/passwd", Target::OutOfBounds);
        check("/workspace/../etc", Target::OutOfBounds);
        check("/workspace/.state/journal.db", Target::Protected);
        check("/workspace/.state2", Target::Granted);
        check("/workspace/sub/.git/hooks/pre-commit", Target::Protected);
        check("/workspace/.GIT/Hooks", Target::Protected);
        check("/workspace/.git/config", Target::Granted);
        for changed in ["/workspace/.git/config", "/workspace/.git", "/workspace/a/.Git/info/attributes"] {
            assert_eq!(places.locate(changed, true), Target::Protected(changed.to_owned()));
        }
        assert_eq!(places.locate("/workspace/.gitignore", true), Target::Granted("/workspace/.gitignore".into()));
    }
}
