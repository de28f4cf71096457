//! The processes that this one has started and has not yet heard the end of. Windows keeps no such list.

use super::watch::Watch;
use std::collections::BTreeMap;
use std::io;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One child. Its handle pins its number.
#[derive(Debug)]
struct Child {
    /// Dropped before the handle that it waits for.
    _watch: Watch,
    process: OwnedHandle,
}

fn list() -> MutexGuard<'static, BTreeMap<i32, Child>> {
    static CHILDREN: Mutex<BTreeMap<i32, Child>> = Mutex::new(BTreeMap::new());
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a process on the list: its end raises [`super::signals::CHILD`], and it stays there until it is taken.
pub(crate) fn adopt(pid: i32, process: OwnedHandle) -> io::Result<()> {
    let watch = Watch::on(process.as_handle())?;
    let before = list().insert(pid, Child { _watch: watch, process });
    drop(before);
    Ok(())
}

/// Takes those off the list that have ended, with the code of each.
pub(crate) fn take_ended() -> Vec<(i32, u32)> {
    let mut list = list();
    let ended: Vec<(i32, u32)> = list.iter().filter_map(|(&pid, child)| Some((pid, child.code()?))).collect();
    let taken: Vec<Option<Child>> = ended.iter().map(|(pid, _)| list.remove(pid)).collect();
    drop(list);
    // A call that is under way is waited for, and not while the list is held.
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

/// Those on the list, ended or not.
pub(crate) fn pids() -> Vec<i32> {
    list().keys().copied().collect()
}

impl Child {
    fn code(&self) -> Option<u32> {
        super::exit_code(self.process.as_handle()).ok().flatten()
    }
}
