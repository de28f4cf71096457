//! The windows of programs on our desktop. A program with windows and no console is asked to exit by closing these.

use crate::process::Process;
use std::collections::HashSet;
use std::marker::PhantomData;
use windows_sys::Win32::Foundation::{HWND, LPARAM};
use windows_sys::Win32::UI::WindowsAndMessaging::{
    EnumWindows, GW_OWNER, GetWindow, GetWindowThreadProcessId, IsWindowVisible, PostMessageW, WM_CLOSE,
};
use windows_sys::core::BOOL;

/// The windows of some processes, which are held, so that no other process can get their pids meanwhile (I1).
pub(crate) struct Windows<'a> {
    owners: HashSet<u32>,
    found: Vec<HWND>,
    held: PhantomData<&'a [Process]>,
}

/// Returns the visible top windows of these processes; none if there is no desktop.
pub(crate) fn windows_of(processes: &[Process]) -> Windows<'_> {
    let owners = processes.iter().map(|process| process.identity().pid.cast_unsigned()).collect();
    let mut windows = Windows { owners, found: Vec::new(), held: PhantomData };
    let place: *mut Windows<'_> = &raw mut windows;
    // SAFETY: the place is good for the call, which is the only one that uses it meanwhile.
    unsafe { EnumWindows(Some(look), place.expose_provenance().cast_signed()) };
    windows
}

unsafe extern "system" fn look(window: HWND, place: LPARAM) -> BOOL {
    // SAFETY: this is the pointer that was passed above, and nothing else uses it during the call.
    let windows: &mut Windows<'_> =
        unsafe { &mut *std::ptr::with_exposed_provenance_mut(place.cast_unsigned()) };
    // SAFETY: no memory is passed; a window that is gone just has no state.
    let is_shown = unsafe { IsWindowVisible(window) != 0 && GetWindow(window, GW_OWNER).is_null() };
    if is_shown && windows.owns(window) {
        windows.found.push(window);
    }
    1
}

impl Windows<'_> {
    fn owns(&self, window: HWND) -> bool {
        let mut owner = 0;
        // SAFETY: the place is ours; a window that is gone has no owner.
        unsafe { GetWindowThreadProcessId(window, &raw mut owner) };
        self.owners.contains(&owner)
    }

    /// Asks each window to close; returns the number of windows asked. A window's number may have been reused, so
    /// its owner is checked again.
    pub(crate) fn close(&self) -> usize {
        // SAFETY: no memory is passed; a window that is gone is refused.
        let ask = |window: HWND| unsafe { PostMessageW(window, WM_CLOSE, 0, 0) } != 0;
        self.found.iter().filter(|&&window| self.owns(window) && ask(window)).count()
    }
}
