//! The standard streams of a run's command, both ends: the root's, and ours, which never block.

use crate::io_result::Got;
pub use crate::io_result::Put;
use crate::pty::Pty;
use crate::stdio::Ours;
use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use tenure_core::spec::Size;

/// Both ends of a run's standard input, output and error.
#[derive(Debug)]
pub enum Stdio {
    /// Three pipes.
    Pipes {
        /// The root reads the first end; we write the second, if it is ours. `None` is an empty input.
        stdin: Option<(OwnedFd, Option<Sink>)>,
        /// The root writes the first end; we read the second.
        stdout: (OwnedFd, Source),
        /// The root writes the first end; we read the second.
        stderr: (OwnedFd, Source),
    },
    /// A terminal, which becomes the controlling one of the root's session.
    Pty(Pty),
}

/// The standard input of another process, passed to this one. Its flags are never changed, because that process
/// shares them, as it does the offset.
#[derive(Debug)]
pub struct PassedInput(OwnedFd);

impl PassedInput {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl Stdio {
    /// Makes pipes, with or without an input that can be written.
    pub fn pipes(stdin: bool) -> io::Result<Self> {
        let stdin = if stdin {
            let (theirs, ours) = system::pipe()?;
            Some((theirs, Some(Sink(never_waiting(ours)?))))
        } else {
            None
        };
        Ok(Self::Pipes { stdin, stdout: output()?, stderr: output()? })
    }

    /// Makes pipes for the output alone: the input belongs to another process and is left as it is.
    pub fn reading(input: PassedInput) -> io::Result<Self> {
        Ok(Self::Pipes { stdin: Some((input.0, None)), stdout: output()?, stderr: output()? })
    }

    /// Opens a terminal of this size.
    pub fn pty(size: Size) -> io::Result<Self> {
        Ok(Self::Pty(Pty::open(size)?))
    }

    /// Closes the root's ends, so that we see an end of file when the run closes its own.
    pub fn into_ours(self) -> Ours {
        match self {
            Stdio::Pipes { stdin, stdout, stderr } => {
                Ours::Pipes { stdin: stdin.and_then(|(_, ours)| ours), stdout: stdout.1, stderr: stderr.1 }
            }
            Stdio::Pty(mut pty) => {
                pty.leave_to_root();
                Ours::Pty(pty)
            }
        }
    }
}

fn output() -> io::Result<(OwnedFd, Source)> {
    let (ours, theirs) = system::pipe()?;
    Ok((theirs, Source(never_waiting(ours)?)))
}

fn never_waiting(fd: OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    Ok(fd)
}

/// The end of a pipe that we read.
#[derive(Debug)]
pub struct Source(OwnedFd);

impl Source {
    /// Reads what is available.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        read(&self.0, buffer)
    }

    /// Raises the pipe's capacity, for a command that fills it. A refusal changes nothing.
    pub fn widen(&self, bytes: usize) {
        system::widen_pipe(&self.0, bytes);
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end of a pipe that we write.
#[derive(Debug)]
pub struct Sink(OwnedFd);

impl Sink {
    /// Writes what fits now.
    pub fn write(&self, bytes: &[u8]) -> Put {
        write(&self.0, bytes)
    }
}

impl AsFd for Sink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads what is available. A terminal reports the closing of its last slave as an error, which is its end of file.
pub(crate) fn read(fd: impl AsFd, buffer: &mut [u8]) -> Got {
    if buffer.is_empty() {
        return Got::Nothing;
    }
    match rustix::io::read(fd, buffer) {
        Ok(0) => Got::End,
        Ok(n) => Got::Bytes(n),
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(_) => Got::End,
    }
}

pub(crate) fn write(fd: impl AsFd, bytes: &[u8]) -> Put {
    match rustix::io::write(fd, bytes) {
        Ok(n) => Put::Bytes(n),
        Err(Errno::AGAIN | Errno::INTR) => Put::Bytes(0),
        Err(_) => Put::Closed,
    }
}
