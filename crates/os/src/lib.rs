//! The operating system's side of Tenure. Each module is one capability of the system, with its promise; the folder
//! of the system implements it. All `unsafe` and every `cfg(target…)` of the product are in this crate.
//!
//! The only function that signals ([`process::Process::signal`]) takes a [`tenure_core::identity::SignalProof`], which
//! only live evidence makes; the only one that signals a group ([`root::Root::signal_group`]) needs the unreaped
//! root, which pins the group's number (I1).
//!
//! Code that is the same on every system is in a file beside this one, types included. The rest is in modules of
//! the same name and shape in `unix`, `linux`, `macos` or `windows`; the same tests check their promises.

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("Tenure runs on Linux, macOS and Windows");

pub mod buffer;
pub mod clock;
pub mod command_line;
pub mod exec_limits;
pub mod executable;
pub mod file;
pub mod fork;
pub mod host;
pub mod io_result;
pub mod lock;
pub mod memory;
mod paths;
pub mod pause;
pub mod place;
pub mod platform;
pub mod poll;
pub mod process;
pub mod random;
pub mod reaper;
pub mod run_marks;
pub mod service;
pub mod spawn;
pub mod stderr;
pub mod stdio;
pub mod tree;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as folder;
#[cfg(unix)]
pub use unix::{
    beneath, descriptors, environment, program, pty, root, shell, signals, socket, terminal, text,
};
#[cfg(all(unix, feature = "async"))]
pub use unix::{hear, stream};

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

#[cfg(windows)]
#[expect(unsafe_code, reason = "the system calls that no safe crate offers; each block says why it is sound")]
mod windows;
#[cfg(windows)]
use windows as folder;
#[cfg(windows)]
use windows as system;
#[cfg(windows)]
pub use windows::{
    beneath, descriptors, enclosure, environment, filesystem, program, pty, root, shell, signals, socket,
    terminal, text,
};
#[cfg(all(windows, feature = "async"))]
pub use windows::{hear, stream};

#[cfg(unix)]
pub use system::{enclosure, filesystem};

#[cfg(test)]
mod tests;
