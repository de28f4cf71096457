//! The root of a run. As long as this value lives its handle is open, so its pid, and with it the number of the group that
//! it leads, cannot come to mean anybody else: that is the proof for a stroke at the group (I1).

use crate::job::Job;
use crate::process::{Process, Sent};
use std::io;
use std::os::windows::io::AsHandle;
use std::time::Duration;
use tenure_core::ending::Exit;
use tenure_core::identity::Identity;
use tenure_core::signal::Signal;

/// A process that was started here, held open.
#[derive(Debug)]
pub struct Root {
    process: Process,
}

impl Root {
    pub(crate) fn new(process: Process) -> Self {
        Self { process }
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.identity().pid
    }

    /// How it ended, if it has; an error is "that cannot be told", never an exit.
    pub fn exit(&self) -> io::Result<Option<Exit>> {
        Ok(super::exit_code(self.process.handle.as_handle())?.map(exit))
    }

    /// Waits for its end; `false` if that has not come in time.
    pub fn wait(&self, patience: Duration) -> io::Result<bool> {
        let ms = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX - 1);
        super::wait_for_end(self.process.handle.as_handle(), ms)
    }

    /// Asks its group to leave (SIGTERM is Ctrl-Break here), or kills the whole job. Nothing else can be sent.
    pub fn signal_group(&self, signal: Signal, job: &Job) -> Sent {
        if !job.is_occupied() {
            return Sent::Gone;
        }
        let done = match signal {
            Signal::KILL => job.kill(),
            Signal::TERM => super::break_group(self.pid().cast_unsigned()),
            _ => return Sent::Denied,
        };
        match done {
            Ok(()) => Sent::Yes,
            Err(_) => Sent::Denied,
        }
    }
}

/// Whom we killed has no code of its own: it is told as what it is, not as a number that we made up.
fn exit(code: u32) -> Exit {
    match code {
        super::KILLED => Exit::Signal(Signal::KILL.0),
        code => Exit::Code(code.cast_signed()),
    }
}
