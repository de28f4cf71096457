//! What Linux and macOS have in common.

pub mod beneath;
pub mod buffer;
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
pub(crate) mod strays;
pub mod terminal;
pub mod tree;
