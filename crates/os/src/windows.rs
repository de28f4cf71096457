//! Windows: the system calls behind the facades. Nothing here decides anything.

mod again;
#[cfg(feature = "async")]
mod alarm;
pub mod beneath;
pub(crate) mod children;
mod clock;
mod console;
pub mod descriptors;
mod desktop;
pub mod enclosure;
mod end;
pub mod environment;
mod event;
mod exec_limits;
pub(crate) mod executable;
mod file;
pub mod filesystem;
pub(crate) mod fork;
#[cfg(feature = "async")]
pub mod hear;
pub(crate) mod host;
mod job;
mod list;
mod lock;
mod looks;
mod outbox;
mod pages;
mod passing;
mod pipe;
pub(crate) mod poll;
mod private;
mod process;
pub mod program;
pub mod pty;
mod random;
pub(crate) mod reaper;
pub mod root;
mod search;
mod service;
pub mod shell;
mod shown;
pub mod signals;
pub mod socket;
pub(crate) mod spawn;
mod start;
pub(crate) mod stdio;
#[cfg(feature = "async")]
pub mod stream;
pub mod terminal;
#[cfg(test)]
mod tests;
pub mod text;
pub(crate) mod tree;
mod typed;
mod watch;
mod wine;

pub(crate) use again::*;
#[cfg(feature = "async")]
pub(crate) use alarm::*;
pub(crate) use clock::*;
pub(crate) use console::*;
pub(crate) use desktop::*;
pub(crate) use end::*;
pub(crate) use event::*;
pub(crate) use exec_limits::*;
pub(crate) use file::*;
pub(crate) use job::*;
pub(crate) use list::*;
pub(crate) use lock::*;
pub(crate) use looks::*;
pub(crate) use outbox::*;
pub(crate) use pages::*;
pub(crate) use process::*;
pub(crate) use random::*;
pub(crate) use service::*;
pub(crate) use start::*;
pub use wine::is_wine;

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::core::BOOL;

pub(crate) const CUSTOM: crate::place::Custom = crate::place::Custom::LocalData;

fn check(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes a handle that a call has just made; without one, returns the call's error.
fn own(made: HANDLE) -> io::Result<OwnedHandle> {
    if made.is_null() || made == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made it, for us alone.
    Ok(unsafe { OwnedHandle::from_raw_handle(made) })
}

/// Returns the system's number of an error.
fn number(error: &io::Error) -> u32 {
    error.raw_os_error().unwrap_or(0).cast_unsigned()
}

/// Converts text to the system's form, with a closing zero.
fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain([0]).collect()
}

/// Returns the length of a structure, in the type of the system's calls.
fn length_of<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("structures are small")
}
