//! Linux: the system calls behind the facades. Nothing here decides anything.

pub(crate) mod blocked;
pub(crate) mod mountinfo;
pub(crate) mod spawn;
pub(crate) mod stat;

use crate::fork::Alone;
use crate::process::Sent;
use crate::reaper::Ended;
use crate::socket::Got;
use crate::tree::InputEnd;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::time::Duration;
use tenure_core::ending::Exit;
use tenure_core::identity::Place;
use tenure_core::signal::Signal;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

// ---- identity ----------------------------------------------------------------------------------------------

pub(crate) fn here() -> &'static Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    HERE.get_or_init(|| {
        let line = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        Place {
            machine_id: line("/etc/machine-id").filter(|id| !id.is_empty()),
            boot_id: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            pid_namespace: rustix::fs::stat("/proc/self/ns/pid").map_or(0, |stat| stat.st_ino),
        }
    })
}

/// `None`: no such process.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return Ok(None) };
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // EINVAL and ENOENT: the number is a thread's, or its process is on its way out.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The inode that the kernel gives a process for one boot; `None` on kernels that give all the same.
pub(crate) fn pidfs_inode(pidfd: BorrowedFd<'_>) -> Option<u64> {
    const PID_FS_MAGIC: i64 = 0x5049_4446;
    static HAS: OnceLock<bool> = OnceLock::new();
    let has = *HAS.get_or_init(|| rustix::fs::fstatfs(pidfd).is_ok_and(|fs| fs.f_type == PID_FS_MAGIC));
    if has { rustix::fs::fstat(pidfd).ok().map(|stat| stat.st_ino) } else { None }
}

fn pidfd_send(pidfd: BorrowedFd<'_>, signal: i32, flags: libc::c_uint) -> io::Result<()> {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open for the call's length and a null siginfo is what kill(2) would send.
    check(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, no_info, flags) })
        .map(drop)
}

/// Whether the process has not been reaped yet.
pub(crate) fn exists(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    match pidfd_send(pidfd, 0, 0) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(false),
            Some(libc::EPERM) => Ok(true),
            _ => Err(error),
        },
    }
}

/// Whether the process can still run: a pidfd becomes readable when its process has ended.
pub(crate) fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let interest = crate::poll::Interest { on: pidfd, read: true, write: false };
    crate::poll::wait(&[interest], Some(Duration::ZERO)).is_ok_and(|ready| !ready[0].read)
}

/// How far a signal goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reach {
    Process,
    /// The whole group that this process leads; the caller pins the leader.
    Group {
        leader: i32,
    },
}

pub(crate) fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: Signal, reach: Reach) -> Sent {
    const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;
    let result = match reach {
        Reach::Process => pidfd_send(pidfd, signal.0, 0),
        Reach::Group { leader } => match pidfd_send(pidfd, signal.0, PIDFD_SIGNAL_PROCESS_GROUP) {
            // Kernels before 6.9 know no groups here; the unreaped leader makes the number safe.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => kill_group(leader, signal),
            other => other,
        },
    };
    match result.map_err(|error| error.raw_os_error()) {
        Ok(()) => Sent::Yes,
        Err(Some(libc::EPERM)) => Sent::Denied,
        Err(_) => Sent::Gone,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place: an old kernel, a pinned group, checked above one"
)]
fn kill_group(leader: i32, signal: Signal) -> io::Result<()> {
    assert!(leader > 1, "group {leader} is never signalled");
    // SAFETY: no memory is passed; the number is negative below -1, so it names exactly one group.
    check(libc::c_long::from(unsafe { libc::kill(-leader, signal.0) })).map(drop)
}

pub(crate) fn stop_self() {
    // SAFETY: a signal to the calling thread; no memory is passed.
    unsafe { libc::raise(libc::SIGSTOP) };
}

// ---- children ----------------------------------------------------------------------------------------------

/// Whether a wait takes the child off the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reap {
    Look,
    Take,
}

/// What a wait for anybody found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Ended(Ended),
    Nobody,
    NoChildren,
}

/// Looks for any ended child, of whatever kind.
pub(crate) fn wait_any(reap: Reap) -> Waited {
    wait(libc::P_ALL, 0, reap)
}

/// Looks whether this child has ended.
pub(crate) fn wait_one(pid: i32, reap: Reap) -> Option<Ended> {
    match wait(libc::P_PID, pid.unsigned_abs(), reap) {
        Waited::Ended(ended) => Some(ended),
        Waited::Nobody | Waited::NoChildren => None,
    }
}

fn wait(kind: libc::idtype_t, id: libc::id_t, reap: Reap) -> Waited {
    let keep = if reap == Reap::Look { libc::WNOWAIT } else { 0 };
    let options = libc::WEXITED | libc::WNOHANG | libc::__WALL | keep;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the info is ours, of the right type, and all zeroes are a valid value of it.
    let (result, info) = unsafe { (libc::waitid(kind, id, info.as_mut_ptr(), options), info.assume_init()) };
    if result < 0 {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => wait(kind, id, reap),
            _ => Waited::NoChildren,
        };
    }
    // SAFETY: waitid filled the fields of a child's state change, or left them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Waited::Nobody;
    }
    let exit = if info.si_code == libc::CLD_EXITED { Exit::Code(status) } else { Exit::Signal(status) };
    Waited::Ended(Ended { pid, exit })
}

/// The direct children of a process: from the kernel's list, or from everybody's parent where it keeps none.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    children_listed(pid).unwrap_or_else(|| children_scanned(pid))
}

/// `None`: this kernel has no such list.
pub(crate) fn children_listed(pid: i32) -> Option<Vec<i32>> {
    let tasks = format!("/proc/{pid}/task");
    let Ok(threads) = std::fs::read_dir(&tasks) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread ended meanwhile, or there is no such list at all.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

pub(crate) fn children_scanned(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| matches!(stat::Stat::read(*pid), Ok(Some(stat)) if stat.parent == parent);
    all_pids().unwrap_or_default().into_iter().filter(is_child).collect()
}

pub(crate) fn all_pids() -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir("/proc")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Whether a process is of the user that this one acts as.
pub(crate) fn is_of_user(pid: i32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    rustix::fs::stat(format!("/proc/{pid}")).is_ok_and(|stat| stat.st_uid == own)
}

/// Whether a process was executed with this entry in its environment.
pub(crate) fn environment_has(pid: i32, entry: &[u8]) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|all| all.split(|&b| b == 0).any(|one| one == entry))
}

pub(crate) fn exe(pid: i32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

pub(crate) fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = bytes.split(|&b| b == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().to_owned()
}

/// Bytes read and written by any call, as far as we may know.
pub(crate) fn io_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| matches!(*name, "rchar" | "wchar"))
        .filter_map(|(_, n)| n.parse::<u64>().ok())
        .sum()
}

/// The CPU time of every child that this process has reaped, and of theirs.
pub(crate) fn reaped_cpu() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the struct is ours and all zeroes are a valid value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let length = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
    };
    length(usage.ru_utime) + length(usage.ru_stime)
}

/// How the processes of a run see their input; `None` if that cannot be read.
pub(crate) fn input_of(end: InputEnd<'_>) -> Option<blocked::Input> {
    match end {
        InputEnd::Pipe(fd) => Some(blocked::Input::Pipe { inode: rustix::fs::fstat(fd).ok()?.st_ino }),
        InputEnd::Pty(pty) => {
            let path = rustix::pty::ptsname(pty.master(), Vec::new()).ok()?;
            let foreground = rustix::termios::tcgetpgrp(pty.master()).ok()?.as_raw_nonzero().get();
            Some(blocked::Input::Terminal { device: rustix::fs::stat(path).ok()?.st_rdev, foreground })
        }
    }
}

/// Sets the soft limit alone: if the number came to mean another process in between, that one gets its own back.
pub(crate) fn forbid_forking(pidfd: BorrowedFd<'_>, pid: i32) {
    let is_it = || exists(pidfd).unwrap_or(false);
    if !is_it() {
        return;
    }
    let Some(now) = process_limit(pid, None) else { return };
    let before = process_limit(pid, Some(libc::rlimit { rlim_cur: 0, ..now }));
    if !is_it() {
        before.map(|before| process_limit(pid, Some(before)));
    }
}

/// How many processes the user of a process may have, before it is set to `new`. A refusal changes nothing.
fn process_limit(pid: i32, new: Option<libc::rlimit>) -> Option<libc::rlimit> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the new limit is null or read only, the old one is ours and written by the call.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NPROC, new, &raw mut before) };
    (result == 0).then_some(before)
}

/// Runs before ordinary processes, where the system lets us.
pub(crate) fn hurry() {
    // SAFETY: no memory is passed. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

pub(crate) fn fork(_alone: &Alone, work: impl FnOnce() -> u8) -> io::Result<i32> {
    // SAFETY: the process has one thread, so the child's copy of every lock and of the heap is consistent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = work();
            // SAFETY: ends the child without running what its parent registered for its own end.
            unsafe { libc::_exit(i32::from(code)) }
        }
        pid => Ok(pid),
    }
}

// ---- descriptors and signals -------------------------------------------------------------------------------

pub(crate) fn close_range(from: u32, to: u32) -> io::Result<()> {
    // SAFETY: closes descriptors that the caller gave up; the caller kept the ones it still uses.
    check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }).map(drop)
}

fn signal_set(numbers: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset changes it; a bad number is refused by the call.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &number in numbers {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        set.assume_init()
    }
}

pub(crate) fn block_signals(numbers: &[i32]) -> io::Result<()> {
    let set = signal_set(numbers);
    // SAFETY: the set is initialised and read only.
    check(libc::c_long::from(unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
    }))
    .map(drop)
}

pub(crate) fn signal_queue(numbers: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(numbers);
    // SAFETY: the set is initialised and read only.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(libc::c_long::from(fd))?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn next_signal(queue: BorrowedFd<'_>) -> Option<i32> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(queue, &mut bytes) {
        Ok(n) if n == bytes.len() => {
            let number = *bytes.first_chunk()?;
            i32::try_from(u32::from_ne_bytes(number)).ok()
        }
        _ => None,
    }
}

pub(crate) fn ignore_signals(numbers: &[i32]) -> io::Result<()> {
    for &number in numbers {
        // SAFETY: ignoring a signal installs no handler.
        if unsafe { libc::signal(number, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

// ---- locks -------------------------------------------------------------------------------------------------

/// A constant of fcntl as its struct has it.
fn short(constant: libc::c_int) -> libc::c_short {
    libc::c_short::try_from(constant).expect("the constants of fcntl fit its struct")
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    // SAFETY: all zeroes are a valid flock: from the first byte to the end of the file.
    let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
    lock.l_type = short(kind);
    lock.l_whence = short(libc::SEEK_SET);
    lock
}

/// `false`: another process holds it.
pub(crate) fn try_lock(file: BorrowedFd<'_>) -> io::Result<bool> {
    let lock = whole_file(libc::F_WRLCK);
    // SAFETY: the lock is read only by the call.
    match check(libc::c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) }))
    {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EAGAIN)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_locked(file: BorrowedFd<'_>) -> io::Result<bool> {
    let mut lock = whole_file(libc::F_WRLCK);
    // SAFETY: the lock is ours and written by the call.
    check(libc::c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) }))?;
    Ok(lock.l_type != short(libc::F_UNLCK))
}

// ---- sockets -----------------------------------------------------------------------------------------------

pub(crate) fn send_with_fd(socket: BorrowedFd<'_>, bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for one descriptor"));
    }
    match sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn receive_with_fd(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(Got, Option<OwnedFd>)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = match recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(message) if message.bytes == 0 => Got::End,
        Ok(message) => Got::Bytes(message.bytes),
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(Errno::CONNRESET) => Got::End,
        Err(error) => return Err(error.into()),
    };
    let mut received = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            received = fds.last().or(received);
        }
    }
    Ok((got, received))
}

// ---- memory ------------------------------------------------------------------------------------------------

/// Gives free pages of the heap back, where the C library can.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: touches memory that nobody has allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Private pages, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: std::ptr::NonNull<u8>,
    len: usize,
}

impl Pages {
    pub(crate) fn map(len: usize) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new pages at an address of the kernel's choice alias nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        let start = std::ptr::NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at null"))?;
        Ok(Self { start, len })
    }

    pub(crate) fn discard(&mut self) {
        // SAFETY: the pages are ours; after this they read as zeroes, which are valid bytes. A refusal leaves them.
        let _ = unsafe {
            rustix::mm::madvise(self.start.as_ptr().cast(), self.len, rustix::mm::Advice::LinuxDontNeed)
        };
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the pages are ours for as long as self lives, and any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and self is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: nobody can hold a slice of the pages any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
