//! Implements `process.rs` with kernel queues. A queue that reports a process's end holds the process: as long as
//! it is silent the process has not ended, so its pid is its own.
//!
//! This is weaker than on Linux, because a signal goes to a pid. Right before it is sent, the pid is looked up once
//! more and the queue is checked. Only after that may the process end, be reaped by its parent, and its pid go to
//! another process. Pids are given in turn, so that takes some hundred thousand forks within those few
//! instructions. For a child that is not reaped it cannot happen at all.

use super::info::{self, Which};
use super::queue::Queue;
use crate::process::{Process, Sent};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::sync::OnceLock;
use std::time::Duration;
use tenure_core::identity::{Identity, Place};
use tenure_core::signal::Signal;

/// A process, held by a queue that reports its end.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    queue: Queue,
    pid: i32,
}

pub(crate) type Facts = Stat;

/// The facts about a process when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The parent's pid.
    pub parent: i32,
    /// The group.
    pub group: i32,
    /// The session; none if the process has ended.
    pub session: i32,
    /// The start time, in microseconds since 1970.
    pub start_time: u64,
    /// The memory in use.
    pub rss_bytes: u64,
    own_cpu: Duration,
    children_cpu: Duration,
}

impl Stat {
    fn new(told: &libc::proc_bsdinfo) -> Self {
        let pid = told.pbi_pid.cast_signed();
        let used = info::used(pid);
        let time = |ticks: Option<u64>| ticks.map_or(Duration::ZERO, in_time);
        Self {
            parent: told.pbi_ppid.cast_signed(),
            group: told.pbi_pgid.cast_signed(),
            session: session_of(pid),
            start_time: told.pbi_start_tvsec * 1_000_000 + told.pbi_start_tvusec,
            rss_bytes: used.as_ref().map_or(0, |used| used.ri_resident_size),
            own_cpu: time(used.as_ref().map(|used| used.ri_user_time + used.ri_system_time)),
            children_cpu: time(used.as_ref().map(|used| used.ri_child_user_time + used.ri_child_system_time)),
        }
    }

    /// Returns the CPU time that the process has used itself.
    pub fn cpu_ms(&self) -> u64 {
        u64::try_from(self.own_cpu.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the CPU time of the process and of the children that it waited for.
    pub fn cpu_with_children_ms(&self) -> u64 {
        u64::try_from((self.own_cpu + self.children_cpu).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns the session; zero if the process has ended.
fn session_of(pid: i32) -> i32 {
    let pid = rustix::process::Pid::from_raw(pid);
    rustix::process::getsid(pid).map_or(0, |session| session.as_raw_nonzero().get())
}

#[repr(C)]
struct Timebase {
    nanoseconds: u32,
    per_ticks: u32,
}

unsafe extern "C" {
    /// Returns the nanoseconds per tick: not one, on Apple's own processors.
    fn mach_timebase_info(info: *mut Timebase) -> libc::c_int;
}

fn in_time(ticks: u64) -> Duration {
    static BASE: OnceLock<(u64, u64)> = OnceLock::new();
    let (nanoseconds, per_ticks) = *BASE.get_or_init(|| {
        let mut base = Timebase { nanoseconds: 1, per_ticks: 1 };
        // SAFETY: the place is ours, and written by the call.
        unsafe { mach_timebase_info(&raw mut base) };
        (base.nanoseconds.into(), u64::from(base.per_ticks).max(1))
    });
    Duration::from_nanos(ticks.saturating_mul(nanoseconds) / per_ticks)
}

impl Process {
    /// Returns the facts about the process when it was opened.
    pub fn stat(&self) -> &Stat {
        &self.facts
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.queue.as_fd()
    }
}

pub(crate) fn here() -> &'static Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    HERE.get_or_init(|| Place {
        machine_id: machine_id(),
        boot_id: info::text(c"kern.bootsessionuuid").unwrap_or_default(),
        pid_namespace: 0,
    })
}

fn machine_id() -> Option<String> {
    let mut id = [0u8; 16];
    let wait = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: sixteen bytes are written; the time is read only.
    let result = unsafe { libc::gethostuuid(id.as_mut_ptr(), &raw const wait) };
    (result == 0).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Opens a process; `None` if there is none. A process that has ended and is not reaped is held as ended.
pub(crate) fn open_process(pid: i32) -> io::Result<Option<ProcessHandle>> {
    let queue = Queue::new()?;
    let number = usize::try_from(pid).map_err(io::Error::other)?;
    match queue.add(number, libc::EVFILT_PROC, 0, libc::NOTE_EXIT) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
            if info::in_short(pid)?.is_none() {
                return Ok(None);
            }
            queue.fire()?;
        }
        Err(error) => return Err(error),
    }
    Ok(Some(ProcessHandle { queue, pid }))
}

/// Returns the identity of the held process; `None` if it is gone.
pub(crate) fn identify(handle: &ProcessHandle, pid: i32) -> io::Result<Option<(Identity, Stat)>> {
    let Some(told) = info::about(pid)? else { return Ok(None) };
    let stat = Stat::new(&told);
    let pidfs_inode = info::unique_number(pid);
    // If the process has not ended, the facts were about it and no other. If it has, its pid is still its own while
    // it is dying or a zombie; otherwise it is gone, or another process has the pid.
    if handle.queue.has_fired()? && !info::about(pid)?.is_some_and(|told| is_dead(&told)) {
        return Ok(None);
    }
    let identity = Identity { place: here().clone(), pid, start_time: stat.start_time, pidfs_inode };
    Ok(Some((identity, stat)))
}

/// Returns true for a zombie, or a process about to be one: its end is reported some time before.
fn is_dead(told: &libc::proc_bsdinfo) -> bool {
    /// The flag of `sys/proc_info.h`.
    const PROC_FLAG_INEXIT: u32 = 4;
    told.pbi_status == libc::SZOMB || told.pbi_flags & PROC_FLAG_INEXIT != 0
}

/// Returns true if the process lives. Unknown is not taken for dead (I6).
pub(crate) fn lives(handle: &ProcessHandle) -> bool {
    !handle.queue.has_fired().unwrap_or(false)
}

/// Signals a process whose identity the caller has judged; the last check is that it has not ended since.
pub(crate) fn signal_process(handle: &ProcessHandle, signal: Signal) -> Sent {
    match handle.queue.has_fired() {
        Ok(false) if handle.pid > 1 => kill(handle.pid, signal),
        Ok(_) => Sent::Gone,
        Err(_) => Sent::Denied,
    }
}

/// Signals the whole group that this process leads; the caller pins the leader.
pub(crate) fn signal_group(_: &ProcessHandle, leader: i32, signal: Signal) -> Sent {
    assert!(leader > 1, "group {leader} is never signalled");
    match kill(-leader, signal) {
        Sent::Denied if is_dead_group(leader) => Sent::Gone,
        sent => sent,
    }
}

/// Returns true if no process of a group is alive: a signal to the dead is denied. A process that cannot be read
/// may be alive.
fn is_dead_group(leader: i32) -> bool {
    let dead =
        |told: Option<libc::proc_bsdshortinfo>| told.is_none_or(|told| told.pbsi_status == libc::SZOMB);
    let members = info::list(Which::InGroup(leader));
    members.is_ok_and(|members| members.into_iter().all(|pid| info::in_short(pid).is_ok_and(dead)))
}

#[expect(clippy::disallowed_methods, reason = "the one place; what may be signalled is proven above")]
fn kill(whom: i32, signal: Signal) -> Sent {
    // SAFETY: no memory is passed; the number is above one, or names exactly one group.
    let result = super::check(unsafe { libc::kill(whom, signal.0) }.into());
    match result.map_err(|error| error.raw_os_error()) {
        Ok(_) => Sent::Yes,
        Err(Some(libc::EPERM)) => Sent::Denied,
        Err(_) => Sent::Gone,
    }
}

pub(crate) fn started_at_ms(facts: &Stat) -> u64 {
    facts.start_time / 1000
}

pub(crate) fn words_of(_: &ProcessHandle, pid: i32) -> io::Result<Vec<String>> {
    super::facts::command_words(pid)
}

/// Returns the whole path, if it is UTF-8.
pub(crate) fn exe_of(_: &ProcessHandle, pid: i32) -> Option<String> {
    String::from_utf8(info::path(pid)?).ok()
}

/// Returns the path for people.
pub(crate) fn exe_shown(_: &ProcessHandle, pid: i32) -> Option<String> {
    Some(String::from_utf8_lossy(&info::path(pid)?).into_owned())
}

/// Returns the parent, as a hint only: the pid may belong to another process by now.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    info::in_short(pid).ok().flatten().map(|told| told.pbsi_ppid.cast_signed())
}
