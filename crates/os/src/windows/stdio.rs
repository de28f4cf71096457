//! What a run's command is connected to, both ends: the root's, which it gets, and ours, which never wait.

pub use super::pipe::{Sink, Source};
use super::pipe::{inbound, outbound, wait_any};
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::time::Duration;

/// Both ends of a run's standard input, output and error. Each of the root's ends is inherited by it alone.
#[derive(Debug)]
pub struct Stdio {
    theirs: [OwnedHandle; 3],
    ours: Ours,
}

/// Our ends, once the root has its own.
#[derive(Debug)]
pub struct Ours {
    /// To write to; `None` is an empty input.
    pub stdin: Option<Sink>,
    /// To read from.
    pub stdout: Source,
    /// To read from.
    pub stderr: Source,
}

impl Stdio {
    /// Pipes, with or without an input that can be written.
    pub fn pipes(stdin: bool) -> io::Result<Self> {
        let (sink, input) = outbound()?;
        let (stdout, output) = inbound()?;
        let (stderr, errors) = inbound()?;
        // An input whose other end is gone is an empty one.
        let stdin = stdin.then_some(sink);
        Ok(Self { theirs: [input, output, errors], ours: Ours { stdin, stdout, stderr } })
    }

    /// What the root gets.
    pub fn theirs(&self) -> [BorrowedHandle<'_>; 3] {
        self.theirs.each_ref().map(AsHandle::as_handle)
    }

    /// Gives up the root's ends: from now on an end of file is seen when the run lets go of its own.
    pub fn into_ours(self) -> Ours {
        self.ours
    }
}

/// Waits until one of these is set, or the time is up (`None`).
pub fn wait(handles: &[BorrowedHandle<'_>], patience: Duration) -> io::Result<Option<usize>> {
    wait_any(handles, u32::try_from(patience.as_millis()).unwrap_or(u32::MAX - 1))
}
