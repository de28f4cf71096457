//! The windows that programs have on the desktop that we are on. A program with windows and no console is asked to leave by
//! the closing of these.

use std::collections::HashSet;
use windows_sys::Win32::Foundation::{HWND, LPARAM};
use windows_sys::Win32::UI::WindowsAndMessaging::{
    EnumWindows, GetWindowThreadProcessId, PostMessageW, WM_CLOSE,
};
use windows_sys::core::BOOL;

/// The windows of some processes.
pub(crate) struct Windows {
    owners: HashSet<u32>,
    found: Vec<HWND>,
}

/// The top windows of these processes; none where there is no desktop.
pub(crate) fn windows_of(pids: &[u32]) -> Windows {
    let mut windows = Windows { owners: pids.iter().copied().collect(), found: Vec::new() };
    let place: *mut Windows = &raw mut windows;
    // SAFETY: the place is good for the call, which is the only one that uses it meanwhile.
    unsafe { EnumWindows(Some(look), place.expose_provenance().cast_signed()) };
    windows
}

unsafe extern "system" fn look(window: HWND, place: LPARAM) -> BOOL {
    // SAFETY: it is the place that was passed above, and nobody else uses it during the call.
    let windows: &mut Windows = unsafe { &mut *std::ptr::with_exposed_provenance_mut(place.cast_unsigned()) };
    let mut owner = 0;
    // SAFETY: the place is ours; a window that is gone has no owner.
    unsafe { GetWindowThreadProcessId(window, &raw mut owner) };
    if windows.owners.contains(&owner) {
        windows.found.push(window);
    }
    1
}

impl Windows {
    /// Asks each to close; returns how many were asked.
    pub(crate) fn close(&self) -> usize {
        // SAFETY: no memory is passed; a window that is gone is refused.
        let ask = |&&window: &&HWND| unsafe { PostMessageW(window, WM_CLOSE, 0, 0) } != 0;
        self.found.iter().filter(ask).count()
    }
}
