//! How Tenure acts. Each module here is one capability of the operating system, with its promise; the folder of
//! the system keeps it. All `unsafe` and every `cfg(target…)` of the product live in this crate.
//!
//! The one function that signals ([`process::Process::signal`]) takes a [`tenure_core::identity::Held`], which
//! only live evidence makes; the one that signals a group ([`root::Root::signal_group`]) needs the unreaped
//! root, which pins the group's number (I1).
//!
//! What is one text for every system is a file beside this one. What is not is a module of the same name and the same
//! shape in `unix`, `linux`, `macos` or `windows`; what all of them promise is tried by the same tests.

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("Tenure runs on Linux, macOS and Windows");

pub mod buffer;
pub mod clock;
pub mod command_line;
pub mod complaint;
pub mod emulator;
pub mod exec_limits;
pub mod family;
pub mod file;
pub mod flow;
pub mod kin;
pub mod lock;
pub mod memory;
pub mod pause;
pub mod place;
pub mod process;
pub mod random;
pub mod service;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::{
    beneath, descriptors, environment, executable, fork, poll, program, pty, reaper, root, shell, signals,
    socket, spawn, stdio, terminal, text, tree,
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
use windows as system;
#[cfg(windows)]
pub use windows::{
    beneath, descriptors, enclosure, environment, executable, filesystem, fork, host, poll, program, pty,
    reaper, root, shell, signals, socket, spawn, stdio, terminal, text, tree,
};
#[cfg(all(windows, feature = "async"))]
pub use windows::{hear, stream};

#[cfg(unix)]
pub use system::{enclosure, filesystem, host};

#[cfg(test)]
mod tests;
