//! What `file_read` answers, against the tree in memory.

use serde_json::{Value, json};

use super::*;
use crate::memory::{Node, Tree};

fn read(tree: &Tree, arguments: Value) -> Result<(Vec<String>, Value, Option<Value>), Error> {
    let arguments: Arguments = serde_json::from_value(arguments).unwrap();
    let output = run(tree, &arguments)?;
    let texts = output.content.into_iter().map(|content| match content {
        Content::Text(text) => text,
        Content::Binary(blob) => format!("{}:{}", blob.media_type, blob.data.len()),
        Content::Json(_) | Content::Link(_) => panic!("file_read answers text or bytes"),
    });
    let parse = |text: String| serde_json::from_str(&text).unwrap();
    Ok((texts.collect(), parse(output.data.unwrap()), output.metadata.map(parse)))
}

fn check(tree: &Tree, arguments: Value, texts: &[&str], facts: Value) {
    let (got, data, _) = read(tree, arguments.clone()).unwrap();
    assert_eq!(got, texts, "{arguments}");
    for (key, expect) in facts.as_object().unwrap() {
        assert_eq!(data.get(key).unwrap_or(&Value::Null), expect, "{key} of {arguments}");
    }
}

#[test]
fn reads_text() {
    let tree = Tree::new(&[("/workspace/a.txt", b"one\ntwo\nthree\n"), ("/workspace/empty", b"")]);
    let a = |mut arguments: Value| {
        arguments["path"] = json!("/workspace/a.txt");
        arguments
    };
    let whole = json!({"size": 14, "encoding": "utf-8", "truncated": false, "lines": null, "note": null});
    check(&tree, a(json!({})), &["one\ntwo\nthree\n"], whole);
    check(&tree, a(json!({"offset": 2, "limit": 1})), &["two\n"], json!({"lines": [2, 2], "next_offset": 3}));
    check(&tree, a(json!({"limit": 2})), &["one\ntwo\n"], json!({"lines": [1, 2], "truncated": false}));
    check(&tree, a(json!({"tail": 1})), &["three\n"], json!({"bytes": [8, 14], "lines": null}));
    check(&tree, a(json!({"byte_offset": 4, "byte_length": 3})), &["two"], json!({"next_byte_offset": 7}));
    check(&tree, a(json!({"line_numbers": true, "offset": 3})), &["     3\tthree\n"], json!({"lines": [3, 3]}));
    let note = "the range is past the end: the file has 3 lines and 14 bytes";
    check(&tree, a(json!({"offset": 9})), &["", &format!("[{note}]")], json!({"note": note, "truncated": false}));
    let note = "the range is past the end: the file has 14 bytes";
    check(&tree, a(json!({"byte_offset": 99})), &["", &format!("[{note}]")], json!({"note": note}));
    check(&tree, json!({"path": "/workspace/empty"}), &["", "[the file is empty]"], json!({"size": 0}));
}

#[test]
fn reads_other_encodings() {
    let tree = Tree::new(&[
        ("/workspace/marked", b"\xEF\xBB\xBFa"),
        ("/workspace/wide", b"\xFF\xFEa\0\n\0b\0"),
        ("/workspace/old", b"caf\xE9"),
    ]);
    check(&tree, json!({"path": "/workspace/marked"}), &["a"], json!({"byte_order_mark": true, "encoding": "utf-8"}));
    check(&tree, json!({"path": "/workspace/wide"}), &["a\nb"], json!({"encoding": "utf-16le"}));
    check(&tree, json!({"path": "/workspace/wide", "tail": 1}), &["b"], json!({"bytes": [6, 8]}));
    let latin = json!({"path": "/workspace/old", "encoding": "latin-1"});
    check(&tree, latin, &["caf\u{e9}"], json!({"note": null}));
    let (texts, ..) = read(&tree, json!({"path": "/workspace/old"})).unwrap();
    assert_eq!(texts[0], "caf\u{e9}");
    assert!(texts[1].contains("latin-1"), "{texts:?}");
}

#[test]
fn binary_content_is_bytes() {
    let png = [b"\x89PNG\r\n\x1A\n".as_slice(), &[0; 400_000]].concat();
    let tree = Tree::new(&[("/workspace/a.png", &png)]);
    tree.put("/workspace/big", Node::File([b"\x7FELF\0".as_slice(), &[1; 2_000_000]].concat()));
    check(&tree, json!({"path": "/workspace/a.png"}), &["image/png:400008"], json!({"media_type": "image/png"}));
    let (texts, data, _) = read(&tree, json!({"path": "/workspace/big"})).unwrap();
    assert!(texts.len() == 1 && texts[0].contains("too large to show"), "{texts:?}");
    assert_eq!(data["truncated"], true);
    let piece = json!({"path": "/workspace/big", "byte_offset": 0, "byte_length": 8});
    check(&tree, piece, &["application/octet-stream:8"], json!({"next_byte_offset": 8}));
}

#[test]
fn huge_files_are_read_in_part() {
    let tree = Tree::new(&[]);
    tree.put("/workspace/big.log", Node::Sparse(5 << 30, b"\nEND-MARK\n".to_vec()));
    tree.put("/workspace/line", Node::Same(b'x', 200 << 20));
    let (texts, data, _) = read(&tree, json!({"path": "/workspace/big.log"})).unwrap();
    assert_eq!(texts[0], "[65536 NUL bytes]");
    assert_eq!((&data["truncated"], &data["size"]), (&json!(true), &json!((5_u64 << 30) + 10)));
    assert_eq!(data["digest"], Value::Null);
    let (texts, data, _) = read(&tree, json!({"path": "/workspace/big.log", "tail": 10})).unwrap();
    assert_eq!((texts[0].as_str(), &data["truncated"]), ("END-MARK\n", &json!(true)));
    let (texts, data, _) = read(&tree, json!({"path": "/workspace/line"})).unwrap();
    assert_eq!((texts[0].len(), &data["next_byte_offset"]), (TEXT_LIMIT, &json!(TEXT_LIMIT)));
    assert!(tree.bytes_read.get() < 2_000_000, "{}", tree.bytes_read.get());
}

#[test]
fn ranges_exclude_each_other() {
    let tree = Tree::new(&[("/workspace/a", b"a")]);
    for range in [json!({"tail": 1, "offset": 1}), json!({"limit": 1, "byte_length": 1})] {
        let mut arguments = range;
        arguments["path"] = json!("/workspace/a");
        assert!(read(&tree, arguments).unwrap_err().message.contains("range"));
    }
}

#[test]
fn name_on_disk_is_told() {
    let tree = Tree::new(&[("/workspace/cafe\u{301}.txt", b"x")]);
    let (_, data, metadata) = read(&tree, json!({"path": "/workspace/caf\u{e9}.txt"})).unwrap();
    assert_eq!(data["path"], "/workspace/caf\u{e9}.txt");
    assert_eq!(metadata.unwrap()["on_disk_path"], "/workspace/cafe\u{301}.txt");
}

#[test]
fn refuses_what_is_no_file() {
    let tree = Tree::new(&[("/workspace/d/x", b"")]);
    tree.put("/workspace/pipe", Node::Pipe);
    let reason = |path: &str| read(&tree, json!({ "path": path })).unwrap_err().reason.unwrap();
    assert_eq!(reason("/workspace/pipe"), "not_a_regular_file");
    assert_eq!(reason("/workspace/d"), "is_a_directory");
    assert_eq!(reason("/workspace/none"), "not_found");
}
