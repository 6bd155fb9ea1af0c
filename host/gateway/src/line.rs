//! Which bytes are one message? One line is. A line that is too long is read to its end without being kept. Must not
//! know what is in a line.

use crate::frame::LONGEST;
use crate::frame::scan::Scan;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// A buffer larger than this is given back after its line.
const KEPT: usize = 1 << 20;

/// What was read.
#[derive(Debug)]
pub(crate) enum Line {
    /// One line without its end.
    Whole(Vec<u8>),
    /// A line of which only the outline is known.
    TooLong(Box<Scan>),
    /// There is no more.
    End,
}

/// Lines from a peer that may send anything. Lifetime: the connection.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    chunk: Vec<u8>,
    /// What of `chunk` was not looked at yet.
    from: usize,
    to: usize,
    line: Vec<u8>,
    overlong: Option<Box<Scan>>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Lines<R> {
        Lines { reader, chunk: vec![0; CHUNK], from: 0, to: 0, line: Vec::new(), overlong: None, ended: false }
    }

    /// The next line. Dropping the future loses nothing: what was read stays here.
    pub(crate) async fn next(&mut self) -> Line {
        loop {
            if let Some(line) = self.take() {
                return line;
            }
            if self.ended {
                return self.rest();
            }
            match self.reader.read(&mut self.chunk).await {
                Ok(0) => self.ended = true,
                Ok(count) => (self.from, self.to) = (0, count),
                Err(error) => {
                    tracing::warn!(%error, "the client's messages cannot be read any more");
                    self.ended = true;
                }
            }
        }
    }

    /// A line whose end is in what was read.
    fn take(&mut self) -> Option<Line> {
        let unseen = &self.chunk[self.from..self.to];
        let end = unseen.iter().position(|byte| *byte == b'\n');
        let part = &unseen[..end.unwrap_or(unseen.len())];
        match &mut self.overlong {
            Some(scan) => scan.feed(part),
            None => self.line.extend_from_slice(part),
        }
        if self.overlong.is_none() && self.line.len() > LONGEST {
            self.overlong = Some(Box::new(Scan::of(&self.line)));
            self.line = Vec::new();
        }
        match end {
            Some(end) => {
                self.from += end + 1;
                Some(self.finish())
            }
            None => {
                self.from = self.to;
                None
            }
        }
    }

    /// A last line that nobody ended.
    fn rest(&mut self) -> Line {
        match self.line.is_empty() && self.overlong.is_none() {
            true => Line::End,
            false => self.finish(),
        }
    }

    fn finish(&mut self) -> Line {
        if let Some(scan) = self.overlong.take() {
            return Line::TooLong(scan);
        }
        let kept = if self.line.capacity() > KEPT { Vec::new() } else { Vec::with_capacity(self.line.capacity()) };
        Line::Whole(std::mem::replace(&mut self.line, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let mut lines = Lines::new(&b"a\n\nbc"[..]);
        for expect in ["a", "", "bc"] {
            let Line::Whole(line) = lines.next().await else { panic!("no line") };
            assert_eq!(line, expect.as_bytes());
        }
        assert!(matches!(lines.next().await, Line::End));
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_kept_and_the_next_one_is_read() {
        let long = [b"{\"id\":5,\"a\":\"".as_slice(), &vec![b'x'; LONGEST], b"\"}\nnext\n"].concat();
        let mut lines = Lines::new(&long[..]);
        let Line::TooLong(scan) = lines.next().await else { panic!("it was kept") };
        assert_eq!(scan.id, b"5");
        let Line::Whole(line) = lines.next().await else { panic!("no line") };
        assert_eq!(line, b"next");
    }
}
