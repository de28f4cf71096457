//! How Tenure acts. Each file here is one capability of the operating system, with its promise; the folder of
//! the system keeps it. All `unsafe` and every `cfg(target…)` of the product live in this crate.
//!
//! The one function that signals ([`process::Process::signal`]) takes a [`tenure_core::identity::Held`], which
//! only live evidence makes; the one that signals a group ([`root::Root::signal_group`]) needs the unreaped
//! root, which pins the group's number (I1).

#[cfg(not(any(target_os = "linux", windows)))]
compile_error!("Tenure runs on Linux, and not yet on this system");

pub mod clock;
pub mod command_line;
pub mod complaint;
pub mod file;
pub mod flow;
pub mod lock;
pub mod process;
pub mod random;

// What Windows does not keep yet, or has no use for.
#[cfg(target_os = "linux")]
pub mod beneath;
#[cfg(target_os = "linux")]
pub mod buffer;
#[cfg(target_os = "linux")]
pub mod cgroup;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
pub mod descriptors;
#[cfg(target_os = "linux")]
pub mod filesystem;
#[cfg(target_os = "linux")]
pub mod fork;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod pause;
#[cfg(target_os = "linux")]
pub mod poll;
#[cfg(target_os = "linux")]
pub mod program;
#[cfg(target_os = "linux")]
pub mod pty;
#[cfg(target_os = "linux")]
pub mod reaper;
#[cfg(target_os = "linux")]
pub mod root;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
pub mod spawn;
#[cfg(target_os = "linux")]
pub mod stdio;
#[cfg(target_os = "linux")]
pub mod terminal;
#[cfg(target_os = "linux")]
pub mod tree;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod linux;
#[cfg(windows)]
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod windows;

#[cfg(windows)]
pub mod job;
#[cfg(windows)]
pub use windows::{filesystem, pty, root, spawn, stdio};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

#[cfg(test)]
mod tests;
