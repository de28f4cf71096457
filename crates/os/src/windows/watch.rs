//! Reports the end of a process like the end of a child.

use super::signals;
use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEONLYONCE,
};

/// A registered wait: as long as it lives, the end of the process is reported once.
#[derive(Debug)]
pub(crate) struct Watch(HANDLE);

// SAFETY: it is a number that any thread of this process may unregister.
unsafe impl Send for Watch {}

impl Watch {
    /// Watches a process, whose handle must outlive this.
    pub(crate) fn on(process: BorrowedHandle<'_>) -> io::Result<Self> {
        let (mut wait, raw) = (null_mut(), process.as_raw_handle());
        // SAFETY: the place is ours; the callback takes no memory; the handle outlives the wait, as required above.
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
        // SAFETY: it was registered, and is not after this, which waits for a running callback.
        unsafe { UnregisterWaitEx(self.0, INVALID_HANDLE_VALUE) };
    }
}
