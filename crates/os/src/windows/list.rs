//! The list of all processes.

use super::own;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};

/// The number of a process's parent, as it was when the process was made.
pub(crate) fn listed_parent(pid: i32) -> Option<i32> {
    // SAFETY: no memory is passed.
    let list = own(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) }).ok()?;
    let mut entry = PROCESSENTRY32W { dwSize: super::length_of::<PROCESSENTRY32W>(), ..Default::default() };
    // SAFETY: the entry is ours, says its length, and is written by the call.
    let mut more = unsafe { Process32FirstW(list.as_raw_handle(), &raw mut entry) } != 0;
    while more {
        if entry.th32ProcessID.cast_signed() == pid {
            return Some(entry.th32ParentProcessID.cast_signed());
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(list.as_raw_handle(), &raw mut entry) } != 0;
    }
    None
}
