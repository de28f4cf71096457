//! What is told of processes by their numbers, for lists and for people.

use super::info::{self, Which};
use crate::process::Process;
use crate::tree::InputEnd;
use crate::unix::arguments;
use std::io;
use tenure_core::wire::BlockedView;

/// Children are of one kind here.
pub(crate) const ANY_CHILD: libc::c_int = 0;

pub(crate) fn all_pids() -> io::Result<Vec<i32>> {
    info::list(Which::All)
}

/// Whether a process is of the user that this one acts as.
pub(crate) fn is_of_user(pid: i32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    info::in_short(pid).is_ok_and(|told| told.is_some_and(|told| told.pbsi_uid == own))
}

/// Whether a process was executed with this entry in its environment, as far as it is told: that of a program that the
/// system protects is not. An error means that it cannot be read.
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

/// How much of a command line people are shown.
const LONGEST_COMMAND: usize = 4096;

pub(crate) fn command_line(pid: i32) -> String {
    let bytes = info::arguments(pid).unwrap_or_default();
    let words = arguments::parse(&bytes).map(|told| told.words).unwrap_or_default();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().chars().take(LONGEST_COMMAND).collect()
}

/// The words of a command line, exactly; an error if it is not all there, or not text.
pub(crate) fn command_words(pid: i32) -> io::Result<Vec<String>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("its command line {why}"));
    let bytes = info::arguments(pid)?;
    let told = arguments::parse(&bytes).ok_or_else(|| bad("is not all there"))?;
    let text = |word: &[u8]| String::from_utf8(word.to_vec()).map_err(|_| bad("is not UTF-8"));
    told.words.into_iter().map(text).collect()
}

/// The direct children of a process, zombies included.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    info::list(Which::ChildrenOf(pid)).unwrap_or_default()
}

/// Bytes read from and written to disks: other reading and writing is not counted here.
pub(crate) fn io_bytes(pid: i32) -> u64 {
    info::used(pid).map_or(0, |used| used.ri_diskio_bytesread + used.ri_diskio_byteswritten)
}

/// Whether a process is stopped or dead, and so forks nothing.
pub(crate) fn stands_still(pid: i32) -> bool {
    let still = |told: libc::proc_bsdshortinfo| matches!(told.pbsi_status, libc::SSTOP | libc::SZOMB);
    info::in_short(pid).is_ok_and(|told| told.is_none_or(still))
}

/// Nobody's limits but one's own can be set here.
pub(crate) fn forbid_forking(_: &Process) {}

/// What a process is blocked in is not told here.
pub(crate) fn blocked_in(
    _: &mut dyn Iterator<Item = i32>,
    _: Option<InputEnd<'_>>,
) -> (Vec<BlockedView>, Option<bool>) {
    (Vec::new(), None)
}
