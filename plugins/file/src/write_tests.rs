//! What `file_write` does, against the tree in memory.

use serde_json::{Value, json};

use super::*;
use crate::memory::{Node, Tree};

const FILE: &str = "/workspace/a.txt";

fn write(tree: &Tree, arguments: Value) -> Result<(String, Value, Option<Value>), Error> {
    let arguments: Arguments = serde_json::from_value(arguments).unwrap();
    let output = run(tree, &arguments)?;
    let text = match output.content.into_iter().next() {
        Some(Content::Text(text)) => text,
        other => panic!("file_write answers text, not {other:?}"),
    };
    let parse = |text: String| serde_json::from_str(&text).unwrap();
    Ok((text, parse(output.data.unwrap()), output.metadata.map(parse)))
}

fn refusal(tree: &Tree, arguments: Value) -> (ErrorKind, Option<String>) {
    let error = write(tree, arguments).unwrap_err();
    assert!(!error.request_sent);
    (error.kind, error.reason)
}

fn digest(tree: &Tree, path: &str) -> String {
    tree.open(path).unwrap().digest().unwrap()
}

#[test]
fn each_mode_does_what_it_says() {
    let tree = Tree::new(&[]);
    let check = |arguments: Value, content: &str, created: bool| {
        let (_, data, _) = write(&tree, arguments).unwrap();
        assert_eq!(tree.content(FILE).unwrap(), content.as_bytes());
        assert_eq!((&data["created"], &data["size"]), (&json!(created), &json!(content.len())));
        assert_eq!(data["digest"], digest(&tree, FILE));
    };
    check(json!({"path": FILE, "mode": "create", "content": "one\n"}), "one\n", true);
    check(json!({"path": FILE, "mode": "append", "content": "two\n"}), "one\ntwo\n", false);
    check(json!({"path": FILE, "mode": "replace", "old": "two", "new": "2"}), "one\n2\n", false);
    check(json!({"path": FILE, "mode": "overwrite", "content": "x"}), "x", false);
    let again = refusal(&tree, json!({"path": FILE, "mode": "create", "content": ""}));
    assert_eq!(again, (ErrorKind::ToolFailed, Some("already_exists".to_owned())));
}

#[test]
fn makes_directories_when_wanted() {
    let tree = Tree::new(&[]);
    write(&tree, json!({"path": "/workspace/d/e/f", "mode": "append", "content": "x"})).unwrap();
    assert_eq!(tree.content("/workspace/d/e/f").unwrap(), b"x");
    let path = "/workspace/other/f";
    let no = json!({"path": path, "mode": "create", "content": "x", "make_directories": false});
    assert_eq!(refusal(&tree, no).1.as_deref(), Some("not_found"));
}

#[test]
fn expects_what_the_caller_has_seen() {
    let tree = Tree::new(&[(FILE, b"old")]);
    let stale = format!("blake3:{}", "0".repeat(64));
    for mode in ["overwrite", "append"] {
        let stale = json!({"path": FILE, "mode": mode, "content": "new", "if_digest": stale});
        assert_eq!(refusal(&tree, stale), (ErrorKind::Conflict, Some("changed".to_owned())));
    }
    let replace = json!({"path": FILE, "mode": "replace", "old": "old", "new": "x", "if_digest": stale});
    assert_eq!(refusal(&tree, replace).0, ErrorKind::Conflict);
    let seen = digest(&tree, FILE);
    write(&tree, json!({"path": FILE, "mode": "overwrite", "content": "new", "if_digest": seen})).unwrap();
    assert_eq!(tree.content(FILE).unwrap(), b"new");
}

#[test]
fn replaces_anew_when_somebody_was_quicker() {
    let replace = json!({"path": FILE, "mode": "replace", "old": "b", "new": "x"});
    for (intruders, expect) in [(1, None), (5, None), (6, Some(ErrorKind::Conflict))] {
        let tree = Tree::new(&[(FILE, b"a\nb\n")]);
        tree.intruders.set(intruders);
        assert_eq!(write(&tree, replace.clone()).err().map(|error| error.kind), expect, "{intruders}");
    }
    let tree = Tree::new(&[(FILE, b"a\nb\n")]);
    tree.intruders.set(1);
    let mut seen = replace;
    seen["if_digest"] = json!(digest(&tree, FILE));
    assert_eq!(refusal(&tree, seen).0, ErrorKind::Conflict);
}

#[test]
fn replacing_shows_a_diff_and_keeps_the_form() {
    let tree = Tree::new(&[(FILE, b"\xEF\xBB\xBFa\r\nb\r\n"), ("/workspace/wide", b"\xFF\xFEa\0b\0")]);
    let (text, data, _) = write(&tree, json!({"path": FILE, "mode": "replace", "old": "b", "new": "x\ny"})).unwrap();
    assert_eq!(tree.content(FILE).unwrap(), b"\xEF\xBB\xBFa\r\nx\r\ny\r\n");
    assert_eq!(data["replacements"], 1);
    assert!(text.ends_with("@@ -1,2 +1,3 @@\n a\n-b\n+x\n+y\n"), "{text}");
    write(&tree, json!({"path": "/workspace/wide", "mode": "replace", "old": "b", "new": "c"})).unwrap();
    write(&tree, json!({"path": "/workspace/wide", "mode": "append", "content": "d"})).unwrap();
    assert_eq!(tree.content("/workspace/wide").unwrap(), b"\xFF\xFEa\0c\0d\0");
}

#[test]
fn refuses_what_it_cannot_replace() {
    let tree = Tree::new(&[(FILE, b"a\na\n"), ("/workspace/bytes", b"\xFF\0")]);
    tree.put("/workspace/big", Node::Same(b'x', 17 << 20));
    tree.put("/workspace/pipe", Node::Pipe);
    let reason = |path: &str, old: &str| {
        let (_, reason) = refusal(&tree, json!({"path": path, "mode": "replace", "old": old, "new": "n"}));
        reason.unwrap()
    };
    assert_eq!(reason(FILE, "a"), "text_not_unique");
    assert_eq!(reason(FILE, "zzz"), "text_not_found");
    assert_eq!(reason("/workspace/bytes", "a"), "not_text");
    assert_eq!(reason("/workspace/big", "a"), "too_large");
    assert_eq!(reason("/workspace/pipe", "a"), "not_a_regular_file");
    assert_eq!(reason("/workspace/none", "a"), "not_found");
}

#[test]
fn refuses_arguments_of_another_mode() {
    let tree = Tree::new(&[(FILE, b"a")]);
    for arguments in [
        json!({"mode": "create"}),
        json!({"mode": "overwrite", "content": "x", "old": "a"}),
        json!({"mode": "replace", "old": "a"}),
        json!({"mode": "replace", "old": "", "new": "x"}),
        json!({"mode": "replace", "old": "a", "new": "a"}),
        json!({"mode": "replace", "old": "a", "new": "b", "content": "c"}),
        json!({"mode": "create", "content": "x", "if_digest": "d"}),
        json!({"mode": "overwrite", "content": "\u{20AC}", "encoding": "latin-1"}),
    ] {
        let mut with_path = arguments.clone();
        with_path["path"] = json!(FILE);
        assert_eq!(refusal(&tree, with_path).0, ErrorKind::InvalidInput, "{arguments}");
    }
    assert_eq!(tree.content(FILE).unwrap(), b"a");
}

#[test]
fn makes_no_twin_in_another_normal_form() {
    let on_disk = "/workspace/cafe\u{301}.txt";
    let tree = Tree::new(&[(on_disk, "re\u{301}sume\u{301}\n".as_bytes())]);
    let asked = "/workspace/caf\u{e9}.txt";
    let replace = json!({"path": asked, "mode": "replace", "old": "r\u{e9}sum\u{e9}", "new": "cv"});
    let (_, data, metadata) = write(&tree, replace).unwrap();
    assert_eq!(data["matched"], "unicode_normal_form");
    assert_eq!(metadata.unwrap()["on_disk_path"], on_disk);
    write(&tree, json!({"path": asked, "mode": "append", "content": "x"})).unwrap();
    assert_eq!(tree.content(on_disk).unwrap(), b"cv\nx");
    assert_eq!(tree.content(asked), None);
    let create = refusal(&tree, json!({"path": asked, "mode": "create", "content": ""}));
    assert_eq!(create.1.as_deref(), Some("already_exists"));
}
