//! What does a browser have to be told of a key that is named `Enter`, `a` or `Control+A`? Pure.

use crate::bindings::hermes::tool::browser::Key;

/// Keys with a name: meaning, place, number, text.
const NAMED: &[(&str, &str, u32, &str)] = &[
    ("Enter", "Enter", 13, "\r"),
    ("Tab", "Tab", 9, ""),
    ("Escape", "Escape", 27, ""),
    ("Backspace", "Backspace", 8, ""),
    ("Delete", "Delete", 46, ""),
    ("Insert", "Insert", 45, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("Home", "Home", 36, ""),
    ("End", "End", 35, ""),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("Space", "Space", 32, " "),
];
/// Keys that are held: name, number in the sum.
const HELD: &[(&str, u8)] = &[("Alt", 1), ("Control", 2), ("Ctrl", 2), ("Meta", 4), ("Command", 4), ("Shift", 8)];
/// Held with any of these, a key types nothing.
const COMMANDS: u8 = 1 | 2 | 4;

/// Reads a key by its name, in any case for those with more than one letter.
pub(crate) fn parse(text: &str) -> Option<Key> {
    let mut rest = text.trim();
    let mut modifiers = 0;
    // A plus at the end is the key itself.
    while let Some((name, after)) = rest.split_once('+').filter(|(name, after)| !name.is_empty() && !after.is_empty()) {
        let (_, bit) = HELD.iter().find(|(held, _)| held.eq_ignore_ascii_case(name.trim()))?;
        modifiers |= bit;
        rest = after.trim();
    }
    let mut key = one(rest)?;
    if modifiers & COMMANDS != 0 {
        key.text.clear();
    }
    Some(Key { modifiers, ..key })
}

fn one(name: &str) -> Option<Key> {
    let key = |key: &str, code: String, number: u32, text: &str| Key {
        key: key.to_owned(),
        code,
        number,
        text: text.to_owned(),
        modifiers: 0,
    };
    if let Some((name, code, number, text)) = NAMED.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)) {
        let meaning = if *name == "Space" { " " } else { name };
        return Some(key(meaning, (*code).to_owned(), *number, text));
    }
    if let Some(number) = name.strip_prefix(['F', 'f']).and_then(|digits| digits.parse::<u32>().ok()) {
        return (1..=12).contains(&number).then(|| key(&format!("F{number}"), format!("F{number}"), 111 + number, ""));
    }
    let mut signs = name.chars();
    let (sign, None) = (signs.next()?, signs.next()) else { return None };
    let upper = sign.to_ascii_uppercase();
    let (code, number) = match upper {
        'A'..='Z' => (format!("Key{upper}"), u32::from(upper)),
        '0'..='9' => (format!("Digit{upper}"), u32::from(upper)),
        _ => (String::new(), 0),
    };
    Some(key(name, code, number, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_name() {
        let check = |name: &str, expect: (&str, &str, u32, &str, u8)| {
            let key = parse(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((&*key.key, &*key.code, key.number, &*key.text, key.modifiers), expect, "{name}");
        };
        check("Enter", ("Enter", "Enter", 13, "\r", 0));
        check("escape", ("Escape", "Escape", 27, "", 0));
        check("a", ("a", "KeyA", 65, "a", 0));
        check("Control+a", ("a", "KeyA", 65, "", 2));
        check("ctrl+Shift+ArrowLeft", ("ArrowLeft", "ArrowLeft", 37, "", 10));
        check("+", ("+", "", 0, "+", 0));
        check("F5", ("F5", "F5", 116, "", 0));
        check("ü", ("ü", "", 0, "ü", 0));
        for bad in ["", "Enterr", "Hyper+a", "F13", "ab"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
