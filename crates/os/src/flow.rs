//! What comes of reading and writing that never waits.

/// What came of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Got {
    /// This many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The other side is gone.
    End,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// This many bytes; zero is "nothing fits now".
    Bytes(usize),
    /// Nobody will read it.
    Closed,
}
