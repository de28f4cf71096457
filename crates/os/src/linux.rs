//! Linux: the system calls behind the facades. Nothing here decides anything.

pub(crate) mod blocked;
mod children;
mod clock;
mod control;
pub mod enclosure;
mod facts;
mod file;
pub mod filesystem;
pub mod host;
mod lock;
mod memory;
mod message;
pub(crate) mod mountinfo;
mod pidfd;
mod process;
mod random;
mod service;
mod signals;
pub(crate) mod spawn;
pub(crate) mod stat;

pub(crate) use children::*;
pub(crate) use clock::*;
pub(crate) use facts::*;
pub(crate) use file::*;
pub(crate) use lock::*;
pub(crate) use memory::*;
pub(crate) use message::*;
pub(crate) use pidfd::*;
pub(crate) use process::*;
pub(crate) use random::*;
pub(crate) use service::*;
pub(crate) use signals::*;

use std::io;

/// A keeper is a child subreaper: whoever below it loses its parent becomes its child.
pub(crate) const ORPHANS_COME_BACK: bool = true;
pub(crate) const CUSTOM: crate::place::Custom = crate::place::Custom::Xdg;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
