//! What Linux and macOS have in common.

#[cfg(any(test, target_os = "macos"))]
pub(crate) mod arguments;
pub mod beneath;
pub mod buffer;
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
pub(crate) mod calls;
pub mod descriptors;
pub mod fork;
pub mod memory;
pub mod poll;
pub mod program;
pub mod pty;
pub mod reaper;
pub mod root;
pub mod signals;
pub mod socket;
pub mod spawn;
pub mod stdio;
#[cfg(any(test, target_os = "macos"))]
pub(crate) mod stepwise;
pub(crate) mod strays;
pub mod terminal;
pub mod tree;
