//! Facts about a process by its pid, for lists and for people.

use super::info::{self, Which};
use crate::process::Process;
use crate::tree::InputEnd;
use crate::unix::arguments;
use std::io;
use tenure_core::wire::BlockedView;

/// There is only one kind of children.
pub(crate) const ANY_CHILD: libc::c_int = 0;

pub(crate) fn all_pids() -> io::Result<Vec<i32>> {
    info::list(Which::All)
}

/// Returns true if a process belongs to the effective user of this one.
pub(crate) fn is_of_user(pid: i32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    info::in_short(pid).is_ok_and(|told| told.is_some_and(|told| told.pbsi_uid == own))
}

/// Returns true if a process was executed with this entry in its environment; the system hides that of a program
/// that it protects. An error means that it cannot be read.
pub(crate) fn environment_has(pid: i32, entry: &[u8]) -> io::Result<bool> {
    let bytes = info::arguments(pid)?;
    let told = arguments::parse(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(told.environment.contains(&entry))
}

/// Returns the value that a variable had when a process was executed, if it can be read.
pub(crate) fn environment_value(pid: i32, name: &str) -> Option<Vec<u8>> {
    let bytes = info::arguments(pid).ok()?;
    let told = arguments::parse(&bytes)?;
    let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    told.environment.into_iter().find_map(value)
}

/// Length to which a command line is cut for people.
const LONGEST_COMMAND: usize = 4096;

pub(crate) fn command_line(pid: i32) -> String {
    let bytes = info::arguments(pid).unwrap_or_default();
    let words = arguments::parse(&bytes).map(|told| told.words).unwrap_or_default();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().chars().take(LONGEST_COMMAND).collect()
}

/// Returns the exact words of a command line; an error if it is incomplete, or not UTF-8.
pub(crate) fn command_words(pid: i32) -> io::Result<Vec<String>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("its command line {why}"));
    let bytes = info::arguments(pid)?;
    let told = arguments::parse(&bytes).ok_or_else(|| bad("is not all there"))?;
    let text = |word: &[u8]| String::from_utf8(word.to_vec()).map_err(|_| bad("is not UTF-8"));
    told.words.into_iter().map(text).collect()
}

/// Returns the direct children of a process, zombies included.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    info::list(Which::ChildrenOf(pid)).unwrap_or_default()
}

/// Returns the bytes read from and written to disks; the system counts no other I/O.
pub(crate) fn io_bytes(pid: i32) -> u64 {
    info::used(pid).map_or(0, |used| used.ri_diskio_bytesread + used.ri_diskio_byteswritten)
}

/// Returns true if a process is stopped or dead, so that it forks nothing.
pub(crate) fn stands_still(pid: i32) -> bool {
    let still = |told: libc::proc_bsdshortinfo| matches!(told.pbsi_status, libc::SSTOP | libc::SZOMB);
    info::in_short(pid).is_ok_and(|told| told.is_none_or(still))
}

/// Does nothing: a process can only set its own limits here.
pub(crate) fn forbid_forking(_: &Process) {}

/// Returns nothing: the system does not tell what a process is blocked in.
pub(crate) fn blocked_in(
    _: &mut dyn Iterator<Item = i32>,
    _: Option<InputEnd<'_>>,
) -> (Vec<BlockedView>, Option<bool>) {
    (Vec::new(), None)
}
