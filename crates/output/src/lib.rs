//! A run's output on disk. The directory holds segments, two files each, named by the offset of their first
//! byte: `<offset>.log` is the raw bytes of all streams in the order of their arrival, `<offset>.idx` says
//! stretch by stretch where they came from and when (the format is `tenure_core::output`'s). The first segments
//! stay for good, of the others only the newest. Byte `n` stands at `n - <offset>` of its segment, always.
//! `sizes` says how large the terminal of a pty run was from which byte on. One process writes, any number read, at any time, without a lock.
#![forbid(unsafe_code)]

mod at;
mod clean;
mod growing;
mod name;
mod reader;
mod sizes;
mod stored;
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

/// What went wrong with the files. A disk that takes no more output is no error: see [`Appended::lost`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A later Tenure wrote the output.
    #[error("{path}: {source}")]
    Newer {
        /// The index.
        path: PathBuf,
        /// Its version.
        source: Newer,
    },
    /// The output could not be read.
    #[error("cannot read the output at {path}: {source}")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}
