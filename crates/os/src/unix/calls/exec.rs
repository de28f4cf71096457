//! The root between its fork and its `execve`: system calls only, no memory, no locks.

use crate::spawn::{Failure, Plan, Step};
use crate::stdio::Stdio;
use crate::{pause, system};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::ptr;

/// Everything that the root needs, prepared before the fork.
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
    /// For a script without an interpreter line: the shell, a slot for the script, and its arguments.
    script_argv: Vec<*const libc::c_char>,
}

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

    /// Runs in the root's own process, and never returns. A failure is reported, and that is all.
    pub(crate) fn run(&self) -> ! {
        let failure = match self.set_up() {
            Ok(()) => self.execute(),
            Err(failure) => failure,
        };
        // Nobody is left to tell if this write fails.
        let _ = rustix::io::write(self.report, &failure.encode());
        // SAFETY: ends the child without the exit handlers of its parent.
        unsafe { libc::_exit(127) }
    }

    fn set_up(&self) -> Result<(), Failure> {
        // SAFETY: this number is unused in the child, which exits without dropping anything.
        unsafe { libc::close(self.gate_keeper.as_raw_fd()) };
        rustix::process::setsid().map_err(at(Step::Session))?;
        self.connect()?;
        // If the keeper dies, the root dies too, where the system supports that; a keeper that died before this
        // call is noticed by the changed parent.
        system::die_with_parent().map_err(at(Step::Parent))?;
        if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(self.parent) {
            return Err(Failure { step: Step::Parent, errno: Errno::SRCH });
        }
        pause::point("root-before-gate");
        self.wait_at_gate()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(system::mode(self.plan.umask)));
        crate::descriptors::set_limit(self.plan.nofile);
        rustix::process::chdir(self.plan.cwd.as_c_str()).map_err(at(Step::Chdir))?;
        pause::point("root-before-exec");
        system::reset_signals();
        system::close_on_exec().map_err(at(Step::Stdio))?;
        self.bound()
    }

    /// Sets the rlimits. This comes last, because they apply to this process too.
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
                let slave = pty.open_slave().map_err(at(Step::Terminal))?;
                rustix::process::ioctl_tiocsctty(&slave).map_err(at(Step::Terminal))?;
                rustix::stdio::dup2_stdin(&slave).map_err(&failed)?;
                rustix::stdio::dup2_stdout(&slave).map_err(&failed)?;
                rustix::stdio::dup2_stderr(&slave).map_err(&failed)
            }
        }
    }

    /// Waits at the gate. The keeper opens it with one byte; if it closes without one, there will be no run.
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
        // SAFETY: the list has a slot for the script at index one, and only this process uses it.
        unsafe { *words.add(1) = script.as_ptr() };
        Failure { step: Step::Exec, errno: exec(self.script_argv[0], &self.script_argv, &self.env) }
    }
}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { step, errno }
}

fn exec(program: *const libc::c_char, argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> Errno {
    // SAFETY: both lists end with a null, and their strings outlive the call, which returns only on error.
    unsafe { libc::execve(program, argv.as_ptr(), env.as_ptr()) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
