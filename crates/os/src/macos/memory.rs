//! Returns memory to the system.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::ptr::NonNull;

/// Does nothing: the C library returns freed memory by itself.
pub(crate) fn trim_heap() {}

/// Does nothing: the C library maps large blocks by themselves.
pub(crate) fn map_large_blocks() {}

/// Returns pages to the system by mapping new ones in their place; they read as zeroes then.
///
/// # Safety
/// No reference into the pages may exist, and they must be private pages that we mapped.
pub(crate) unsafe fn forget_pages(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: as the caller promises, the pages are ours, and nothing refers to what was in them.
    unsafe { mmap_anonymous(start.as_ptr().cast(), len, ProtFlags::READ | ProtFlags::WRITE, flags) }.map(drop)
}
