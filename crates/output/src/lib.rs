//! The output of a run on disk. The directory contains segments of two files each, named by the offset of their
//! first byte: `<offset>.log` has the raw bytes of all streams in the order of arrival, `<offset>.idx` has the
//! source and time of every stretch (the format is `tenure_core::output`'s). The first segments are never dropped;
//! of the others only the newest are kept. Byte `n` is at `n - <offset>` of its segment, always. `sizes` has the
//! sizes of a pty run's terminal, with the byte from which each applied. One process writes, any number read, at
//! any time, without a lock.
#![forbid(unsafe_code)]

mod clean;
mod name;
mod positional_io;
mod reader;
pub mod screen;
mod segment_reader;
mod segment_writer;
mod sizes;
mod tail;
pub mod text;
mod writer;

#[cfg(test)]
mod tests;

pub use clean::Cleaner;
pub use reader::{Piece, Reader, last_at_ms, totals};
pub use sizes::{Resized, present_size, sizes};
pub use tail::tail_offset;
pub use writer::{Appended, Writer};

use std::io;
use std::path::{Path, PathBuf};
use tenure_core::output::Newer;

/// An error of the files. A full disk is not an error: see [`Appended::lost`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A later Tenure wrote the output.
    #[error("{path}: {source}")]
    Newer {
        /// The index.
        path: PathBuf,
        /// The version.
        source: Newer,
    },
    /// The output could not be read.
    #[error("cannot read the output at {path}: {source}")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Error {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}
