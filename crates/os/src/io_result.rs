//! The results of non-blocking reads and writes.

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Got {
    /// This many bytes.
    Bytes(usize),
    /// Nothing to read now.
    Nothing,
    /// The other side is closed.
    End,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// This many bytes; zero is "nothing fits now".
    Bytes(usize),
    /// The reader is gone.
    Closed,
}
