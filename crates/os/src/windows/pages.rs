//! Private pages of memory, and the free pages of the heap.

use std::io;
use std::ptr::{NonNull, null};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MEM_RESET, PAGE_READWRITE, VirtualAlloc, VirtualFree, VirtualUnlock,
};

/// Does nothing: the system's heap returns free pages by itself.
pub(crate) fn trim_heap() {}

/// Does nothing: the system maps large blocks by themselves.
pub(crate) fn map_large_blocks() {}

/// Private pages, released when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the pages are ours alone, and belong to no thread.
unsafe impl Send for Pages {}

impl Pages {
    /// Reserves the pages; they cost memory once they are written.
    pub(crate) fn map(len: usize) -> io::Result<Self> {
        // SAFETY: new pages at an address of the system's choice alias nothing.
        let start = unsafe { VirtualAlloc(null(), len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, len })
    }

    pub(crate) fn discard(&mut self) {
        let start = self.start.as_ptr().cast();
        // SAFETY: the pages are ours and no slice of them exists; any bytes are valid afterwards. A refusal leaves
        // them as they are. Unlocking pages that are not locked removes them from this process's working set.
        unsafe {
            VirtualAlloc(start, self.len, MEM_RESET, PAGE_READWRITE);
            VirtualUnlock(start, self.len);
        }
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
        unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}
