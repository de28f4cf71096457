//! Waits for the first of several things: one wait, one deadline. Things are waited for by events, which their
//! owner keeps set while they are ready.

use crate::poll::{Interest, Ready};
use crate::process::Process;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{INFINITE, Sleep, WaitForMultipleObjects, WaitForSingleObject};

/// The events of something that can be waited for.
#[derive(Debug, Clone, Copy)]
pub struct Waitable<'a> {
    /// Set while it can be read: bytes, the end or an error.
    pub read: Option<BorrowedHandle<'a>>,
    /// Set while it can be written, or writing will fail.
    pub write: Option<BorrowedHandle<'a>>,
}

impl<'a> Waitable<'a> {
    /// Makes a waitable that can only be read.
    pub fn reading(read: BorrowedHandle<'a>) -> Self {
        Self { read: Some(read), write: None }
    }

    /// Makes a waitable that can only be written.
    pub fn writing(write: BorrowedHandle<'a>) -> Self {
        Self { read: None, write: Some(write) }
    }
}

/// Something that can be waited for.
pub trait Pollable {
    /// Returns the events to wait on. Called again before each wait.
    fn waitable(&self) -> Waitable<'_>;
}

/// A process becomes readable when it has ended.
impl Pollable for Process {
    fn waitable(&self) -> Waitable<'_> {
        Waitable::reading(self.handle.as_handle())
    }
}

/// Maximum number of handles in one wait of the system.
const MAX_HANDLES: usize = 64;

/// Maximum number of connections in one wait, besides all else. Each may be waited for twice.
pub const MOST_CONNECTIONS: usize = 24;

impl<'a> Interest<'a> {
    fn events(&self) -> [Option<BorrowedHandle<'a>>; 2] {
        [self.on.read.filter(|_| self.read), self.on.write.filter(|_| self.write)]
    }
}

/// Waits until something is ready or the timeout passes; without a timeout, for ever. It may return early, with
/// nothing ready.
pub fn wait(interests: &[Interest<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut handles: Vec<HANDLE> =
        interests.iter().flat_map(Interest::events).flatten().map(|event| event.as_raw_handle()).collect();
    // The system accepts each handle only once.
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
            // SAFETY: no memory is passed. Only the time is waited for.
            unsafe { Sleep(ms) };
            return Ok(());
        }
        n @ 1..=MAX_HANDLES => u32::try_from(n).map_err(io::Error::other)?,
        n => {
            let why = format!("{n} things cannot be waited for at once: Windows takes at most {MAX_HANDLES}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    };
    // SAFETY: the handles are borrowed for the call's length, and as many as is said.
    match unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, ms) } {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Converts to milliseconds, rounding up: a waiter that wakes too early would wait again at once.
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
