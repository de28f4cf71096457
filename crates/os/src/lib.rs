//! How Tenure acts. Each file here is one capability of the operating system, with its promise; the folder of
//! the system keeps it. All `unsafe` and every `cfg(target…)` of the product live in this crate.
//!
//! The one function that signals ([`process::Process::signal`]) takes a [`tenure_core::identity::Held`], which
//! only live evidence makes; the one that signals a group ([`root::Root::signal_group`]) needs the unreaped
//! root, which pins the group's number (I1).

#[cfg(not(target_os = "linux"))]
compile_error!("Tenure runs on Linux");

pub mod beneath;
pub mod buffer;
pub mod cgroup;
pub mod clock;
pub mod complaint;
mod control;
pub mod descriptors;
pub mod file;
pub mod filesystem;
pub mod fork;
pub mod host;
pub mod lock;
pub mod memory;
pub mod pause;
pub mod poll;
pub mod process;
pub mod program;
pub mod pty;
pub mod random;
pub mod reaper;
pub mod root;
pub mod signals;
pub mod socket;
pub mod spawn;
pub mod stdio;
pub mod terminal;
pub mod tree;

#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod linux;
#[cfg(test)]
mod tests;
