//! Pages that are given back.

use rustix::io::Errno;
use std::ptr::NonNull;

/// Gives free pages of the heap back, where the C library can.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: touches memory that nobody has allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives pages back; they read as zeroes then.
///
/// # Safety
/// Nobody may hold a reference into them, and they must be private pages that were mapped by us.
pub(crate) unsafe fn forget_pages(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    // SAFETY: as the caller promises.
    unsafe { rustix::mm::madvise(start.as_ptr().cast(), len, rustix::mm::Advice::LinuxDontNeed) }
}
