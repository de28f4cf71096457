//! The standard streams of a run's command, both ends: the root's, and ours, which never block.

pub use super::pipe::{Sink, Source};
use super::pipe::{inbound, outbound};
use super::pty::Pty;
pub use crate::io_result::Put;
use crate::stdio::Ours;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use tenure_core::spec::Size;

/// Both ends of a run's standard input, output and error. Only the root inherits its ends.
#[derive(Debug)]
pub enum Stdio {
    /// Three pipes.
    Pipes {
        /// The root reads the first end; we write the second. Without the second, it is an empty input.
        stdin: (OwnedHandle, Option<Sink>),
        /// The root writes the first end; we read the second.
        stdout: (OwnedHandle, Source),
        /// The root writes the first end; we read the second.
        stderr: (OwnedHandle, Source),
    },
    /// A pseudo-console.
    Pty(Pty),
}

/// The standard input of another process, passed to this one. That never happens here: a console and an overlapped
/// pipe mean something else in another process, so callers copy their input.
#[derive(Debug, Clone, Copy)]
pub enum PassedInput {}

impl Stdio {
    /// Makes pipes, with or without an input that can be written.
    pub fn pipes(stdin: bool) -> io::Result<Self> {
        let (sink, input) = outbound()?;
        let (stdout, output) = inbound()?;
        let (stderr, errors) = inbound()?;
        Ok(Self::Pipes {
            // An input whose other end is closed is an empty one.
            stdin: (input, stdin.then_some(sink)),
            stdout: (output, stdout),
            stderr: (errors, stderr),
        })
    }

    /// Makes pipes for the output alone. No input is passed here.
    pub fn reading(input: PassedInput) -> io::Result<Self> {
        match input {}
    }

    /// Opens a terminal of this size.
    pub fn pty(size: Size) -> io::Result<Self> {
        Ok(Self::Pty(Pty::open(size)?))
    }

    /// Returns the root's handles; none of ours in a pseudo-console.
    pub(crate) fn theirs(&self) -> Option<[BorrowedHandle<'_>; 3]> {
        match self {
            Stdio::Pipes { stdin, stdout, stderr } => {
                Some([stdin.0.as_handle(), stdout.0.as_handle(), stderr.0.as_handle()])
            }
            Stdio::Pty(_) => None,
        }
    }

    /// Closes the root's ends, so that we see an end of file when the run closes its own.
    pub fn into_ours(self) -> Ours {
        match self {
            Stdio::Pipes { stdin, stdout, stderr } => {
                Ours::Pipes { stdin: stdin.1, stdout: stdout.1, stderr: stderr.1 }
            }
            Stdio::Pty(pty) => Ours::Pty(pty),
        }
    }
}
