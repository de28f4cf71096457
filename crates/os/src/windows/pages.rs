//! Pages of our own, and the heap's spare ones.

use std::io;
use std::ptr::{NonNull, null};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MEM_RESET, PAGE_READWRITE, VirtualAlloc, VirtualFree, VirtualUnlock,
};

/// The system's own heap gives free pages back by itself.
pub(crate) fn trim_heap() {}

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
        let start = self.start.as_ptr().cast();
        // SAFETY: the pages are ours and nobody holds a slice of them; any bytes are valid afterwards. A refusal leaves
        // them as they are. To unlock what is not locked takes it out of what this process is counted to use.
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
        // SAFETY: nobody can hold a slice of the pages any more.
        unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}
