//! A process with a reused pid that keeps every signal it gets visible.

use rustix::process::{Pid, WaitOptions, waitpid};
use tenure_it::held_process::HeldProcess;
use tenure_it::proc;
use tenure_os::fork::SingleThread;
use tenure_os::signals::Signals;

/// A process that must not be signalled.
pub(crate) struct Stranger {
    process: HeldProcess,
    limit: String,
}

/// Blocks all signals in this process and its children, so that each one stays visible.
pub(crate) fn block_all() {
    // The queue is never read: the signals stay pending.
    drop(Signals::take(&(1..=64).collect::<Vec<i32>>()).expect("signals can be blocked"));
}

/// Forks a process that sleeps until it is killed.
pub(crate) fn fork_idle(alone: &SingleThread) -> HeldProcess {
    let pid = alone.fork(idle).expect("a fork");
    HeldProcess::hold(pid).expect("an unreaped child is there")
}

/// Forks a process that calls `work` and then sleeps until it is killed; returns after `work`.
pub(crate) fn fork_idle_after(alone: &SingleThread, work: impl FnOnce()) -> HeldProcess {
    let (told, tell) = rustix::pipe::pipe().expect("a pipe");
    let pid = alone.fork(|| {
        work();
        rustix::io::write(&tell, b".").expect("a reader");
        idle()
    });
    drop(tell);
    rustix::io::read(&told, &mut [0; 1]).expect("it is done");
    HeldProcess::hold(pid.expect("a fork")).expect("an unreaped child is there")
}

/// Forks a process that calls `work`, and returns its code: zero unless it panicked.
pub(crate) fn fork_to_do(alone: &SingleThread, work: impl FnOnce()) -> i32 {
    let work = std::panic::AssertUnwindSafe(work);
    let pid = alone.fork(|| u8::from(std::panic::catch_unwind(work).is_err())).expect("a fork");
    let pid = Pid::from_raw(pid).expect("a pid");
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty())).expect("a child");
    ended.and_then(|(_, status)| status.exit_status()).unwrap_or(-1)
}

/// Waits until `parent` is dead and this process has a new parent.
pub(crate) fn idle_until_orphaned_by(parent: Pid) -> u8 {
    while rustix::process::getppid() == Some(parent) {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    // A little longer than its parent, as leftovers do.
    std::thread::park_timeout(std::time::Duration::from_millis(500));
    0
}

/// Forks a process that ends at once, reaps it, and returns its pid.
pub(crate) fn fork_and_reap(alone: &SingleThread) -> i32 {
    let pid = alone.fork(|| 0).expect("a fork");
    reap(pid);
    pid
}

/// Waits for the end of a child and frees its pid.
pub(crate) fn reap(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a pid");
    rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty())).expect("a child");
}

impl Stranger {
    /// Forks until a child has this pid; the others end at once. If the kernel accepts a wish, that is the
    /// first.
    pub(crate) fn at(alone: &SingleThread, pid: i32) -> Self {
        for _ in 0..10_000 {
            let _ = std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string());
            let is_it = || std::process::id().cast_signed() == pid;
            let forked = alone.fork(|| if is_it() { idle() } else { 0 }).expect("a fork");
            if forked == pid {
                return Self { process: HeldProcess::hold(pid).expect("a child"), limit: process_limit(pid) };
            }
            reap(forked);
        }
        panic!("pid {pid} is not reused");
    }

    /// Asserts that it got no signal.
    pub(crate) fn assert_untouched(&self) {
        let pid = self.process.pid;
        assert!(!self.process.is_dead(), "stranger {pid} was killed");
        assert!(!proc::is_stopped(pid), "stranger {pid} was stopped");
        assert_eq!(proc::pending(pid), Vec::<u32>::new(), "stranger {pid} was signalled");
        assert_eq!(process_limit(pid), self.limit, "stranger {pid} may not fork any more");
    }
}

fn idle() -> u8 {
    loop {
        rustix::event::pause();
    }
}

/// The line of `limits` with its user's process limit.
fn process_limit(pid: i32) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    limits.lines().find(|line| line.starts_with("Max processes")).expect("a limit").to_owned()
}
