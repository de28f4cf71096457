//! Memory that was freed and is still held.

use crate::system;

/// Gives it back to the system. A forked process gives up its share of what its parent had freed as well, or it
/// would be left with the last copy of whatever the parent uses again.
pub fn give_back() {
    system::trim_heap();
}
