//! The standard streams of a run's command, both ends: the root's, and ours, which never block.

pub use crate::folder::stdio::*;

use crate::pty::Pty;

/// Our ends, once the root has its own.
#[derive(Debug)]
pub enum Ours {
    /// Three pipes.
    Pipes {
        /// The end that we write.
        stdin: Option<Sink>,
        /// The end that we read.
        stdout: Source,
        /// The end that we read.
        stderr: Source,
    },
    /// A terminal.
    Pty(Pty),
}
