//! What `process.rs` promises. A process is held by a kernel queue that its end is told to: as long as that is silent the
//! process has not ended, so its number is its own.
//!
//! What is weaker than on Linux: a signal goes to a number. Right before it is sent the number is looked up once more and
//! the queue is looked at, and only then may the process end, be waited for by its parent, and its number go to another.
//! Numbers are given in turn, so that takes some hundred thousand forks within those few instructions. For a child that is
//! not reaped it cannot happen at all.

use super::info::{self, Which};
use super::queue::Queue;
use crate::process::{Process, Sent};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::sync::OnceLock;
use std::time::Duration;
use tenure_core::identity::{Identity, Place};
use tenure_core::signal::Signal;

/// A process, held by the news of its end.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    queue: Queue,
    pid: i32,
}

pub(crate) type Facts = Stat;

/// What was told of a process when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The parent's pid.
    pub parent: i32,
    /// The group.
    pub group: i32,
    /// The session; none of one that has ended.
    pub session: i32,
    /// When it started, in microseconds since 1970.
    pub start_time: u64,
    /// Memory that it holds now.
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

    /// The CPU time it has used itself.
    pub fn cpu_ms(&self) -> u64 {
        u64::try_from(self.own_cpu.as_millis()).unwrap_or(u64::MAX)
    }

    /// The CPU time that it and the children it waited for have used.
    pub fn cpu_with_children_ms(&self) -> u64 {
        u64::try_from((self.own_cpu + self.children_cpu).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Zero of one that has ended.
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
    /// How many nanoseconds a tick is: not one, on Apple's own processors.
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
    /// What was told of it when it was opened.
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

/// `None`: no such process. One that has ended, and is not reaped, is held as ended.
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

/// Who is held; `None` if it is gone.
pub(crate) fn identify(handle: &ProcessHandle, pid: i32) -> io::Result<Option<(Identity, Stat)>> {
    let Some(told) = info::about(pid)? else { return Ok(None) };
    let stat = Stat::new(&told);
    let pidfs_inode = info::unique_number(pid);
    // Unless it has ended, what was told was about it and nobody else. The number of one that has ended is its own as long
    // as it is dying or a zombie; otherwise it is gone, or another has it.
    if handle.queue.has_fired()? && !info::about(pid)?.is_some_and(|told| is_dead(&told)) {
        return Ok(None);
    }
    let identity = Identity { place: here().clone(), pid, start_time: stat.start_time, pidfs_inode };
    Ok(Some((identity, stat)))
}

/// Whether it is a zombie, or about to be one: its end is told some time before.
fn is_dead(told: &libc::proc_bsdinfo) -> bool {
    /// As in `sys/proc_info.h`.
    const PROC_FLAG_INEXIT: u32 = 4;
    told.pbi_status == libc::SZOMB || told.pbi_flags & PROC_FLAG_INEXIT != 0
}

/// One of which that cannot be told is not taken for dead (I6).
pub(crate) fn lives(handle: &ProcessHandle) -> bool {
    !handle.queue.has_fired().unwrap_or(false)
}

/// The caller has judged who it is; that it has not ended since is looked at last.
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

/// Whether nobody in a group is alive: a signal to the dead is denied. One that cannot be looked at may be alive.
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

/// The whole path, if it is text.
pub(crate) fn exe_of(_: &ProcessHandle, pid: i32) -> Option<String> {
    String::from_utf8(info::path(pid)?).ok()
}

/// The path as people are shown it.
pub(crate) fn exe_shown(_: &ProcessHandle, pid: i32) -> Option<String> {
    Some(String::from_utf8_lossy(&info::path(pid)?).into_owned())
}

/// For hints only: the number may be another's by now.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    info::in_short(pid).ok().flatten().map(|told| told.pbsi_ppid.cast_signed())
}
