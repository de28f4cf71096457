//! The root between its fork and its `execve`: system calls only, no memory, no locks.

use crate::fork::Alone;
use crate::pause;
use crate::process::Process;
use crate::root::Root;
use crate::spawn::{Failure, Plan, Step};
use crate::stdio::Stdio;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Everything the root needs, made before the fork.
pub(crate) struct Child<'a> {
    plan: &'a Plan,
    stdio: &'a Stdio,
    null: OwnedFd,
    gate: BorrowedFd<'a>,
    /// The keeper's end of the gate: a copy of it in the root would keep the gate from ever closing.
    gate_keeper: BorrowedFd<'a>,
    report: BorrowedFd<'a>,
    parent: i32,
    argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    /// For a script without an interpreter line: the shell, a place for the script, its arguments.
    script_argv: Vec<*const libc::c_char>,
}

/// Puts a forked process into a cgroup; the constant of the libc crate is 32 bits wide and so becomes zero.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

impl<'a> Child<'a> {
    pub(crate) fn prepare(
        plan: &'a Plan,
        stdio: &'a Stdio,
        (gate, gate_keeper): (&'a OwnedFd, &'a OwnedFd),
        report: &'a OwnedFd,
    ) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, open};
        let pointers = |list: &[CString]| -> Vec<_> {
            list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let argv = pointers(&plan.argv);
        let script_argv =
            [c"/bin/sh".as_ptr(), ptr::null()].into_iter().chain(argv[1..].iter().copied()).collect();
        Ok(Self {
            plan,
            stdio,
            null: open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?,
            gate: gate.as_fd(),
            gate_keeper: gate_keeper.as_fd(),
            report: report.as_fd(),
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            env: pointers(&plan.env),
            argv,
            script_argv,
        })
    }

    /// What the root does. Returns only what went wrong.
    fn run(&self) -> Failure {
        match self.set_up() {
            Ok(()) => self.execute(),
            Err(failure) => failure,
        }
    }

    fn set_up(&self) -> Result<(), Failure> {
        // SAFETY: nobody uses this number in the child, which leaves without dropping anything.
        unsafe { libc::close(self.gate_keeper.as_raw_fd()) };
        rustix::process::setsid().map_err(at(Step::Session))?;
        self.connect()?;
        // If the keeper dies, so does the root; and if it died before this call, that shows in the parent.
        let kill = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(kill).map_err(at(Step::Parent))?;
        if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(self.parent) {
            return Err(Failure { step: Step::Parent, errno: Errno::SRCH });
        }
        pause::point("root-before-gate");
        self.wait_at_gate()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(self.plan.umask));
        crate::descriptors::set_limit(self.plan.nofile);
        rustix::process::chdir(self.plan.cwd.as_c_str()).map_err(at(Step::Chdir))?;
        pause::point("root-before-exec");
        reset_signals();
        close_on_exec().map_err(at(Step::Stdio))?;
        self.bound()
    }

    /// Last, since these bind this process too.
    fn bound(&self) -> Result<(), Failure> {
        for &(resource, value) in &self.plan.rlimits {
            let limit = rustix::process::Rlimit { current: Some(value), maximum: Some(value) };
            rustix::process::setrlimit(resource, limit).map_err(at(Step::Limits))?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<(), Failure> {
        let failed = at(Step::Stdio);
        match self.stdio {
            Stdio::Pipes { stdin, stdout, stderr } => {
                let stdin = stdin.as_ref().map_or(&self.null, |(theirs, _)| theirs);
                rustix::stdio::dup2_stdin(stdin).map_err(&failed)?;
                rustix::stdio::dup2_stdout(&stdout.0).map_err(&failed)?;
                rustix::stdio::dup2_stderr(&stderr.0).map_err(&failed)
            }
            Stdio::Pty(pty) => {
                let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
                let slave =
                    rustix::pty::ioctl_tiocgptpeer(pty.master(), flags).map_err(at(Step::Terminal))?;
                rustix::process::ioctl_tiocsctty(&slave).map_err(at(Step::Terminal))?;
                rustix::stdio::dup2_stdin(&slave).map_err(&failed)?;
                rustix::stdio::dup2_stdout(&slave).map_err(&failed)?;
                rustix::stdio::dup2_stderr(&slave).map_err(&failed)
            }
        }
    }

    /// The keeper opens the gate with one byte; a gate that closes without it means that there will be no run.
    fn wait_at_gate(&self) -> Result<(), Failure> {
        loop {
            match rustix::io::read(self.gate, &mut [0; 1]) {
                Ok(1) => return Ok(()),
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return Err(Failure { step: Step::Parent, errno: Errno::SRCH }),
            }
        }
    }

    /// Tries each candidate, as `execvp` does.
    fn execute(&self) -> Failure {
        let mut worst = Errno::NOENT;
        for program in &self.plan.programs {
            let errno = exec(program.as_ptr(), &self.argv, &self.env);
            match errno {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => worst = errno,
                Errno::NOEXEC => return self.execute_script(program),
                _ => return Failure { step: Step::Exec, errno },
            }
        }
        Failure { step: Step::Exec, errno: worst }
    }

    fn execute_script(&self, script: &CString) -> Failure {
        let words = self.script_argv.as_ptr().cast_mut();
        // SAFETY: the list has a place for the script at index one, and this process is the only one to use it.
        unsafe { *words.add(1) = script.as_ptr() };
        Failure { step: Step::Exec, errno: exec(self.script_argv[0], &self.script_argv, &self.env) }
    }
}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { step, errno }
}

fn exec(program: *const libc::c_char, argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> Errno {
    // SAFETY: both lists end with a null, and what they point to outlives the call, which returns only on error.
    unsafe { libc::execve(program, argv.as_ptr(), env.as_ptr()) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// What Tenure itself must not die of: a reader that is gone, and the caller's limits of file size and CPU time.
const IGNORED: [libc::c_int; 3] = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGXCPU];

/// A new program begins with no signal blocked and none ignored: the nursery put all but a few on their default
/// before it forked the first keeper.
fn reset_signals() {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by sigemptyset; a default disposition installs no handler.
    unsafe {
        for number in IGNORED {
            libc::signal(number, libc::SIG_DFL);
        }
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

fn close_on_exec() -> Result<(), Errno> {
    // SAFETY: marks descriptors; nothing is closed before the program that does not know them begins.
    match unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Puts every signal on its default but those that are ignored while Tenure runs.
pub(crate) fn default_signals() {
    for number in 1..=64 {
        dispose(number, if IGNORED.contains(&number) { libc::SIG_IGN } else { libc::SIG_DFL });
    }
}

/// Asks the kernel itself: the C library refuses to set its own two signals, which its `posix_spawn` leaves ignored.
fn dispose(number: libc::c_int, disposition: libc::sighandler_t) {
    // The kernel's structure begins with the disposition; flags, restorer and mask are none.
    let action: [usize; 4] = [disposition, 0, 0, 0];
    let none = ptr::null_mut::<usize>();
    // SAFETY: the structure is at least as long as the kernel's, with a mask of eight bytes, and is only read;
    // neither disposition installs a handler; a number that cannot be set is refused.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, number, action.as_ptr(), none, 8) };
}

/// Forks the root. The child never returns from here.
pub(crate) fn fork_root(
    _alone: &Alone,
    child: &Child<'_>,
    cgroup: Option<BorrowedFd<'_>>,
) -> io::Result<Root> {
    let mut pidfd: libc::c_int = -1;
    // SAFETY: all zeroes are valid arguments: a plain fork.
    let mut args: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    args.flags = libc::CLONE_PIDFD as u64;
    args.pidfd = (&raw mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd().cast_unsigned().into();
    }
    // SAFETY: like fork(2) in a process of one thread: the child gets its own copy of everything, and until it
    // executes or exits it makes system calls only.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) };
    if pid == 0 {
        let failure = child.run();
        // Nobody is left to be told if this write fails.
        let _ = rustix::io::write(child.report, &failure.encode());
        // SAFETY: ends the child without running anything of its parent's.
        unsafe { libc::_exit(127) };
    }
    let pid = i32::try_from(super::check(pid)?).map_err(io::Error::other)?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let process = Process::hold(pidfd, pid)?;
    process.map(Root::new).ok_or_else(|| io::Error::other("the root cannot be found in /proc"))
}
