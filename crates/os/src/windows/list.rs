//! The list of all processes.

use super::{number, own};
use std::io;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};

/// Returns the pid of a process's parent, as of the moment when it was created.
pub(crate) fn listed_parent(pid: i32) -> Option<i32> {
    listed().ok()?.into_iter().find_map(|(child, parent)| (child == pid).then_some(parent))
}

/// Returns the processes that name this one as their parent; they may mean an earlier process with the same pid.
pub(crate) fn listed_children(pid: i32) -> io::Result<Vec<i32>> {
    let children = listed()?.into_iter().filter(|&(child, parent)| parent == pid && child != pid);
    Ok(children.map(|(child, _)| child).collect())
}

/// Returns the pids of all processes.
pub(crate) fn all_pids() -> io::Result<Vec<i32>> {
    Ok(listed()?.into_iter().map(|(pid, _)| pid).collect())
}

/// Returns every process and its parent. An incomplete list is an error, not a short list (I6).
fn listed() -> io::Result<Vec<(i32, i32)>> {
    // SAFETY: no memory is passed.
    let list = own(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) })?;
    let mut found = Vec::new();
    let mut entry = PROCESSENTRY32W { dwSize: super::length_of::<PROCESSENTRY32W>(), ..Default::default() };
    // SAFETY: the entry is ours, says its length, and is written by the call.
    let mut more = unsafe { Process32FirstW(list.as_raw_handle(), &raw mut entry) } != 0;
    while more {
        found.push((entry.th32ProcessID.cast_signed(), entry.th32ParentProcessID.cast_signed()));
        // SAFETY: as above.
        more = unsafe { Process32NextW(list.as_raw_handle(), &raw mut entry) } != 0;
    }
    match io::Error::last_os_error() {
        error if number(&error) == ERROR_NO_MORE_FILES => Ok(found),
        error => Err(error),
    }
}
