//! What of the world goes wrong in a test? A full disk and a file that others cut are hard to come by when they are
//! needed.

/// What goes wrong with files; nothing unless a test says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFaults {
    /// Whatever is written finds no space.
    pub full: bool,
    /// Each file is cut in half after it was opened, so that fewer bytes can be read than its size says.
    pub shrinking: bool,
}

impl FileFaults {
    /// How many of `length` bytes from `offset` can be read of a file of some size.
    pub(crate) fn readable(self, size: u64, offset: u64, length: usize) -> usize {
        match self.shrinking {
            true => length.min(usize::try_from((size / 2).saturating_sub(offset)).unwrap_or(usize::MAX)),
            false => length,
        }
    }
}
