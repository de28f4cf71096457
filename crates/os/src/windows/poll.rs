//! Waiting for the first of several things: one wait, one deadline. What is waited for here are events, which whoever has
//! something to say keeps set for as long as that is so.

use crate::process::Process;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{INFINITE, Sleep, WaitForMultipleObjects, WaitForSingleObject};

/// What can be waited for.
#[derive(Debug, Clone, Copy)]
pub struct Waitable<'a> {
    /// Set while it can be read: bytes, an end or an error.
    pub read: Option<BorrowedHandle<'a>>,
    /// Set while it can be written, or writing will fail.
    pub write: Option<BorrowedHandle<'a>>,
}

impl<'a> Waitable<'a> {
    /// What can only be read.
    pub fn reading(read: BorrowedHandle<'a>) -> Self {
        Self { read: Some(read), write: None }
    }

    /// What can only be written.
    pub fn writing(write: BorrowedHandle<'a>) -> Self {
        Self { read: None, write: Some(write) }
    }
}

/// Something that can be waited for.
pub trait Awaited {
    /// What to wait on. It is asked for anew before each wait.
    fn waitable(&self) -> Waitable<'_>;
}

/// It can be read once it has ended.
impl Awaited for Process {
    fn waitable(&self) -> Waitable<'_> {
        Waitable::reading(self.handle.as_handle())
    }
}

/// How many things the system waits for at once.
const MOST: usize = 64;

/// How many connections one wait has room for, beside all else. Each may be waited for twice.
pub const MOST_CONNECTIONS: usize = 24;

/// What is waited for on one of them.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    /// Which.
    pub on: Waitable<'a>,
    /// Whether to wake when it can be read.
    pub read: bool,
    /// Whether to wake when it can be written.
    pub write: bool,
}

impl<'a> Interest<'a> {
    /// Until it can be read.
    pub fn reading(on: &'a impl Awaited) -> Self {
        Self { on: on.waitable(), read: true, write: false }
    }

    /// Until it can be written.
    pub fn writing(on: &'a impl Awaited) -> Self {
        Self { on: on.waitable(), read: false, write: true }
    }

    fn events(&self) -> [Option<BorrowedHandle<'a>>; 2] {
        [self.on.read.filter(|_| self.read), self.on.write.filter(|_| self.write)]
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// It can be read: bytes, an end or an error.
    pub read: bool,
    /// It can be written, or writing will fail.
    pub write: bool,
}

/// Waits until something is ready or the time is up; no `timeout` is for ever. It may come back early, with nothing
/// ready.
pub fn wait(interests: &[Interest<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut handles: Vec<HANDLE> =
        interests.iter().flat_map(Interest::events).flatten().map(|event| event.as_raw_handle()).collect();
    // The system takes each of them once.
    handles.sort_unstable();
    handles.dedup();
    wait_for_one(&handles, timeout)?;
    interests
        .iter()
        .map(|interest| {
            let [read, write] = interest.events();
            Ok(Ready { read: is_set(read)?, write: is_set(write)? })
        })
        .collect()
}

fn wait_for_one(handles: &[HANDLE], timeout: Option<Duration>) -> io::Result<()> {
    let ms = timeout.map_or(INFINITE, milliseconds);
    let count = match handles.len() {
        0 => {
            // SAFETY: no memory is passed. Nothing but the time is waited for.
            unsafe { Sleep(ms) };
            return Ok(());
        }
        n @ 1..=MOST => u32::try_from(n).map_err(io::Error::other)?,
        n => {
            let why = format!("{n} things cannot be waited for at once: Windows takes at most {MOST}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    };
    // SAFETY: the handles are borrowed for the call's length, and as many as is said.
    match unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, ms) } {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Never less than was asked for: who is woken too early would wait again at once.
fn milliseconds(length: Duration) -> u32 {
    let ms = length.as_nanos().div_ceil(1_000_000);
    u32::try_from(ms).unwrap_or(INFINITE).min(INFINITE - 1)
}

fn is_set(event: Option<BorrowedHandle<'_>>) -> io::Result<bool> {
    let Some(event) = event else { return Ok(false) };
    // SAFETY: the handle is borrowed for the call's length.
    match unsafe { WaitForSingleObject(event.as_raw_handle(), 0) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(false),
    }
}
