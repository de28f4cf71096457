//! The system calls that Linux and macOS share. Nothing here decides anything.

mod children;
pub(crate) mod exec;
mod file;
mod lock;
mod message;
mod pages;
mod signals;

pub(crate) use children::*;
pub(crate) use file::*;
pub(crate) use lock::*;
pub(crate) use message::*;
pub(crate) use pages::*;
pub(crate) use signals::*;

use std::io;

pub(crate) fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
