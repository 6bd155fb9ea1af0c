//! Does a name match a glob? In the name's own Unicode form or in the composed one.

use globset::{GlobBuilder, GlobMatcher};

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::failure;
use crate::path;

/// A compiled glob, and which part of a path it is for.
pub(crate) struct Glob {
    exact: GlobMatcher,
    composed: GlobMatcher,
    part: Part,
}

enum Part {
    /// The last name, wherever it is.
    Name,
    /// The path beneath the start.
    Relative,
    /// The whole virtual path.
    Absolute,
}

impl Glob {
    /// `*` and `?` stay within one name, `**` goes through directories, `{a,b}` and `[a-z]` are choices.
    pub(crate) fn new(pattern: &str, case_sensitive: bool) -> Result<Glob, Error> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let part = match pattern.find('/') {
            None => Part::Name,
            Some(0) => Part::Absolute,
            Some(_) => Part::Relative,
        };
        let compile = |pattern: &str| {
            let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(!case_sensitive).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| {
                let hint = "`*` and `?` match within a name, `**/` any directories, `{a,b}` either, `[a-z]` one letter";
                failure::invalid(format!("not a glob: {error}"), hint)
            })
        };
        Ok(Glob { exact: compile(pattern)?, composed: compile(&path::composed(pattern))?, part })
    }

    /// Whether a path beneath `start` matches.
    pub(crate) fn matches(&self, start: &str, path: &str) -> bool {
        let part = match self.part {
            Part::Name => path::split(path).1,
            Part::Relative => path.strip_prefix(start).unwrap_or(path).trim_start_matches('/'),
            Part::Absolute => path,
        };
        self.exact.is_match(part) || (!part.is_ascii() && self.composed.is_match(path::composed(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names_and_paths() {
        let check = |pattern, path, expect| {
            let glob = Glob::new(pattern, true).unwrap();
            assert_eq!(glob.matches("/workspace", path), expect, "{pattern} {path}");
        };
        check("*.rs", "/workspace/src/main.rs", true);
        check("*.rs", "/workspace/src/main.rst", false);
        check("src/*.rs", "/workspace/src/main.rs", true);
        check("src/*.rs", "/workspace/src/a/main.rs", false);
        check("./src/**/*.rs", "/workspace/src/a/b/main.rs", true);
        check("src/**/*.rs", "/workspace/src/main.rs", true);
        check("/workspace/s*/*", "/workspace/src/main.rs", true);
        check("*.{rs,toml}", "/workspace/a.toml", true);
        check("[!a]*", "/workspace/abc", false);
        check("caf\u{e9}*", "/workspace/cafe\u{301}.txt", true);
        check("cafe\u{301}*", "/workspace/caf\u{e9}.txt", true);
        assert!(Glob::new("README*", false).unwrap().matches("/", "/w/readme.md"));
        assert!(Glob::new("[a", true).is_err());
    }
}
