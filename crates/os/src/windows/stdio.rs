//! What a run's command is connected to, both ends: the root's, which it gets, and ours, which never wait.

pub use super::pipe::{Sink, Source};
use super::pipe::{inbound, outbound};
use super::pty::Pty;
pub use crate::flow::Put;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use tenure_core::spec::Size;

/// Both ends of a run's standard input, output and error. Each of the root's ends is inherited by it alone.
#[derive(Debug)]
pub enum Stdio {
    /// Three pipes.
    Pipes {
        /// The root reads here and we write there; without us it is an empty input.
        stdin: (OwnedHandle, Option<Sink>),
        /// The root writes here and we read there.
        stdout: (OwnedHandle, Source),
        /// The root writes here and we read there.
        stderr: (OwnedHandle, Source),
    },
    /// A pseudo-console.
    Pty(Pty),
}

/// Our ends, once the root has its own.
#[derive(Debug)]
pub enum Ours {
    /// Of three pipes.
    Pipes {
        /// To write to.
        stdin: Option<Sink>,
        /// To read from.
        stdout: Source,
        /// To read from.
        stderr: Source,
    },
    /// Of a pseudo-console.
    Pty(Pty),
}

/// The standard input of another process, which was passed to this one. Here that is not done: a console and an
/// overlapped pipe mean something else in another process, so callers copy their input.
#[derive(Debug, Clone, Copy)]
pub enum PassedInput {}

impl Stdio {
    /// Pipes, with or without an input that can be written.
    pub fn pipes(stdin: bool) -> io::Result<Self> {
        let (sink, input) = outbound()?;
        let (stdout, output) = inbound()?;
        let (stderr, errors) = inbound()?;
        Ok(Self::Pipes {
            // An input whose other end is gone is an empty one.
            stdin: (input, stdin.then_some(sink)),
            stdout: (output, stdout),
            stderr: (errors, stderr),
        })
    }

    /// Pipes for the output alone. Here no input is passed.
    pub fn reading(input: PassedInput) -> io::Result<Self> {
        match input {}
    }

    /// A terminal of this size.
    pub fn pty(size: Size) -> io::Result<Self> {
        Ok(Self::Pty(Pty::open(size)?))
    }

    /// What the root gets: nothing of ours in a pseudo-console.
    pub(crate) fn theirs(&self) -> Option<[BorrowedHandle<'_>; 3]> {
        match self {
            Stdio::Pipes { stdin, stdout, stderr } => {
                Some([stdin.0.as_handle(), stdout.0.as_handle(), stderr.0.as_handle()])
            }
            Stdio::Pty(_) => None,
        }
    }

    /// Gives up the root's ends: from now on an end of file is seen when the run lets go of its own.
    pub fn into_ours(self) -> Ours {
        match self {
            Stdio::Pipes { stdin, stdout, stderr } => {
                Ours::Pipes { stdin: stdin.1, stdout: stdout.1, stderr: stderr.1 }
            }
            Stdio::Pty(pty) => Ours::Pty(pty),
        }
    }
}
