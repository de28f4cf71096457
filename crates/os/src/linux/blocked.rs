//! The system call that each thread of a process is blocked in, as the kernel shows it.

use crate::linux::stat::{Stat, is_gone};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::{fs, io};
use tenure_core::wire::BlockedView;

/// The source of a run's input, as its processes see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// The pipe with this inode.
    Pipe { inode: u64 },
    /// The terminal with this device number, read by this foreground group.
    Terminal { device: u64, foreground: i32 },
}

/// Returns the calls that a process is blocked in; `None` if it is gone.
pub(crate) fn look(pid: i32, input: Option<Input>) -> Option<BlockedView> {
    let stat = Stat::read(pid).ok()??;
    if matches!(stat.state, 'T' | 't') {
        // A stopped process reads again when it is continued; until then it takes no input.
        return Some(BlockedView { pid, syscall: "stopped".to_owned(), waits_for_input: Some(false) });
    }
    let mut syscall = String::new();
    let mut waits = Some(false);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let (name, thread_waits) = match fs::read_to_string(thread.path().join("syscall")) {
            Ok(text) => judge(pid, &text, input, &stat),
            Err(error) => ("unreadable".to_owned(), unread(&error)),
        };
        if syscall.is_empty() || thread_waits == Some(true) {
            syscall = name;
        }
        waits = either(waits, thread_waits);
    }
    Some(BlockedView { pid, syscall, waits_for_input: waits })
}

/// Judges a thread whose call cannot be read. A thread that ended between the listing and the reading waits for
/// nothing.
fn unread(error: &io::Error) -> Option<bool> {
    is_gone(error).then_some(false)
}

/// Combines two threads: the process waits if one of them does; it is unknown if one of them is.
pub(crate) fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        (Some(false), Some(false)) => Some(false),
    }
}

/// Returns the name of a thread's call, and true if it waits for the input alone.
fn judge(pid: i32, text: &str, input: Option<Input>, stat: &Stat) -> (String, Option<bool>) {
    let mut words = text.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()).filter(|&n| n >= 0) else {
        return ("running".to_owned(), Some(false));
    };
    let args: Vec<u64> =
        words.filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()).collect();
    let name = CALLS.iter().find(|call| call.number == number);
    let Some(call) = name else { return (format!("syscall {number}"), Some(false)) };
    let waits = match (call.kind, input) {
        (Kind::Other, _) | (_, None) => Some(false),
        (Kind::Many, Some(_)) => None,
        (Kind::Read, Some(input)) => args.first().map(|&fd| is_input(pid, fd, input, stat)),
        (Kind::Select, Some(input)) => match selected(pid, &args) {
            Some(fds) if fds.len() == 1 => Some(is_input(pid, fds[0], input, stat)),
            Some(fds) if fds.iter().all(|&fd| !is_input(pid, fd, input, stat)) => Some(false),
            Some(_) | None => None,
        },
    };
    (call.name.to_owned(), waits)
}

fn is_input(pid: i32, fd: u64, input: Input, stat: &Stat) -> bool {
    let Ok(found) = fs::metadata(format!("/proc/{pid}/fd/{fd}")) else { return false };
    match input {
        Input::Pipe { inode } => found.ino() == inode,
        // A terminal opened as /dev/tty is the controlling one, and a run has no other.
        Input::Terminal { device, foreground } => {
            let is_tty = found.rdev() == device || found.rdev() == libc::makedev(5, 0);
            is_tty && stat.group == foreground
        }
    }
}

/// Reads the descriptors that a select waits to read from out of the process's memory.
fn selected(pid: i32, args: &[u64]) -> Option<Vec<u64>> {
    let &[count, readable, writable, ..] = args else { return None };
    if readable == 0 || writable != 0 && !read_set(pid, writable, count)?.is_empty() {
        return None;
    }
    read_set(pid, readable, count)
}

fn read_set(pid: i32, address: u64, count: u64) -> Option<Vec<u64>> {
    let mut bits = vec![0; usize::try_from(count.min(1024)).ok()?.div_ceil(8)];
    fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bits, address).ok()?;
    Some((0..count.min(1024)).filter(|&fd| bits[(fd / 8) as usize] & (1 << (fd % 8)) != 0).collect())
}

#[derive(Clone, Copy)]
enum Kind {
    /// Waits to read one descriptor, the first argument.
    Read,
    /// Waits on a set of descriptors in memory.
    Select,
    /// May wait for many things, which are not looked up.
    Many,
    /// Waits for something other than input.
    Other,
}

struct Call {
    number: i64,
    name: &'static str,
    kind: Kind,
}

const fn call(number: i64, name: &'static str, kind: Kind) -> Call {
    Call { number, name, kind }
}

const CALLS: &[Call] = &[
    call(libc::SYS_read, "read", Kind::Read),
    call(libc::SYS_readv, "readv", Kind::Read),
    call(libc::SYS_preadv2, "preadv2", Kind::Read),
    call(libc::SYS_splice, "splice", Kind::Read),
    call(libc::SYS_tee, "tee", Kind::Read),
    call(libc::SYS_pselect6, "pselect6", Kind::Select),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_select, "select", Kind::Select),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_poll, "poll", Kind::Many),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_epoll_wait, "epoll_wait", Kind::Many),
    call(libc::SYS_ppoll, "ppoll", Kind::Many),
    call(libc::SYS_epoll_pwait, "epoll_pwait", Kind::Many),
    call(libc::SYS_epoll_pwait2, "epoll_pwait2", Kind::Many),
    call(libc::SYS_io_getevents, "io_getevents", Kind::Many),
    call(libc::SYS_io_uring_enter, "io_uring_enter", Kind::Many),
    call(libc::SYS_futex, "futex", Kind::Other),
    call(libc::SYS_wait4, "wait4", Kind::Other),
    call(libc::SYS_waitid, "waitid", Kind::Other),
    call(libc::SYS_nanosleep, "nanosleep", Kind::Other),
    call(libc::SYS_clock_nanosleep, "clock_nanosleep", Kind::Other),
    call(libc::SYS_rt_sigsuspend, "rt_sigsuspend", Kind::Other),
    call(libc::SYS_write, "write", Kind::Other),
    call(libc::SYS_accept, "accept", Kind::Other),
    call(libc::SYS_accept4, "accept4", Kind::Other),
    call(libc::SYS_recvfrom, "recvfrom", Kind::Other),
    call(libc::SYS_recvmsg, "recvmsg", Kind::Other),
    call(libc::SYS_connect, "connect", Kind::Other),
    call(libc::SYS_flock, "flock", Kind::Other),
    call(libc::SYS_fcntl, "fcntl", Kind::Other),
    call(libc::SYS_fsync, "fsync", Kind::Other),
];

#[cfg(test)]
mod tests {
    use super::{is_gone, unread};
    use std::io;

    #[test]
    fn a_thread_that_ended_while_it_was_looked_at_waits_for_nothing() {
        for gone in [libc::ESRCH, libc::ENOENT] {
            let error = io::Error::from_raw_os_error(gone);
            assert!(is_gone(&error));
            assert_eq!(unread(&error), Some(false));
        }
        assert_eq!(unread(&io::Error::from_raw_os_error(libc::EPERM)), None);
    }
}
