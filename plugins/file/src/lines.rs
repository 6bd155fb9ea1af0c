//! Which bytes are lines N to M of a file, or its last N? Reads in blocks, so that memory stays bounded whatever the
//! size of the file and of its lines.
//!
//! Knows nothing of how the bytes are shown.

use crate::encoding::{self, Encoding, Form};
use crate::files::{Failure, Source};

/// The most that one answer holds, in bytes of the file. More is asked for by the next range.
pub(crate) const TEXT_LIMIT: usize = 64 * 1024;

/// How far a file is searched for the first line of a range, in bytes. Beyond it bytes have to be named.
pub(crate) const SCAN_LIMIT: u64 = 512 * 1024 * 1024;

/// The first step of reading backwards, in bytes. Ten lines of a log are shorter as a rule.
const TAIL_BLOCK: usize = 64 * 1024;

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) bytes: Vec<u8>,
    /// Where it begins in the file, in bytes.
    pub(crate) from: u64,
    pub(crate) end: End,
}

/// Why a window ends where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It holds what was asked for.
    Complete,
    /// It was cut at the limit for one answer.
    Cut,
    /// The file ends before the range begins, after so many lines.
    Beyond { lines: u64 },
    /// The range begins beyond the part that is searched; so many lines are before it.
    OutOfReach { lines: u64 },
}

/// Up to `limit` lines from line `first`, which is 1 for the first one.
pub(crate) fn range(source: &impl Source, form: Form, first: u64, limit: Option<u64>) -> Result<Window, Failure> {
    let size = source.size();
    let mut from = form.mark as u64;
    let mut skip = first.saturating_sub(1);
    let mut bytes = Vec::new();
    let mut unfinished = false;
    while skip > 0 {
        if from >= SCAN_LIMIT {
            return Ok(empty(from, End::OutOfReach { lines: first - 1 - skip }));
        }
        bytes = source.read(from, TEXT_LIMIT as u32)?;
        match nth_newline(&bytes, form.encoding, skip) {
            Ok(after) => {
                from += after as u64;
                bytes.drain(..after);
                skip = 0;
            }
            Err(found) => {
                skip -= found;
                from += bytes.len() as u64;
                unfinished = if bytes.is_empty() { unfinished } else { !ends_line(&bytes, form.encoding) };
                if bytes.len() < TEXT_LIMIT {
                    return Ok(empty(from, End::Beyond { lines: first - 1 - skip + u64::from(unfinished) }));
                }
            }
        }
    }
    if first > 1 && from >= size {
        return Ok(empty(from, End::Beyond { lines: first - 1 }));
    }
    collect(source, form.encoding, Window { bytes, from, end: End::Complete }, limit)
}

/// Reads on until the window has its lines, the file ends or the answer is full.
fn collect(
    source: &impl Source,
    encoding: Encoding,
    mut window: Window,
    limit: Option<u64>,
) -> Result<Window, Failure> {
    loop {
        if let Some(Ok(after)) = limit.map(|limit| nth_newline(&window.bytes, encoding, limit))
            && after <= TEXT_LIMIT
        {
            window.bytes.truncate(after);
            return Ok(window);
        }
        if window.bytes.len() > TEXT_LIMIT {
            cut_end(&mut window.bytes, encoding);
            window.end = End::Cut;
            return Ok(window);
        }
        // One unit more than fits tells a file that ends here from one that goes on.
        let length = TEXT_LIMIT - window.bytes.len() + encoding.width();
        let block = source.read(window.from + window.bytes.len() as u64, length as u32)?;
        let at_end = block.len() < length;
        window.bytes.extend_from_slice(&block);
        if at_end {
            if let Some(Ok(after)) = limit.map(|limit| nth_newline(&window.bytes, encoding, limit)) {
                window.bytes.truncate(after);
            }
            return Ok(window);
        }
    }
}

/// The last `lines` lines.
pub(crate) fn tail(source: &impl Source, form: Form, lines: u64) -> Result<Window, Failure> {
    let floor = form.mark as u64;
    let width = form.encoding.width() as u64;
    let size = source.size().saturating_sub(floor) / width * width + floor;
    let mut bytes: Vec<u8> = Vec::new();
    let mut from = size;
    loop {
        if let Some(start) = last_lines(&bytes, form.encoding, lines) {
            bytes.drain(..start);
            return Ok(Window { bytes, from: from + start as u64, end: End::Complete });
        }
        if from <= floor {
            return Ok(Window { bytes, from, end: End::Complete });
        }
        if bytes.len() >= TEXT_LIMIT {
            let start = cut_start(&mut bytes, form.encoding);
            return Ok(Window { bytes, from: from + start as u64, end: End::Cut });
        }
        let length = (bytes.len().max(TAIL_BLOCK) as u64).min(from - floor);
        from -= length;
        let mut block = source.read(from, length as u32)?;
        block.extend_from_slice(&bytes);
        bytes = block;
    }
}

/// Up to `length` bytes from `offset`, less the halves of characters at its ends.
pub(crate) fn bytes(source: &impl Source, form: Form, offset: u64, length: u32) -> Result<Window, Failure> {
    let size = source.size();
    let floor = form.mark as u64;
    let width = form.encoding.width() as u64;
    if offset >= size && size > 0 {
        return Ok(empty(offset, End::Beyond { lines: 0 }));
    }
    let offset = if offset < floor { floor } else { (offset - floor) / width * width + floor };
    let bytes = source.read(offset, length)?;
    Ok(Window { bytes, from: offset, end: End::Complete })
}

fn empty(from: u64, end: End) -> Window {
    Window { bytes: Vec::new(), from, end }
}

/// Cuts at the limit: after the last whole line, else after the last whole character.
pub(crate) fn cut_end(bytes: &mut Vec<u8>, encoding: Encoding) {
    bytes.truncate(TEXT_LIMIT);
    match last_lines(bytes, encoding, 0) {
        Some(after) if after > 0 => bytes.truncate(after),
        _ => bytes.truncate(bytes.len() - encoding::half_characters(bytes, encoding).1),
    }
}

/// Leaves out the half line at the start, else the half character, and says how many bytes that were.
fn cut_start(bytes: &mut Vec<u8>, encoding: Encoding) -> usize {
    let start = match nth_newline(bytes, encoding, 1) {
        Ok(after) if after < bytes.len() => after,
        _ => encoding::half_characters(bytes, encoding).0,
    };
    bytes.drain(..start);
    start
}

/// The position after the `n`th line break, or how many there are if they are fewer.
pub(crate) fn nth_newline(bytes: &[u8], encoding: Encoding, n: u64) -> Result<usize, u64> {
    let mut found = 0;
    if encoding.width() == 1 {
        // Counting is several times quicker than finding, and most blocks on the way to a far line are only counted.
        let all = memchr::memchr_iter(b'\n', bytes).count() as u64;
        if all < n {
            return Err(all);
        }
        let nth = memchr::memchr_iter(b'\n', bytes).nth(n.saturating_sub(1) as usize);
        return nth.map(|at| at + 1).ok_or(all);
    }
    for (index, pair) in bytes.as_chunks::<2>().0.iter().enumerate() {
        if is_newline(pair, encoding) {
            found += 1;
            if found == n {
                return Ok(index * 2 + 2);
            }
        }
    }
    Err(found)
}

/// Where the last `lines` lines begin, if there is a line break before them. With 0: where the last line ends.
fn last_lines(bytes: &[u8], encoding: Encoding, lines: u64) -> Option<usize> {
    // The break at the very end closes the last line and separates nothing.
    let closed = lines > 0 && ends_line(bytes, encoding);
    let skip = lines.saturating_sub(1) as usize + usize::from(closed);
    if encoding.width() == 1 {
        return memchr::memrchr_iter(b'\n', bytes).nth(skip).map(|at| at + 1);
    }
    let pairs = bytes.as_chunks::<2>().0.iter().enumerate().rev();
    pairs.filter(|(_, pair)| is_newline(pair, encoding)).nth(skip).map(|(index, _)| index * 2 + 2)
}

fn ends_line(bytes: &[u8], encoding: Encoding) -> bool {
    match encoding.width() {
        1 => bytes.last() == Some(&b'\n'),
        _ => bytes.as_chunks::<2>().0.last().is_some_and(|pair| is_newline(pair, encoding)),
    }
}

fn is_newline(pair: &[u8; 2], encoding: Encoding) -> bool {
    match encoding {
        Encoding::Utf16Be => *pair == [0, b'\n'],
        Encoding::Utf16Le | Encoding::Utf8 | Encoding::Latin1 => *pair == [b'\n', 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::memory::{Node, Tree};

    const PLAIN: Form = Form { encoding: Encoding::Utf8, mark: 0 };

    fn open(node: Node) -> (Tree, impl Source) {
        let tree = Tree::new(&[]);
        tree.put("/workspace/f", node);
        let open = tree.open("/workspace/f").unwrap();
        (tree, open)
    }

    #[test]
    fn takes_lines_from_the_front() {
        let check = |content: &str, first, limit, expect: &str, from, end| {
            let (_, file) = open(Node::File(content.as_bytes().to_vec()));
            let window = range(&file, PLAIN, first, limit).unwrap();
            assert_eq!(
                (window.bytes.as_slice(), window.from, window.end),
                (expect.as_bytes(), from, end),
                "{content:?}"
            );
        };
        check("a\nb\nc\n", 1, None, "a\nb\nc\n", 0, End::Complete);
        check("a\nb\nc\n", 2, Some(1), "b\n", 2, End::Complete);
        check("a\nb\nc", 3, Some(5), "c", 4, End::Complete);
        check("a\nb\nc\n", 4, None, "", 6, End::Beyond { lines: 3 });
        check("a\nb\nc", 9, None, "", 5, End::Beyond { lines: 3 });
        check("", 1, None, "", 0, End::Complete);
        check("", 2, None, "", 0, End::Beyond { lines: 0 });
    }

    #[test]
    fn takes_lines_from_the_back() {
        let check = |content: &str, lines, expect: &str| {
            let (_, file) = open(Node::File(content.as_bytes().to_vec()));
            let window = tail(&file, PLAIN, lines).unwrap();
            assert_eq!((window.bytes.as_slice(), window.end), (expect.as_bytes(), End::Complete), "{content:?}");
        };
        check("a\nb\nc\n", 1, "c\n");
        check("a\nb\nc", 1, "c");
        check("a\nb\nc\n", 2, "b\nc\n");
        check("a\nb\nc\n", 3, "a\nb\nc\n");
        check("a\nb\nc\n", 9, "a\nb\nc\n");
        check("\n\n", 1, "\n");
        check("", 3, "");
    }

    #[test]
    fn counts_lines_of_wide_characters() {
        // U+0A0A and U+000A share bytes: only aligned pairs are line breaks.
        let text = "\u{0A0A}a\nb\u{0A00}\nc";
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            let content = [encoding::mark(encoding), &encoding::encode(text, encoding).unwrap()].concat();
            let (_, file) = open(Node::File(content));
            let form = Form { encoding, mark: 2 };
            let second = range(&file, form, 2, Some(1)).unwrap();
            assert_eq!(encoding::decode(second.bytes, encoding).unwrap(), "b\u{0A00}\n");
            let last = tail(&file, form, 2).unwrap();
            assert_eq!(encoding::decode(last.bytes, encoding).unwrap(), "b\u{0A00}\nc");
        }
    }

    #[test]
    fn end_of_a_huge_file_is_near() {
        let (tree, file) = open(Node::Sparse(5 << 30, b"\nEND-MARK\n".to_vec()));
        let window = tail(&file, PLAIN, 10).unwrap();
        assert_eq!((window.bytes.as_slice(), window.end), (&b"END-MARK\n"[..], End::Cut));
        assert!(tree.bytes_read.get() <= 2 * TEXT_LIMIT as u64);
        let window = tail(&file, PLAIN, 1).unwrap();
        assert_eq!((window.bytes.as_slice(), window.end), (&b"END-MARK\n"[..], End::Complete));
    }

    #[test]
    fn one_line_of_any_length_is_cut() {
        let (tree, file) = open(Node::Same(b'x', 200 << 20));
        let window = range(&file, PLAIN, 1, Some(1)).unwrap();
        assert_eq!((window.bytes.len(), window.end), (TEXT_LIMIT, End::Cut));
        let window = tail(&file, PLAIN, 1).unwrap();
        assert_eq!((window.bytes.len(), window.end), (TEXT_LIMIT, End::Cut));
        assert!(tree.bytes_read.get() <= 4 * TEXT_LIMIT as u64);
        let window = range(&file, PLAIN, 2, None).unwrap();
        assert_eq!((window.bytes.len(), window.end), (0, End::Beyond { lines: 1 }));
    }

    #[test]
    fn far_lines_are_out_of_reach() {
        let (_, file) = open(Node::Same(b'\n', SCAN_LIMIT * 2));
        let window = range(&file, PLAIN, SCAN_LIMIT + 2, None).unwrap();
        assert_eq!(window.end, End::OutOfReach { lines: SCAN_LIMIT });
    }

    #[test]
    fn whole_lines_fill_an_answer() {
        let line = format!("{}\n", "y".repeat(999));
        let (_, file) = open(Node::File(line.repeat(1000).into_bytes()));
        let window = range(&file, PLAIN, 1, None).unwrap();
        assert_eq!((window.bytes.len(), window.end), (TEXT_LIMIT / 1000 * 1000, End::Cut));
        let next = range(&file, PLAIN, 66, Some(40)).unwrap();
        assert_eq!((next.from, next.bytes.len(), next.end), (65_000, 40_000, End::Complete));
    }
}
