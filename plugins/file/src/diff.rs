//! What did a replacement change? A unified diff of the replaced places, of bounded length.

use crate::replace::line_breaks;

/// Lines shown before and after a change.
const CONTEXT: usize = 3;

/// The most that a diff shows, in bytes, and of one line, in characters. The caller knows what it asked for.
const DIFF_LIMIT: usize = 8 * 1024;
const LINE_LIMIT: usize = 300;

/// Whole lines that were changed, and the lines in their place.
struct Block<'a> {
    from: usize,
    to: usize,
    old: Vec<&'a str>,
    new: Vec<String>,
    /// How many of the replacements are made when this block is.
    done: usize,
}

/// How far the diff has come: lines are counted once, not from the start for each hunk.
struct Place {
    at: usize,
    line: i64,
    /// By how many lines the text has grown before here.
    grown: i64,
}

/// The diff of `text` when each of `spans` becomes `new`. The spans are sorted and do not overlap.
pub(crate) fn unified(path: &str, text: &str, spans: &[(usize, usize)], new: &str) -> String {
    let mut diff = format!("--- {path}\n+++ {path}\n");
    let mut place = Place { at: 0, line: 1, grown: 0 };
    let mut rest = spans;
    let mut done = 0;
    while !rest.is_empty() && diff.len() < DIFF_LIMIT {
        let blocks = hunk(text, rest, new);
        let used: usize = blocks.iter().map(|block| block.done).sum();
        write_hunk(&mut diff, text, &blocks, &mut place);
        done += used;
        rest = rest.get(used.max(1)..).unwrap_or_default();
    }
    if done < spans.len() {
        diff.push_str(&format!("[{} more replacements are not shown]\n", spans.len() - done));
    }
    diff
}

/// The blocks that share their context, from the first span on.
fn hunk<'a>(text: &'a str, spans: &[(usize, usize)], new: &str) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut rest = spans;
    let mut size = 0;
    while let Some(block) = block(text, rest, new) {
        if blocks.last().is_some_and(|last| !shares_context(text, last.to, block.from)) || size > DIFF_LIMIT {
            break;
        }
        rest = rest.get(block.done..).unwrap_or_default();
        size += block.to - block.from;
        blocks.push(block);
    }
    blocks
}

fn shares_context(text: &str, to: usize, from: usize) -> bool {
    text.get(to..from).is_some_and(|between| between.lines().take(2 * CONTEXT + 1).count() <= 2 * CONTEXT)
}

/// The whole lines around the first span, and around those that begin on the same lines.
fn block<'a>(text: &'a str, spans: &[(usize, usize)], new: &str) -> Option<Block<'a>> {
    let (first, _) = spans.first()?;
    let from = line_start(text, *first);
    let mut to = from;
    let mut line = String::new();
    let mut at = from;
    let mut done = 0;
    for (start, end) in spans {
        if done > 0 && *start >= to {
            break;
        }
        line.push_str(text.get(at..*start)?);
        line.push_str(new);
        at = *end;
        // A span that ends with a line break ends its line, unless what takes its place leaves the line open.
        let closed = text.get(..*end)?.ends_with('\n') && (new.is_empty() || new.ends_with('\n')) && line_closed(&line);
        // Looking for the line's end once is enough, however many replacements it has.
        to = match *end {
            end if end < to => to,
            end if closed => end,
            end => line_end(text, end),
        };
        done += 1;
    }
    line.push_str(text.get(at..to)?);
    let old = text.get(from..to)?.split_inclusive('\n').collect();
    let new = line.split_inclusive('\n').map(str::to_owned).collect();
    Some(Block { from, to, old, new, done })
}

fn line_closed(line: &str) -> bool {
    line.is_empty() || line.ends_with('\n')
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |found| at + found + 1)
}

fn write_hunk(diff: &mut String, text: &str, blocks: &[Block], place: &mut Place) {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
        return;
    };
    let before = text.get(..first.from).unwrap_or_default();
    let skipped = before.split_inclusive('\n').rev().take(CONTEXT).map(str::len).sum::<usize>();
    let from = first.from - skipped;
    let after = text.get(last.to..).unwrap_or_default();
    let to = last.to + after.split_inclusive('\n').take(CONTEXT).map(str::len).sum::<usize>();
    let old_lines = text.get(from..to).unwrap_or_default().split_inclusive('\n').count();
    let more: i64 = blocks.iter().map(|block| block.new.len() as i64 - block.old.len() as i64).sum();
    place.line += line_breaks(text, place.at, from) as i64;
    place.at = from;
    let (line, new_lines) = (place.line, old_lines as i64 + more);
    diff.push_str(&format!("@@ -{line},{old_lines} +{},{new_lines} @@\n", line + place.grown));
    place.grown += more;
    let mut at = from;
    for block in blocks {
        push_lines(diff, ' ', text.get(at..block.from).unwrap_or_default().split_inclusive('\n'));
        push_lines(diff, '-', block.old.iter().copied());
        push_lines(diff, '+', block.new.iter().map(String::as_str));
        at = block.to;
    }
    push_lines(diff, ' ', text.get(at..to).unwrap_or_default().split_inclusive('\n'));
}

fn push_lines<'a>(diff: &mut String, sign: char, lines: impl Iterator<Item = &'a str>) {
    for line in lines {
        if diff.len() > 2 * DIFF_LIMIT {
            return;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        diff.push(sign);
        match line.char_indices().nth(LINE_LIMIT) {
            Some((cut, _)) => diff.extend([line.get(..cut).unwrap_or_default(), "…"]),
            None => diff.push_str(line),
        }
        diff.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::replace;

    fn check(text: &str, old: &str, new: &str, expect: &str) {
        let edit = replace(text, old, new, true).unwrap();
        let diff = unified("/f", text, &edit.spans, &edit.new);
        assert_eq!(diff, format!("--- /f\n+++ /f\n{expect}"), "{old:?} {new:?}");
    }

    #[test]
    fn shows_changed_lines_with_context() {
        let ten: String = (1..=10).map(|n| format!("{n}\n")).collect();
        check(&ten, "5", "V", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n");
        check(&ten, "1\n", "", "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n");
        check(&ten, "5\n6", "five\nand\nsix", "@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n-6\n+five\n+and\n+six\n 7\n 8\n 9\n");
        check("a a\n", "a", "b", "@@ -1,1 +1,1 @@\n-a a\n+b b\n");
        check("a", "a", "b\nc", "@@ -1,1 +1,2 @@\n-a\n+b\n+c\n");
        check("a\nb\n", "a\n", "", "@@ -1,2 +1,1 @@\n-a\n b\n");
        check("a\nb\n", "a\n", "x", "@@ -1,2 +1,1 @@\n-a\n-b\n+xb\n");
    }

    #[test]
    fn joins_near_changes_and_parts_far_ones() {
        check("x\n1\n2\nx\n", "x", "y", "@@ -1,4 +1,4 @@\n-x\n+y\n 1\n 2\n-x\n+y\n");
        let far = format!("x\n{}x\n", "-\n".repeat(7));
        check(&far, "x", "y\nz", "@@ -1,4 +1,5 @@\n-x\n+y\n+z\n -\n -\n -\n@@ -6,4 +7,5 @@\n -\n -\n -\n-x\n+y\n+z\n");
    }

    #[test]
    fn stays_short() {
        let text = "some line to change\n".repeat(10_000);
        let edit = replace(&text, "line", "text", true).unwrap();
        let diff = unified("/f", &text, &edit.spans, &edit.new);
        assert!(diff.len() < 3 * DIFF_LIMIT, "{}", diff.len());
        assert!(diff.ends_with("more replacements are not shown]\n"));
        let long = "x".repeat(1_000_000);
        let edit = replace(&long, "x", "y", true).unwrap();
        assert!(unified("/f", &long, &edit.spans, &edit.new).len() < 2 * DIFF_LIMIT);
    }
}
