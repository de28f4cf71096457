//! The first process of a pid namespace: it makes pids scarce, starts an experiment and reaps until that has ended.

use std::os::fd::AsFd;
use std::process::{Command, ExitCode};
use tenure_core::ending::Exit;
use tenure_os::fork::SingleThread;
use tenure_os::poll::{self, Interest};
use tenure_os::reaper;
use tenure_os::signals::{self, Signals};

/// Below this number no pid is reused: the kernel keeps the first 300 for the first processes.
const RESERVED: i32 = 300;

#[expect(clippy::zombie_processes, reason = "everybody is reaped below")]
#[expect(clippy::disallowed_methods, reason = "a laboratory starts its own experiment")]
pub(crate) fn main(pid_max: &str, words: &[&str]) -> ExitCode {
    assert_eq!(std::process::id(), 1, "this is for the first process of a namespace");
    std::fs::write("/proc/sys/kernel/pid_max", pid_max)
        .expect("a kernel whose pid namespaces have a pid_max");
    let signals = Signals::take(&[signals::CHILD]).expect("a signal queue");
    let experiment = Command::new("/proc/self/exe").args(words).spawn().expect("lab starts");
    let experiment = experiment.id().cast_signed();
    loop {
        if let Some(ended) = reaper::reap_now().into_iter().find(|ended| ended.pid == experiment) {
            return match ended.exit {
                Exit::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
                Exit::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
            };
        }
        let interest = Interest { on: signals.as_fd(), read: true, write: false };
        poll::wait(&[interest], None).expect("a wait");
        while signals.next().is_some() {}
    }
}

/// Uses up pids until only reused ones are left.
pub(crate) fn use_up_pids(alone: &SingleThread) {
    while crate::stranger::fork_and_reap(alone) < RESERVED {}
}
