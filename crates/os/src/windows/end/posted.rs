//! The operations of asynchronous code that serves many ends at once: to take over bytes and later ask if they have
//! been written, and to ask for available input without reading it.

use super::{End, Writing, lock};
use std::io;
use std::os::windows::io::BorrowedHandle;

impl Writing {
    fn settle(&mut self, pipe: BorrowedHandle<'_>) -> io::Result<bool> {
        if !self.work.is_begun() {
            return Ok(true);
        }
        self.look(pipe).map_or(Ok(false), |written| written.map(|_| true))
    }
}

impl End {
    /// Returns true if a read would return something: bytes, the end or an error.
    pub(crate) fn has_something(&self) -> bool {
        self.available().map_or(true, |there| there > 0)
    }

    /// Writes a copy of these bytes and returns how many were copied: zero while an earlier copy is not in the pipe
    /// yet.
    pub(crate) fn post(&self, bytes: &[u8]) -> io::Result<usize> {
        let writing = &mut *lock(&self.writing);
        if bytes.is_empty() || !writing.settle(self.handle())? {
            return Ok(0);
        }
        writing.begin(self.handle(), bytes)
    }

    /// Returns true if all copies are in the pipe; an error if they never will be.
    pub(crate) fn is_settled(&self) -> io::Result<bool> {
        lock(&self.writing).settle(self.handle())
    }
}
