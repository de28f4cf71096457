//! Pages of our own.

use std::io;
use std::ptr::{NonNull, null};
use windows_sys::Win32::System::Memory::{
    DiscardVirtualMemory, MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

/// Private pages, given back when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the pages are ours alone, and no thread's.
unsafe impl Send for Pages {}

impl Pages {
    /// They are promised by the system, and cost memory once they are written.
    pub(crate) fn map(len: usize) -> io::Result<Self> {
        // SAFETY: new pages at an address of the system's choice alias nothing.
        let start = unsafe { VirtualAlloc(null(), len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, len })
    }

    pub(crate) fn discard(&mut self) {
        // SAFETY: the pages are ours and nobody holds a slice of them; any bytes are valid afterwards. A refusal leaves
        // them as they are.
        unsafe { DiscardVirtualMemory(self.start.as_ptr().cast(), self.len) };
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
        // SAFETY: nobody can hold a slice of the pages any more.
        unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}
