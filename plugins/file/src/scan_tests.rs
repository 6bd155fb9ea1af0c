//! What a search of one file finds, against the tree in memory and a search that reads the file whole.

use super::*;
use crate::files::Files;
use crate::matcher::Query;
use crate::memory::{Node, Tree};

const LIMITS: Limits = Limits { context: 0, matches: 1000, output: 1 << 20, input: 1 << 40 };

fn scan_node(node: Node, query: &str, limits: &Limits) -> Scanned {
    let tree = Tree::new(&[]);
    tree.put("/workspace/f", node);
    let matcher = Matcher::new(&Query { text: query, regex: false, case_sensitive: true }).unwrap();
    scan(&tree.open("/workspace/f").unwrap(), &matcher, limits).unwrap()
}

fn shown(scanned: &Scanned) -> Vec<String> {
    let line = |line: &Line| format!("{}{}{}", line.number, if line.is_match { ':' } else { '-' }, line.text);
    scanned.lines.iter().map(line).collect()
}

fn check(content: &str, query: &str, context: usize, expect: &[&str]) {
    let scanned = scan_node(Node::File(content.as_bytes().to_vec()), query, &Limits { context, ..LIMITS });
    assert_eq!(shown(&scanned), expect, "{content:?}");
}

#[test]
fn shows_lines_and_those_around_them() {
    check("a\nb\nx\nc\nd\n", "x", 0, &["3:x"]);
    check("a\nb\nx\nc\nd\n", "x", 1, &["2-b", "3:x", "4-c"]);
    check("x\nb\nx", "x", 5, &["1:x", "2-b", "3:x"]);
    check("x\nx\r\n", "x", 1, &["1:x", "2:x"]);
    check("x\na\nb\nc\nx\n", "x", 1, &["1:x", "2-a", "4-c", "5:x"]);
    check("a\n\n\nx", "x", 1, &["3-", "4:x"]);
    check("", "x", 1, &[]);
}

#[test]
fn blocks_make_no_difference() {
    // Lines of many lengths over several blocks, with a match every 997th line and one at each block's border.
    let line = |n: usize| {
        let mark = if n.is_multiple_of(997) { "needle" } else { "" };
        format!("{n} {}{mark}\n", "abc ".repeat(n % 37))
    };
    let content: String = (1..40_000).map(line).collect();
    for context in [0, 1, 3] {
        let scanned = scan_node(Node::File(content.clone().into_bytes()), "needle", &Limits { context, ..LIMITS });
        let all: Vec<&str> = content.lines().collect();
        let mut expect = Vec::new();
        for at in (997..40_000).step_by(997) {
            for number in at - context..=(at + context).min(all.len()) {
                let sign = if number == at { ':' } else { '-' };
                expect.push(format!("{number}{sign}{}", all[number - 1]));
            }
        }
        assert_eq!(shown(&scanned), expect, "{context}");
    }
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let content = format!("first\n{}needle{}\nneedle last\n", "\u{e9}".repeat(1_500_000), "y".repeat(2_000_000));
    let scanned = scan_node(Node::File(content.into_bytes()), "needle", &Limits { context: 1, ..LIMITS });
    let lines = shown(&scanned);
    let at = lines.iter().position(|line| line.starts_with("2:")).unwrap();
    assert!(lines[at].contains("needle") && lines[at].len() < 500, "{}", lines[at]);
    assert!(lines.iter().all(|line| line.len() < 500 && !line.contains('\u{FFFD}')));
    assert_eq!((scanned.matches, lines.last().unwrap().as_str()), (2, "3:needle last"));
}

#[test]
fn limits_end_a_search() {
    let cut = |limits: Limits| scan_node(Node::File(b"x\n".repeat(500_000)), "x", &limits).cut;
    assert_eq!(cut(Limits { matches: 3, ..LIMITS }), Some("max_results"));
    assert_eq!(cut(Limits { output: 100, ..LIMITS }), Some("output"));
    assert_eq!(cut(Limits { input: 1000, matches: 1 << 30, ..LIMITS }), Some("bytes"));
    let scanned = scan_node(Node::File(b"x\nx\nx\n".to_vec()), "x", &Limits { matches: 3, ..LIMITS });
    assert_eq!((scanned.matches, scanned.cut), (3, None));
}

#[test]
fn other_encodings_are_searched_and_bytes_are_not() {
    let wide = encoding::encode("caf\u{e9}\n\u{1F600} needle\n", Encoding::Utf16Le).unwrap();
    let content = [&[0xFF, 0xFE], wide.as_ref()].concat();
    assert_eq!(shown(&scan_node(Node::File(content), "needle", &LIMITS)), ["2:\u{1F600} needle"]);
    assert!(scan_node(Node::File(b"needle\0".to_vec()), "needle", &LIMITS).binary);
    let sparse = scan_node(Node::Sparse(5 << 30, b"needle".to_vec()), "needle", &LIMITS);
    assert!(sparse.binary && sparse.bytes_read <= BLOCK as u64);
    assert_eq!(
        shown(&scan_node(Node::File(b"bad \xFF needle".to_vec()), "needle", &LIMITS)),
        ["1:bad \u{FFFD} needle"]
    );
}
