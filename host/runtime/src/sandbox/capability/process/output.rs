//! What is kept of a program's output? The head is handed over as it comes; of what follows the end is kept and all is
//! counted, so that a program which prints without end takes no more memory than these two.

use tokio::net::unix::pipe::Receiver;

/// Bytes that are read at once: what a pipe holds.
const READ: usize = 64 << 10;

/// One stream of a program.
pub(crate) struct Stream {
    pipe: Option<Receiver>,
    head_left: usize,
    total: u64,
    tail: Tail,
}

/// The last bytes of what was not handed over.
#[derive(Debug)]
struct Tail {
    bytes: Vec<u8>,
    keep: usize,
}

impl Stream {
    pub(crate) fn new(pipe: Receiver, head: usize, tail: usize) -> Stream {
        Stream { pipe: Some(pipe), head_left: head, total: 0, tail: Tail { bytes: Vec::new(), keep: tail } }
    }

    /// Whether nobody holds the other end any more.
    pub(crate) fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// Bytes that came in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The end of what was not handed over.
    pub(crate) fn tail(&mut self) -> Vec<u8> {
        self.tail.take()
    }

    /// Waits for bytes, or for the end. `None` if there is nothing to hand over.
    ///
    /// Dropping the future loses nothing: bytes are taken from the pipe and noted without an await between.
    pub(crate) async fn read(&mut self) -> Option<Vec<u8>> {
        let pipe = self.pipe.as_ref()?;
        if pipe.readable().await.is_err() {
            self.pipe = None;
            return None;
        }
        self.take_ready()
    }

    /// Takes what is there without waiting.
    pub(crate) fn take_ready(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; READ];
        match self.pipe.as_ref()?.try_read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => return self.note(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
        None
    }

    /// Takes what is there into the tail; `false` when there is nothing more.
    pub(crate) fn drain_ready(&mut self) -> bool {
        self.head_left = 0;
        let before = self.total;
        let _ = self.take_ready();
        self.total > before
    }

    fn note(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        self.tail.push(rest);
        (!head.is_empty()).then(|| head.to_vec())
    }
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(self.keep)..];
        // Shortened only when it has twice of what is kept, so that each byte is moved once on average.
        if self.bytes.len() + bytes.len() > self.keep.saturating_mul(2) {
            let surplus = (self.bytes.len() + bytes.len()).saturating_sub(self.keep).min(self.bytes.len());
            self.bytes.drain(..surplus);
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn take(&mut self) -> Vec<u8> {
        let surplus = self.bytes.len().saturating_sub(self.keep);
        self.bytes.drain(..surplus);
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tail_is_the_end_of_all_that_came(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..40), keep in 0usize..50) {
            let mut tail = Tail { bytes: Vec::new(), keep };
            let mut all = Vec::new();
            for piece in &pieces {
                tail.push(piece);
                all.extend_from_slice(piece);
                prop_assert!(tail.bytes.len() <= keep * 2);
            }
            prop_assert_eq!(tail.take(), &all[all.len().saturating_sub(keep)..]);
        }
    }
}
