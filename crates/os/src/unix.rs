//! The modules that Linux and macOS share.

#[cfg(any(test, target_os = "macos"))]
pub(crate) mod arguments;
pub mod beneath;
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
pub(crate) mod calls;
pub mod descriptors;
pub mod environment;
pub(crate) mod executable;
pub(crate) mod fork;
#[cfg(feature = "async")]
pub mod hear;
pub(crate) mod poll;
pub mod program;
pub mod pty;
pub(crate) mod reaper;
pub mod root;
pub mod shell;
pub mod signals;
pub mod socket;
pub(crate) mod spawn;
pub(crate) mod stdio;
#[cfg(any(test, target_os = "macos"))]
pub(crate) mod stepwise;
pub(crate) mod strays;
#[cfg(feature = "async")]
pub mod stream;
pub mod terminal;
pub mod text;
pub(crate) mod tree;
