//! Returns freed memory to the system.

use crate::system;

/// Makes the allocator return each large block as soon as it is freed. Otherwise it keeps up to 64 MiB per thread.
/// Call this before there are threads.
pub fn give_back_large_blocks() {
    system::map_large_blocks();
}

/// Returns free memory to the system. Forked processes must also return their share of the memory that their parent
/// had freed, or they keep the last copy of every page that the parent uses again.
pub fn give_back() {
    system::trim_heap();
}
