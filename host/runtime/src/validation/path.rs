//! What is the one normal form of a virtual path? The form that permission judges and the component opens. Pure.

/// The normal form: absolute, no `.`, no empty parts, `..` taken back; a relative path starts in the workspace. What
/// leads above the root keeps its `..`, so that permission sees it and refuses.
pub(super) fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { vec!["workspace"] };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_have_one_normal_form() {
        let check = |path: &str, expect: &str| assert_eq!(normalise(path), expect);
        check("a.txt", "/workspace/a.txt");
        check("./a//b/", "/workspace/a/b");
        check("/workspace/a/../b", "/workspace/b");
        check("a/./../b", "/workspace/b");
        check("", "/workspace");
        check(".", "/workspace");
        check("/", "/");
        check("../etc/passwd", "/etc/passwd");
        check("../../x", "/../x");
        check("/..", "/..");
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(path in "[a./]{0,12}") {
            let once = normalise(&path);
            prop_assert_eq!(normalise(&once), once);
        }
    }
}
