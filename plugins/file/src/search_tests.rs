//! What `file_search` answers, against the tree in memory.

use serde_json::{Value, json};

use super::*;
use crate::memory::{Node, Tree};

fn search(tree: &Tree, arguments: Value) -> Result<(String, Value, Value), Error> {
    let arguments: Arguments = serde_json::from_value(arguments).unwrap();
    let output = run(tree, &arguments)?;
    let texts = output.content.into_iter().map(|content| match content {
        Content::Text(text) => text,
        other => panic!("file_search answers text, not {other:?}"),
    });
    let parse = |text: Option<String>| serde_json::from_str(&text.unwrap()).unwrap();
    Ok((texts.collect(), parse(output.data), parse(output.metadata)))
}

fn check(tree: &Tree, arguments: Value, expect: &str) {
    let (text, ..) = search(tree, arguments.clone()).unwrap();
    assert_eq!(text, expect, "{arguments}");
}

fn tree() -> Tree {
    let tree = Tree::new(&[
        ("/workspace/.git/HEAD", b"probe"),
        ("/workspace/.gitignore", b"out\n"),
        ("/workspace/a/probe-1.txt", b"one\nthe probe\nthree\n"),
        ("/workspace/a/x.rs", b"fn probe() {}\n"),
        ("/workspace/bytes", b"probe\0"),
        ("/workspace/out/probe-2.txt", b"probe"),
    ]);
    tree.put("/workspace/b", Node::Unreadable);
    tree.put("/workspace/pipe", Node::Pipe);
    tree.put("/workspace/bad\u{FFFD}", Node::Unnameable);
    tree
}

#[test]
fn finds_content_past_what_it_cannot_read() {
    let (text, data, metadata) = search(&tree(), json!({"query": "probe"})).unwrap();
    let remark = "[2 matches; left out: 1 binary files, 2 hidden names (see `include_hidden`), \
                  1 names in .gitignore (see `respect_gitignore`), 3 unreadable or special places]";
    let lines = "/workspace/a/probe-1.txt:2: the probe\n/workspace/a/x.rs:1: fn probe() {}\n";
    assert_eq!(text, format!("{lines}{remark}"));
    assert_eq!((&data["matches"], &data["files"], &data["truncated"]), (&json!(2), &json!(2), &json!(false)));
    assert_eq!(data["paths"], json!(["/workspace/a/probe-1.txt", "/workspace/a/x.rs"]));
    assert_eq!((&data["skipped"], &metadata["skipped_count"]), (&json!(3), &json!(3)));
    let reasons: Vec<&str> =
        metadata["skipped"].as_array().unwrap().iter().map(|s| s["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["name_not_utf8", "not_a_regular_file", "permission_denied"]);
}

#[test]
fn finds_names() {
    let (text, data, metadata) = search(&tree(), json!({"name": "probe*"})).unwrap();
    assert!(text.starts_with("/workspace/a/probe-1.txt\n"), "{text}");
    assert_eq!((&data["matches"], &metadata["skipped"][0]["path"]), (&json!(1), &json!("/workspace/b")));
    check(&tree(), json!({"name": "a/*.rs", "query": "fn"}), {
        "/workspace/a/x.rs:1: fn probe() {}\n[1 matches; left out: 2 hidden names (see `include_hidden`), \
         1 names in .gitignore (see `respect_gitignore`), 1 unreadable or special places]"
    });
    let all = json!({"name": "probe*", "respect_gitignore": false});
    assert_eq!(search(&tree(), all).unwrap().1["matches"], 2);
    check(&tree(), json!({"name": "a", "path": "/workspace/a"}), "[no matches]");
    check(&tree(), json!({"query": "probe", "path": "/workspace/a/x.rs"}), "/workspace/a/x.rs:1: fn probe() {}\n");
    check(&tree(), json!({"query": "probe", "path": "/workspace/.git"}), "/workspace/.git/HEAD:1: probe\n");
}

#[test]
fn shows_context_and_says_when_there_is_more() {
    let tree = Tree::new(&[("/workspace/f", b"x\na\nb\nc\nx\n"), ("/workspace/g", b"x\n")]);
    let context =
        "/workspace/f:1: x\n/workspace/f-2- a\n--\n/workspace/f-4- c\n/workspace/f:5: x\n--\n/workspace/g:1: x\n";
    check(&tree, json!({"query": "x", "context": 1}), context);
    let more = "[the first 2 matches are shown and there are more; narrow `path`, `name` or `query`]";
    let two = json!({"query": "x", "max_results": 2});
    check(&tree, two.clone(), &format!("/workspace/f:1: x\n/workspace/f:5: x\n{more}"));
    let (_, data, _) = search(&tree, two).unwrap();
    assert_eq!((&data["truncated"], &data["truncated_by"]), (&json!(true), &json!("max_results")));
    let three = json!({"query": "x", "max_results": 3});
    assert_eq!(search(&tree, three).unwrap().1["truncated"], false);
}

#[test]
fn finds_the_other_normal_form() {
    let on_disk = "/workspace/cafe\u{301}.txt";
    let tree = Tree::new(&[(on_disk, "re\u{301}sume\u{301}\n".as_bytes())]);
    let (text, data, metadata) = search(&tree, json!({"query": "r\u{e9}sum\u{e9}"})).unwrap();
    assert_eq!(text, format!("{on_disk}:1: re\u{301}sume\u{301}\n"));
    assert_eq!((&data["matches"], &metadata["normalised_matches"]), (&json!(1), &json!(1)));
    assert_eq!(search(&tree, json!({"name": "caf\u{e9}*"})).unwrap().1["paths"], json!([on_disk]));
}

#[test]
fn refuses_what_cannot_be_searched() {
    let reason = |arguments: Value| search(&tree(), arguments).unwrap_err().reason;
    assert_eq!(reason(json!({})), None);
    assert_eq!(reason(json!({"query": "(", "regex": true})), None);
    assert_eq!(reason(json!({"query": "x", "path": "/workspace/b"})).as_deref(), Some("permission_denied"));
    assert_eq!(reason(json!({"query": "x", "path": "/workspace/pipe"})).as_deref(), Some("not_a_regular_file"));
    assert_eq!(reason(json!({"query": "x", "path": "/workspace/none"})).as_deref(), Some("not_found"));
}
