//! Which names does `.gitignore` leave out? Reads the files of that name on the way and asks git's rules.

use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{Files, Source};
use crate::path;

/// The name of the files with the rules.
pub(crate) const NAME: &str = ".gitignore";

/// Longer files are no hand-written rules; what is beyond this many bytes is not read.
const RULES_LIMIT: u32 = 256 * 1024;

/// The rules that hold in a directory: its own, then those of the directories above.
#[derive(Clone, Default)]
pub(crate) struct Rules(Option<Rc<Level>>);

struct Level {
    own: Gitignore,
    above: Rules,
}

impl Rules {
    /// These rules and those of a directory further down. A line that is no valid pattern is left out, as git does.
    pub(crate) fn enter(&self, files: &impl Files, directory: &str) -> Rules {
        let rules = path::join(directory, NAME);
        let Ok(content) = files.open(&rules).and_then(|source| source.read(0, RULES_LIMIT)) else {
            return self.clone();
        };
        let mut builder = GitignoreBuilder::new(directory);
        for line in String::from_utf8_lossy(&content).trim_start_matches('\u{FEFF}').lines() {
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(own) => Rules(Some(Rc::new(Level { own, above: self.clone() }))),
            Err(_) => self.clone(),
        }
    }

    /// The rules of all directories from the grant down to, but without, this one.
    pub(crate) fn above(files: &impl Files, directory: &str) -> Rules {
        let ends = directory.match_indices('/').map(|(at, _)| at).skip(1);
        let parents = ends.filter_map(|at| directory.get(..at));
        parents.fold(Rules::default(), |rules, parent| rules.enter(files, parent))
    }

    /// Whether the path is left out. The nearest rule decides.
    pub(crate) fn ignores(&self, path: &str, is_directory: bool) -> bool {
        let mut rules = self;
        while let Some(level) = &rules.0 {
            match level.own.matched(path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &level.above,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Tree;

    #[test]
    fn follows_the_rules_of_git() {
        let tree = Tree::new(&[
            ("/workspace/.gitignore", b"*.log\n/target\nbuild/\n!keep.log\n# no rule\nsrc/*.tmp\n**/deep/x\n"),
            ("/workspace/src/.gitignore", b"!special.log\ngen*\n"),
        ]);
        let top = Rules::default().enter(&tree, "/workspace");
        let src = top.enter(&tree, "/workspace/src");
        let check = |rules: &Rules, path: &str, is_directory, expect| {
            assert_eq!(rules.ignores(&format!("/workspace/{path}"), is_directory), expect, "{path}");
        };
        check(&top, "a.log", false, true);
        check(&top, "keep.log", false, false);
        check(&top, "target", true, true);
        check(&top, "build", true, true);
        check(&top, "build", false, false);
        check(&top, "src/a.tmp", false, true);
        check(&top, "a.tmp", false, false);
        check(&top, "a/b/deep/x", false, true);
        check(&src, "src/special.log", false, false);
        check(&src, "src/other.log", false, true);
        check(&src, "src/generated.rs", false, true);
        check(&src, "src/target", true, false);
        let from_above = Rules::above(&tree, "/workspace/src/inner");
        check(&from_above, "src/inner/other.log", false, true);
        check(&from_above, "src/inner/generated.rs", false, true);
    }
}
