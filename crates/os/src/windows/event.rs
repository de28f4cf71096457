//! Events: flags that can be waited for.

use super::{check, own};
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::null;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{CreateEventW, ResetEvent, SetEvent};

/// A flag that stays set until it is reset.
#[derive(Debug)]
pub(crate) struct Event(OwnedHandle);

impl Event {
    pub(crate) fn new(set: bool) -> io::Result<Self> {
        // SAFETY: neither attributes nor a name are passed.
        own(unsafe { CreateEventW(null(), 1, i32::from(set), null()) }).map(Self)
    }

    /// Returns a second handle of the event.
    pub(crate) fn share(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(crate) fn set(&self) {
        // SAFETY: the handle is open; no memory is passed. It fails only for handles of other objects.
        let _ = check(unsafe { SetEvent(self.0.as_raw_handle()) });
    }

    pub(crate) fn reset(&self) {
        // SAFETY: as above.
        let _ = check(unsafe { ResetEvent(self.0.as_raw_handle()) });
    }

    /// Returns the handle for an operation that sets it when over. The lowest bit keeps the completion port silent:
    /// the owner of another handle of the same pipe may have bound it to one.
    pub(crate) fn for_work(&self) -> HANDLE {
        self.0.as_raw_handle().map_addr(|address| address | 1)
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}
