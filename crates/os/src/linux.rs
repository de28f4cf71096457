//! Linux: the system calls behind the facades. Nothing here decides anything.

mod blocked;
mod children;
mod clock;
mod control;
pub mod enclosure;
mod exec_limits;
mod facts;
pub mod filesystem;
pub(crate) mod host;
mod memory;
pub(crate) mod mountinfo;
mod pidfd;
mod process;
mod pty;
mod random;
mod service;
mod signals;
mod socket;
mod spawn;
mod stat;
mod this;

pub(crate) use crate::unix::calls::*;
pub(crate) use children::*;
pub(crate) use clock::*;
pub(crate) use exec_limits::*;
pub(crate) use facts::*;
pub(crate) use memory::*;
pub(crate) use pidfd::*;
pub(crate) use process::*;
pub(crate) use pty::*;
pub(crate) use random::*;
pub(crate) use service::*;
pub(crate) use signals::*;
pub(crate) use socket::*;
pub(crate) use spawn::*;
pub(crate) use this::*;

/// A keeper is a child subreaper: a process below it that loses its parent becomes its child.
pub(crate) const ORPHANS_COME_BACK: bool = true;
pub(crate) const CUSTOM: crate::place::Custom = crate::place::Custom::Xdg;
