//! Returns memory to the system.

use rustix::io::Errno;
use std::ptr::NonNull;

/// Size from which a block has a mapping of its own, in bytes. A fixed size stops the C library from raising it.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 256 << 10;

/// Makes the allocator map each large block by itself, if the C library can.
pub(crate) fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns free pages of the heap to the system, if the C library can.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: touches memory that nobody has allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns pages to the system; they read as zeroes then.
///
/// # Safety
/// No reference into the pages may exist, and they must be private pages that we mapped.
pub(crate) unsafe fn forget_pages(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    // SAFETY: as the caller promises.
    unsafe { rustix::mm::madvise(start.as_ptr().cast(), len, rustix::mm::Advice::LinuxDontNeed) }
}
