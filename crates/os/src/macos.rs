//! macOS: the system calls behind the facades. Nothing here decides anything.

mod clock;
pub mod enclosure;
mod exec_limits;
mod facts;
pub mod filesystem;
pub(crate) mod host;
mod info;
mod memory;
mod process;
mod pty;
mod queue;
mod random;
mod service;
mod signals;
mod socket;
mod spawn;
mod this;

pub(crate) use crate::unix::calls::*;
pub(crate) use clock::*;
pub(crate) use exec_limits::*;
pub(crate) use facts::*;
pub(crate) use memory::*;
pub(crate) use process::*;
pub(crate) use pty::*;
pub(crate) use random::*;
pub(crate) use service::*;
pub(crate) use signals::*;
pub(crate) use socket::*;
pub(crate) use spawn::*;
pub(crate) use this::*;

pub(crate) const CUSTOM: crate::place::Custom = crate::place::Custom::Library;

/// There are no subreapers: a process that loses its parent becomes a child of launchd.
pub(crate) const ORPHANS_COME_BACK: bool = false;

/// Returns the length of a structure, in the type of the system's calls.
fn length_of<T>() -> libc::c_int {
    libc::c_int::try_from(size_of::<T>()).expect("structures are small")
}
