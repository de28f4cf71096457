//! A process that has a pid which was somebody else's, and that shows every signal which is sent to it.

use rustix::process::{Pid, WaitOptions, waitpid};
use tenure_it::known::Known;
use tenure_it::proc;
use tenure_os::fork::Alone;
use tenure_os::signals::Signals;

/// A process that nobody may signal.
pub(crate) struct Stranger {
    process: Known,
    limit: String,
}

/// From now on every signal to this process, and to what it forks, stays to be seen.
pub(crate) fn block_all() {
    // Nobody reads the queue: the signals stay pending.
    drop(Signals::take(&(1..=64).collect::<Vec<i32>>()).expect("signals can be blocked"));
}

/// Forks a process that does nothing until it is killed.
pub(crate) fn fork_idle(alone: &Alone) -> Known {
    let pid = alone.fork(idle).expect("a fork");
    Known::hold(pid).expect("an unreaped child is there")
}

/// Forks a process that does something and then nothing until it is killed; returns when it has done it.
pub(crate) fn fork_idle_after(alone: &Alone, work: impl FnOnce()) -> Known {
    let (told, tell) = rustix::pipe::pipe().expect("a pipe");
    let pid = alone.fork(|| {
        work();
        rustix::io::write(&tell, b".").expect("a reader");
        idle()
    });
    drop(tell);
    rustix::io::read(&told, &mut [0; 1]).expect("it is done");
    Known::hold(pid.expect("a fork")).expect("an unreaped child is there")
}

/// Forks a process that does something, and returns its code: zero unless it panicked.
pub(crate) fn fork_to_do(alone: &Alone, work: impl FnOnce()) -> i32 {
    let work = std::panic::AssertUnwindSafe(work);
    let pid = alone.fork(|| u8::from(std::panic::catch_unwind(work).is_err())).expect("a fork");
    let pid = Pid::from_raw(pid).expect("a pid");
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty())).expect("a child");
    ended.and_then(|(_, status)| status.exit_status()).unwrap_or(-1)
}

/// Until `parent` is dead and it is somebody else's child.
pub(crate) fn idle_until_orphaned_by(parent: Pid) -> u8 {
    while rustix::process::getppid() == Some(parent) {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    // A little longer than its parent, as leftovers are.
    std::thread::park_timeout(std::time::Duration::from_millis(500));
    0
}

/// Forks a process that ends at once, and returns what its pid was.
pub(crate) fn fork_and_bury(alone: &Alone) -> i32 {
    let pid = alone.fork(|| 0).expect("a fork");
    bury(pid);
    pid
}

/// Waits for the end of a child and frees its pid.
pub(crate) fn bury(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a pid");
    rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty())).expect("a child");
}

impl Stranger {
    /// Forks until one has this pid; the others end at once. Where the kernel takes a wish, that is the first.
    pub(crate) fn at(alone: &Alone, pid: i32) -> Self {
        for _ in 0..10_000 {
            let _ = std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string());
            let is_it = || std::process::id().cast_signed() == pid;
            let forked = alone.fork(|| if is_it() { idle() } else { 0 }).expect("a fork");
            if forked == pid {
                return Self { process: Known::hold(pid).expect("a child"), limit: process_limit(pid) };
            }
            bury(forked);
        }
        panic!("pid {pid} does not come round");
    }

    /// Nobody has done anything to it.
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

/// The line about how many processes its user may have.
fn process_limit(pid: i32) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    limits.lines().find(|line| line.starts_with("Max processes")).expect("a limit").to_owned()
}
