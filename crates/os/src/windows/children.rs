//! The children of this process whose end was not handled yet. Windows has no such list.

use super::watch::Watch;
use std::collections::BTreeMap;
use std::io;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A child. Its handle pins its pid.
#[derive(Debug)]
struct Child {
    /// Must be dropped before the handle that it waits for.
    _watch: Watch,
    process: OwnedHandle,
}

fn list() -> MutexGuard<'static, BTreeMap<i32, Child>> {
    static CHILDREN: Mutex<BTreeMap<i32, Child>> = Mutex::new(BTreeMap::new());
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a process to the list. Its end raises [`super::signals::CHILD`], and it stays listed until it is taken.
pub(crate) fn adopt(pid: i32, process: OwnedHandle) -> io::Result<()> {
    let watch = Watch::on(process.as_handle())?;
    let before = list().insert(pid, Child { _watch: watch, process });
    drop(before);
    Ok(())
}

/// Takes the ended children off the list, with their exit codes.
pub(crate) fn take_ended() -> Vec<(i32, u32)> {
    let mut list = list();
    let ended: Vec<(i32, u32)> = list.iter().filter_map(|(&pid, child)| Some((pid, child.code()?))).collect();
    let taken: Vec<Option<Child>> = ended.iter().map(|(pid, _)| list.remove(pid)).collect();
    drop(list);
    // Dropping waits for a running callback, so the lock must be released before.
    drop(taken);
    ended
}

/// Takes a child off the list if it has ended, and returns its exit code.
pub(crate) fn take_one(pid: i32) -> Option<u32> {
    let mut list = list();
    let code = list.get(&pid)?.code()?;
    let taken = list.remove(&pid);
    drop(list);
    drop(taken);
    Some(code)
}

/// Returns the listed children, ended or not.
pub(crate) fn pids() -> Vec<i32> {
    list().keys().copied().collect()
}

impl Child {
    fn code(&self) -> Option<u32> {
        super::exit_code(self.process.as_handle()).ok().flatten()
    }
}
