//! The processes that this one has started and has not yet heard the end of. Windows keeps no such list.

use super::signals;
use std::collections::BTreeMap;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr::{null_mut, without_provenance};
use std::sync::{Mutex, MutexGuard, PoisonError};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEONLYONCE,
};

/// One child. Its handle pins its number.
#[derive(Debug)]
struct Child {
    /// Dropped before the handle that it waits for.
    _watch: Watch,
    process: OwnedHandle,
}

/// The system's wait for a child's end, which raises a signal.
#[derive(Debug)]
struct Watch(HANDLE);

// SAFETY: it is a number that the system gave out for any thread of this process to give back.
unsafe impl Send for Watch {}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: the wait was registered and is given back once. Waiting for a call that runs right now is asked for; it
        // takes no lock that is held here but that of the signals, which is never held while children are dropped.
        unsafe { UnregisterWaitEx(self.0, INVALID_HANDLE_VALUE) };
    }
}

fn list() -> MutexGuard<'static, BTreeMap<i32, Child>> {
    static CHILDREN: Mutex<BTreeMap<i32, Child>> = Mutex::new(BTreeMap::new());
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "system" fn ended(_: *mut core::ffi::c_void, _: bool) {
    signals::raise(signals::CHILD);
}

/// Puts a process on the list: its end raises [`signals::CHILD`], and it stays there until it is taken.
pub(crate) fn adopt(pid: i32, process: OwnedHandle) -> io::Result<()> {
    let mut watch = null_mut();
    let raw = process.as_raw_handle();
    // SAFETY: the place is ours; the function gets nothing and may run in any thread; the handle stays open until the
    // wait was given back.
    super::check(unsafe {
        RegisterWaitForSingleObject(
            &raw mut watch,
            raw,
            Some(ended),
            without_provenance(0),
            INFINITE,
            WT_EXECUTEONLYONCE,
        )
    })?;
    let before = list().insert(pid, Child { _watch: Watch(watch), process });
    drop(before);
    Ok(())
}

/// Takes those off the list that have ended, with the code of each.
pub(crate) fn take_ended() -> Vec<(i32, u32)> {
    let mut list = list();
    let ended: Vec<(i32, u32)> = list.iter().filter_map(|(&pid, child)| Some((pid, child.code()?))).collect();
    let taken: Vec<Option<Child>> = ended.iter().map(|(pid, _)| list.remove(pid)).collect();
    drop(list);
    drop(taken);
    ended
}

/// Takes one off the list if it has ended, with its code.
pub(crate) fn take_one(pid: i32) -> Option<u32> {
    let mut list = list();
    let code = list.get(&pid)?.code()?;
    let taken = list.remove(&pid);
    drop(list);
    drop(taken);
    Some(code)
}

/// The code that one on the list has ended with, if it has.
pub(crate) fn look_at(pid: i32) -> Option<u32> {
    list().get(&pid)?.code()
}

/// Those on the list, ended or not.
pub(crate) fn pids() -> Vec<i32> {
    list().keys().copied().collect()
}

impl Child {
    fn code(&self) -> Option<u32> {
        super::exit_code(self.process.as_handle()).ok().flatten()
    }
}
