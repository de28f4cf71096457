//! What one who serves many ends at once asks of them: to take over what is to be written and be asked later if it has arrived,
//! and if there is something to read without reading it.

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
    /// Whether a read would say something: bytes, an end or an error.
    pub(crate) fn has_something(&self) -> bool {
        self.available().map_or(true, |there| there > 0)
    }

    /// Has a copy of these bytes written, and says how many were copied: none while an earlier copy is not in the pipe.
    pub(crate) fn post(&self, bytes: &[u8]) -> io::Result<usize> {
        let writing = &mut *lock(&self.writing);
        if bytes.is_empty() || !writing.settle(self.handle())? {
            return Ok(0);
        }
        writing.begin(self.handle(), bytes)
    }

    /// Whether everything that was copied is in the pipe; an error if it never will be.
    pub(crate) fn is_settled(&self) -> io::Result<bool> {
        lock(&self.writing).settle(self.handle())
    }
}
