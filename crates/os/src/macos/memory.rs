//! Pages that are given back.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::ptr::NonNull;

/// The C library gives freed memory back by itself.
pub(crate) fn trim_heap() {}

/// Gives pages back by putting new ones in their place; they read as zeroes then.
///
/// # Safety
/// Nobody may hold a reference into them, and they must be private pages that were mapped by us.
pub(crate) unsafe fn forget_pages(start: NonNull<u8>, len: usize) -> Result<(), Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: as the caller promises, the pages are ours, and nothing refers to what was in them.
    unsafe { mmap_anonymous(start.as_ptr().cast(), len, ProtFlags::READ | ProtFlags::WRITE, flags) }.map(drop)
}
