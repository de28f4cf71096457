//! Raw processes: `posix_spawn`, `kill`, `waitpid`; and the scheduler settings for both sides.
#![expect(unsafe_code, reason = "the baseline is the system's own call, not a library's idea of it")]

use crate::subject::{Subject, c_strings};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// The libc crate lacks it.
const POSIX_SPAWN_SETSID: libc::c_short = 0x80;

/// Raises (or, with `false`, resets) the priority of this process and of its future children above all
/// others, so that neighbours do not count. Returns false if the system refuses.
pub(crate) fn ahead_of_neighbours(ahead: bool) -> bool {
    let (class, priority) = if ahead { (libc::SCHED_RR, 1) } else { (libc::SCHED_OTHER, 0) };
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter is read only.
    unsafe { libc::sched_setscheduler(0, class, &raw const param) == 0 }
}

/// A command that is prepared for repeated spawning.
pub(crate) struct Spawner {
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Spawner {
    pub(crate) fn new(subject: &Subject, args: &[&str]) -> io::Result<Self> {
        Ok(Self { argv: c_strings(&subject.words(args))?, env: c_strings(&subject.env)? })
    }

    /// Spawns the command into a session of its own, as the kernel may give each session its share of the
    /// machine, with `stdout` for standard output if one is given.
    pub(crate) fn spawn(&self, stdout: Option<BorrowedFd<'_>>) -> io::Result<Child> {
        let pointers = |list: &[CString]| -> Vec<*mut libc::c_char> {
            list.iter().map(|text| text.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
        };
        let (argv, env) = (pointers(&self.argv), pointers(&self.env));
        let mut attr = MaybeUninit::uninit();
        let mut actions = MaybeUninit::uninit();
        let mut pid = 0;
        // SAFETY: both are initialised before they are used and destroyed after; the lists end with a null and
        // outlive the call.
        let result = unsafe {
            libc::posix_spawnattr_init(attr.as_mut_ptr());
            libc::posix_spawnattr_setflags(attr.as_mut_ptr(), POSIX_SPAWN_SETSID);
            libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
            if let Some(stdout) = stdout {
                libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), stdout.as_raw_fd(), 1);
            }
            let program = self.argv[0].as_ptr();
            let (actions, attr) = (actions.as_mut_ptr(), attr.as_mut_ptr());
            let result = libc::posix_spawn(&raw mut pid, program, actions, attr, argv.as_ptr(), env.as_ptr());
            libc::posix_spawn_file_actions_destroy(actions);
            libc::posix_spawnattr_destroy(attr);
            result
        };
        match (result, Pid::from_raw(pid)) {
            (0, Some(pid)) => Ok(Child { pid, reaped: false }),
            (errno, _) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// A spawned child; dropped unwaited, it kills its group.
pub(crate) struct Child {
    pid: Pid,
    reaped: bool,
}

impl Child {
    /// Signals the child's group. The unreaped child keeps the number valid.
    #[expect(clippy::disallowed_methods, reason = "the baseline of a stop is the system's own call")]
    pub(crate) fn signal_group(&self, signal: i32) {
        let group = self.pid.as_raw_nonzero().get();
        assert!(group > 1 && !self.reaped, "group {group} is never signalled");
        // SAFETY: no memory is passed; the number names the group of our own unreaped child.
        unsafe { libc::kill(-group, signal) };
    }

    /// Waits until the child has ended.
    pub(crate) fn wait(mut self) -> io::Result<()> {
        waitpid(Some(self.pid), WaitOptions::empty())?;
        self.reaped = true;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(libc::SIGKILL);
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
    }
}
