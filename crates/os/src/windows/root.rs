//! The root of a run. As long as this value lives its handle is open, so its pid, and with it the number of the group that
//! it leads, cannot come to mean anybody else: that is the proof for a stroke at the group (I1).

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
    /// Before the process, whose handle it watches.
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

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.identity().pid
    }

    /// The group that it leads.
    pub fn group(&self) -> i32 {
        self.pid()
    }

    /// How it ended, if it has. What cannot be told is no exit.
    pub fn exit(&self) -> Option<Exit> {
        super::exit_code(self.process.handle.as_handle()).ok().flatten().map(exit)
    }

    /// Asks everybody to leave, or kills the whole job. `TERM` is Ctrl-Break to the root's group, and the closing of their
    /// windows for those who have some; `HUP` is the closing of the console that they are in. Nothing else can be sent.
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

    /// Lets go of the ended root. One that has not ended is given back.
    pub fn reap(self) -> Result<Exit, Box<Self>> {
        match self.exit() {
            Some(exit) => Ok(exit),
            None => Err(Box::new(self)),
        }
    }
}

/// Whom we killed has no code of its own: it is told as what it is, not as a number that we made up.
pub(crate) fn exit(code: u32) -> Exit {
    match code {
        super::KILLED => Exit::Signal(Signal::KILL.0),
        code => Exit::Code(code.cast_signed()),
    }
}
