//! In which pieces do the two processes speak? Each has a letter that says what it is, and its length before it. Must not
//! know what a piece means.

use super::broke;
use crate::error::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest piece, in bytes; the largest result as JSON is shorter.
pub(super) const LONGEST: usize = 256 << 20;

/// From the process: something in JSON; a question that one of its capabilities is asked.
pub(super) const SAID: u8 = b's';
pub(super) const ASKED: u8 = b'a';
/// To the process: nobody waits any more; an answer; that there is none, and why.
pub(super) const CANCELLED: u8 = b'c';
pub(super) const ANSWERED: u8 = b'b';
pub(super) const REFUSED: u8 = b'r';

/// A piece as it goes over the wire.
pub(super) fn piece(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut piece = vec![kind];
    piece.extend(length);
    parts.iter().for_each(|part| piece.extend_from_slice(part));
    piece
}

/// The name of a function and what it is given, as one piece's content.
pub(super) fn question(name: &str, args: &[u8]) -> Vec<u8> {
    piece(ASKED, &[&[u8::try_from(name.len()).unwrap_or(u8::MAX)], name.as_bytes(), args])
}

/// The same, taken apart.
pub(super) fn asked(content: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = content.split_first()?;
    let (name, args) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(name).ok()?, args))
}

/// The head of a piece: what it is and how long its content.
pub(super) fn head(bytes: [u8; 5]) -> (u8, usize) {
    let [kind, length @ ..] = bytes;
    (kind, u32::from_le_bytes(length) as usize)
}

/// Pieces as they come.
pub(super) struct Pieces<I> {
    input: I,
    said: Vec<u8>,
}

impl<I: AsyncRead + Unpin> Pieces<I> {
    pub(super) fn new(input: I) -> Pieces<I> {
        Pieces { input, said: Vec::new() }
    }

    /// The next one; nothing at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// It cannot be read, or is longer than one may be: whoever breaks out of WebAssembly could say anything.
    pub(super) async fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>, Error> {
        loop {
            if let Some((first, rest)) = self.said.split_first_chunk::<5>() {
                let (kind, length) = head(*first);
                if length > LONGEST {
                    return Err(broke(format!("its process says {length} bytes at once")));
                }
                if let Some(content) = rest.get(..length) {
                    let content = content.to_vec();
                    self.said.drain(..5 + length);
                    return Ok(Some((kind, content)));
                }
            }
            match self.input.read_buf(&mut self.said).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Err(broke(format!("its process cannot be heard: {error}"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_come_as_they_were_said_however_they_are_cut() {
        let said = [piece(SAID, &[b"{}"]), question("files.stat", b"\x01a"), piece(CANCELLED, &[])].concat();
        for cut in 0..said.len() {
            let (first, second) = said.split_at(cut);
            let mut pieces = Pieces::new(first.chain(second));
            assert_eq!(pieces.next().await.unwrap(), Some((SAID, b"{}".to_vec())));
            let (kind, content) = pieces.next().await.unwrap().unwrap();
            assert_eq!((kind, asked(&content)), (ASKED, Some(("files.stat", &b"\x01a"[..]))));
            assert_eq!(pieces.next().await.unwrap(), Some((CANCELLED, Vec::new())));
            assert_eq!(pieces.next().await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn what_is_too_long_is_an_error_before_it_is_there() {
        let mut pieces = Pieces::new(&b"s\xff\xff\xff\xff"[..]);
        assert!(pieces.next().await.is_err());
        assert_eq!(asked(b"\x05ab"), None);
        assert_eq!(asked(b""), None);
    }
}
