//! Fork, exec and exit. The actor has one thread, so a forked child can run any code.

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;

pub(crate) enum Forked {
    Parent(Pid),
    Child,
}

pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: the process has one thread, so no lock can be held by a thread that the child lacks.
    match unsafe { libc::fork() } {
        // First, because `Pid::from_raw` panics on -1.
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent)),
    }
}

/// Ends this process without its exit handlers: those belong to the process that it was forked from.
pub(crate) fn quit(code: i32) -> ! {
    // SAFETY: `_exit` has no precondition.
    unsafe { libc::_exit(code) }
}

/// Waits for a child and returns its code as a shell would. With SIGCHLD ignored the code is lost and taken for 0.
pub(crate) fn wait(child: Pid) -> io::Result<i32> {
    match rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty())) {
        Ok(Some((_, status))) => {
            Ok(status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(0))
        }
        Ok(None) | Err(rustix::io::Errno::CHILD) => Ok(0),
        Err(errno) => Err(errno.into()),
    }
}

/// Executes a new actor with `words` as its command line, no environment, and the descriptors of `kept`.
/// Unlike `Command::exec` this leaves signal mask and dispositions unchanged.
pub(crate) fn exec_bare(words: Vec<String>, kept: &[BorrowedFd<'_>]) -> io::Result<i32> {
    for fd in kept {
        fcntl_setfd(fd, FdFlags::empty())?;
    }
    let words = words.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
    let mut argv: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    argv.push(std::ptr::null());
    let envp = [std::ptr::null()];
    // SAFETY: both arrays end with a null, and the strings they point to outlive the call.
    unsafe { libc::execve(c"/proc/self/exe".as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    Err(io::Error::last_os_error())
}
