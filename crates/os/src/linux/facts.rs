//! Facts that `/proc` has about a process, by its pid. The caller holds the process open meanwhile, or takes them
//! as hints only.

use super::blocked;
use super::stat::Stat;
use crate::tree::InputEnd;
use std::fs::File;
use std::io::{self, Read};
use tenure_core::wire::BlockedView;

pub(crate) fn all_pids() -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir("/proc")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Returns true if a process belongs to the effective user of this one.
pub(crate) fn is_of_user(pid: i32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    rustix::fs::stat(format!("/proc/{pid}")).is_ok_and(|stat| stat.st_uid == own)
}

/// Returns true if a process was executed with this entry in its environment. An error means that it cannot be
/// read.
pub(crate) fn environment_has(pid: i32, entry: &[u8]) -> io::Result<bool> {
    let all = std::fs::read(format!("/proc/{pid}/environ"))?;
    Ok(all.split(|&b| b == 0).any(|one| one == entry))
}

/// Returns the value that a variable had when a process was executed, if it can be read.
pub(crate) fn environment_value(pid: i32, name: &str) -> Option<Vec<u8>> {
    let all = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    all.split(|&b| b == 0).find_map(|one| value_of(one, name))
}

fn value_of(entry: &[u8], name: &str) -> Option<Vec<u8>> {
    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
}

/// Returns the path of a process's executable, for people.
pub(crate) fn exe(pid: i32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Length to which a command line is cut for people.
const LONGEST_COMMAND: usize = 4096;

pub(crate) fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = bytes.split(|&b| b == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().chars().take(LONGEST_COMMAND).collect()
}

/// Length from which a command line is not compared; no record has a longer one.
const LONGEST_COMPARED: u64 = 1 << 20;

/// Returns the exact words of a command line; an error if it is incomplete, or not UTF-8.
pub(crate) fn command_words(pid: i32) -> io::Result<Vec<String>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("its command line {why}"));
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/cmdline"))?.take(LONGEST_COMPARED).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == LONGEST_COMPARED {
        return Err(bad("is too long to compare"));
    }
    let text = String::from_utf8(bytes).map_err(|_| bad("is not UTF-8"))?;
    let text = text.strip_suffix('\0').ok_or_else(|| bad("is empty or overwritten"))?;
    Ok(text.split('\0').map(str::to_owned).collect())
}

/// Returns the whole path of a process's executable, if it is UTF-8.
pub(crate) fn exe_path(pid: i32) -> Option<String> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()?.into_os_string().into_string().ok()
}

/// Returns the bytes read and written by any call, as far as we may read them.
pub(crate) fn io_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| matches!(*name, "rchar" | "wchar"))
        .filter_map(|(_, n)| n.parse::<u64>().ok())
        .sum()
}

/// Returns the input of a run, as its processes see it; `None` if it cannot be read.
fn input_of(end: InputEnd<'_>) -> Option<blocked::Input> {
    match end {
        InputEnd::Pipe(sink) => Some(blocked::Input::Pipe { inode: rustix::fs::fstat(sink).ok()?.st_ino }),
        InputEnd::Pty(pty) => {
            let path = rustix::pty::ptsname(pty.master(), Vec::new()).ok()?;
            let foreground = rustix::termios::tcgetpgrp(pty.master()).ok()?.as_raw_nonzero().get();
            Some(blocked::Input::Terminal { device: rustix::fs::stat(path).ok()?.st_rdev, foreground })
        }
    }
}

/// Returns true if a process is stopped or dead, so that it forks nothing.
pub(crate) fn stands_still(pid: i32) -> bool {
    let still = |stat: Option<Stat>| stat.is_none_or(|stat| matches!(stat.state, 'T' | 't' | 'Z' | 'X'));
    Stat::read(pid).is_ok_and(still)
}

/// Returns the calls that these processes are blocked in, and true if one of them waits for the run's own input.
pub(crate) fn blocked_in(
    pids: &mut dyn Iterator<Item = i32>,
    input: Option<InputEnd<'_>>,
) -> (Vec<BlockedView>, Option<bool>) {
    let input = input.and_then(input_of);
    let views: Vec<_> = pids.filter_map(|pid| blocked::look(pid, input)).collect();
    let waits = views.iter().map(|view| view.waits_for_input).reduce(blocked::either);
    (views, waits.unwrap_or(Some(false)))
}
