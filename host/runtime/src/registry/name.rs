//! Can a name be a tool's, and could a reader take it for another one? Must not know which tools there are.

use crate::document::excerpt;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Longest name of a tool; what MCP clients accept.
const LONGEST: usize = 64;

/// Why a name cannot be a tool's, if it cannot. What a reader could take for a good one is named, with that one.
pub fn problem(name: &str) -> Option<String> {
    if is_name(name) {
        return None;
    }
    let shown = excerpt(name, 80);
    // Longer ones are no name in any form, and looking at each letter costs time.
    if name.len() <= 4 * LONGEST {
        let normal: String = name.nfkc().collect();
        if is_name(&normal) {
            return Some(format!("`{shown}` is not in its one form (Unicode NFKC): write `{normal}`"));
        }
        let looks: String = skeleton(&normal).collect();
        if is_name(&looks) {
            return Some(format!(
                "`{shown}` cannot be a tool's name: it has letters that only look like those of `{looks}`"
            ));
        }
    }
    Some(format!("`{shown}` cannot be a tool's name: 1 to {LONGEST} of a-z, A-Z, 0-9, `_`, `-` and `.`"))
}

/// What a reader sees in a name (Unicode UTS 39), who does not mind case and who does: two names that have one of these in
/// common are taken for each other.
pub fn looks(name: &str) -> [String; 2] {
    if name.is_ascii() {
        // Character by character: none of these combine.
        let seen = |name: &str| name.bytes().map(|byte| &*PLAIN[usize::from(byte)]).collect::<String>();
        return [seen(&name.to_ascii_lowercase()), seen(name)];
    }
    let normal = name.nfkc().collect::<String>();
    let seen = |text: &str| skeleton(text).collect::<String>().to_lowercase();
    // A capital `I` is a small `l` to the eye, and a small `i` once it is written small.
    [seen(&normal.to_lowercase()), seen(&normal)]
}

/// What a reader sees in each plain character.
static PLAIN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let looks = |byte: u8| skeleton(char::from(byte).encode_utf8(&mut [0; 4])).collect::<String>().to_lowercase();
    (0..128).map(looks).collect()
});

fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_look_as_their_characters_do() {
        for name in ["file_read", "rn1lI|O0.-x", "MixedCase_09", "~!@#$%^&*() \"'`"] {
            let seen = |text: &str| skeleton(text).collect::<String>().to_lowercase();
            assert_eq!(looks(name), [seen(&name.to_lowercase()), seen(name)], "{name}");
        }
    }

    #[test]
    fn only_plain_names_are_names_and_the_refusal_says_which_one_is_meant() {
        let check = |name: &str, word: &str| {
            let found = problem(name).unwrap();
            assert!(found.contains(word), "{name}: {found}");
        };
        assert_eq!(problem("file_read.v2-x"), None);
        check("file_r\u{435}ad", "look like those of `file_read`");
        check("\u{ff46}ile_read", "write `file_read`");
        check("file\u{200b}_read", "`file_read`");
        check("a b", "1 to 64");
        check("", "1 to 64");
        check(&"x".repeat(65), "1 to 64");
    }

    #[test]
    fn names_that_look_alike_come_to_the_same() {
        let alike = |one: &str, other: &str| looks(one).iter().any(|look| looks(other).contains(look));
        for (one, other) in
            [("file_list", "fi1e_list"), ("modern", "rnodern"), ("Echo", "echo"), ("go", "g0"), ("delete", "deIete")]
        {
            assert!(alike(one, other), "{one} {other}");
        }
        for (one, other) in [("file_read", "file_write"), ("tool_1", "tool_2"), ("a_b", "a.b")] {
            assert!(!alike(one, other), "{one} {other}");
        }
    }
}
