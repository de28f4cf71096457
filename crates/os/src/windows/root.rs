//! The root of a run. As long as this value lives its handle is open, so its pid, and with it the number of the
//! group that it leads, cannot come to mean anything else: that is the proof for a group signal (I1).

use super::pty::Console;
use super::watch::Watch;
use super::{JobObject, windows_of};
use crate::process::{Process, Sent};
use std::io;
use std::os::windows::io::AsHandle;
use std::sync::Arc;
use tenure_core::ending::Exit;
use tenure_core::identity::Identity;
use tenure_core::signal::Signal;

/// A process that was started here, held open.
#[derive(Debug)]
pub struct Root {
    /// Must be dropped before the process, whose handle it watches.
    _watch: Watch,
    process: Process,
    job: Arc<JobObject>,
    console: Option<Arc<Console>>,
}

impl Root {
    pub(crate) fn new(
        process: Process,
        job: Arc<JobObject>,
        console: Option<Arc<Console>>,
    ) -> io::Result<Self> {
        Ok(Self { _watch: Watch::on(process.handle.as_handle())?, process, job, console })
    }

    /// Returns the root's identity.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Returns the root's pid.
    pub fn pid(&self) -> i32 {
        self.identity().pid
    }

    /// Returns the group that the root leads.
    pub fn group(&self) -> i32 {
        self.pid()
    }

    /// Returns the root's exit, if it has ended and can be read.
    pub fn exit(&self) -> Option<Exit> {
        super::exit_code(self.process.handle.as_handle()).ok().flatten().map(exit)
    }

    /// Asks all processes to exit, or kills the whole job. `TERM` is Ctrl-Break to the root's group, and closing
    /// the windows of processes that have some; `HUP` is closing their console. Nothing else can be sent.
    pub fn signal_group(&self, signal: Signal) -> Sent {
        if !self.job.is_occupied().unwrap_or(true) {
            return Sent::Gone;
        }
        let done = match (signal, &self.console) {
            (Signal::KILL, _) => self.job.terminate().is_ok(),
            (Signal::HUP, Some(console)) => {
                console.hang_up();
                true
            }
            (Signal::TERM, console) => {
                let closed = windows_of(&self.job.members().unwrap_or_default()).close() > 0;
                let broken = console.is_none() && super::break_group(self.pid().cast_unsigned()).is_ok();
                closed || broken
            }
            _ => false,
        };
        if done { Sent::Yes } else { Sent::Denied }
    }

    /// Releases the ended root. A root that has not ended is given back.
    pub fn reap(self) -> Result<Exit, Box<Self>> {
        match self.exit() {
            Some(exit) => Ok(exit),
            None => Err(Box::new(self)),
        }
    }
}

/// Translates an exit code. A process that we killed has no code of its own and is reported as killed.
pub(crate) fn exit(code: u32) -> Exit {
    match code {
        super::KILLED => Exit::Signal(Signal::KILL.0),
        code => Exit::Code(code.cast_signed()),
    }
}
