//! Where is a virtual path? Beneath a grant, in a place that is kept from every tool, or nowhere. Judges the normal
//! form, without looking at the disk; the `files` capability looks again at what it opens.

use super::Target;
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
}

impl Places {
    /// Judges a path in normal form.
    pub fn locate(&self, path: &str) -> Target {
        let text = path.to_owned();
        let granted = path == "/" || self.grants.iter().any(|grant| is_beneath(path, grant));
        if !granted || path.split('/').any(|part| part == "..") {
            Target::OutOfBounds(text)
        } else if self.protected.iter().any(|place| is_beneath(path, place)) || is_hook(path) {
            Target::Protected(text)
        } else {
            Target::Granted(text)
        }
    }
}

/// Whether a path is another one or lies beneath it, by whole names.
pub fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path leads to what git would run on its own.
pub fn is_hook(path: &str) -> bool {
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_git = part.eq_ignore_ascii_case(".git");
        if is_git && parts.peek().is_some_and(|next| next.eq_ignore_ascii_case("hooks")) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_whole_names() {
        let places = Places {
            grants: ["/workspace".to_owned()].into(),
            protected: ["/workspace/.state".to_owned()].into(),
        };
        let check = |path: &str, expect: fn(String) -> Target| {
            assert_eq!(places.locate(path), expect(path.to_owned()));
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
    }
}
