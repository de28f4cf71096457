//! The names of a segment's files, and the segments in a directory.

use crate::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DIGITS: usize = 20;

/// Returns the file with the bytes of the segment that begins at `start`.
pub(crate) fn log(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:0DIGITS$}.log"))
}

/// Returns the file with its entries. It is created before the log and removed before it: if it exists, there is a
/// segment.
pub(crate) fn index(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:0DIGITS$}.idx"))
}

/// Removes a segment. A failure costs space, and is ignored.
pub(crate) fn remove(dir: &Path, start: u64) {
    let _ = fs::remove_file(index(dir, start));
    let _ = fs::remove_file(log(dir, start));
}

/// Returns the starts of a directory's segments, in order. A missing directory has none.
pub(crate) fn starts(dir: &Path) -> Result<Vec<u64>, Error> {
    let mut starts = Vec::new();
    let files = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(starts),
        other => other.map_err(Error::read(dir))?,
    };
    for file in files {
        let name = file.map_err(Error::read(dir))?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(".idx"));
        starts.extend(
            digits.filter(|digits| digits.len() == DIGITS).and_then(|digits| digits.parse::<u64>().ok()),
        );
    }
    starts.sort_unstable();
    Ok(starts)
}
