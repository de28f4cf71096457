//! Private pages of memory.

use crate::system;
use std::io;

/// Private pages, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: std::ptr::NonNull<u8>,
    len: usize,
}

impl Pages {
    pub(crate) fn map(len: usize) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new pages at an address of the kernel's choice alias nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        let start = std::ptr::NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at null"))?;
        Ok(Self { start, len })
    }

    pub(crate) fn discard(&mut self) {
        // SAFETY: the pages are ours; after this they read as zeroes, which are valid bytes. A refusal leaves them.
        let _ = unsafe { system::forget_pages(self.start, self.len) };
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the pages are ours for as long as self lives, and any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and self is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: no slice of the pages can exist any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
