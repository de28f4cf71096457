//! Hearing of a process's end, as the end of a child is heard of.

use super::signals;
use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEONLYONCE,
};

/// As long as this lives, the end of the process is told once.
#[derive(Debug)]
pub(crate) struct Watch(HANDLE);

// SAFETY: it is a number that the system gave out for any thread of this process to give back.
unsafe impl Send for Watch {}

impl Watch {
    /// Watches a process, whose handle must outlive this.
    pub(crate) fn on(process: BorrowedHandle<'_>) -> io::Result<Self> {
        let (mut wait, raw) = (null_mut(), process.as_raw_handle());
        // SAFETY: the place is ours; what is called takes no memory; the handle outlives the wait, as is asked above.
        super::check(unsafe {
            RegisterWaitForSingleObject(&raw mut wait, raw, Some(ended), null(), INFINITE, WT_EXECUTEONLYONCE)
        })?;
        Ok(Self(wait))
    }
}

unsafe extern "system" fn ended(_: *mut c_void, _: bool) {
    signals::raise(signals::CHILD);
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: it was registered and is so no more after this, which waits for a call that is under way.
        unsafe { UnregisterWaitEx(self.0, INVALID_HANDLE_VALUE) };
    }
}
