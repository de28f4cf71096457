//! The later sizes of a run's terminal, with the byte of the output from which each applied. The file beside the
//! segments has entries of fixed size and ends with the first incomplete one. An entry is written before any byte
//! that follows it, so a reader of such a byte finds the entry.

use crate::positional_io;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::hash;
use tenure_core::spec::Size;

const NAME: &str = "sizes";
const ENTRY: usize = 16;
/// Maximum length of the file, so that hours of dragging a window do not fill the disk: beyond it, only the newest
/// size is kept.
const MAX_ENTRIES: usize = 64 << 10;

/// A terminal's size from an offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resized {
    /// The offset of the first byte that may have been written for this size.
    pub at: u64,
    /// The size.
    pub size: Size,
}

impl Resized {
    fn encode(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.at.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.size.cols.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.size.rows.to_le_bytes());
        let sum = checksum(&bytes[..12]);
        bytes[12..].copy_from_slice(&sum);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ENTRY] = bytes.try_into().ok()?;
        let [o0, o1, o2, o3, o4, o5, o6, o7, c0, c1, r0, r1, sum @ ..] = *bytes;
        if sum != checksum(&bytes[..12]) {
            return None;
        }
        let size = Size::new(u16::from_le_bytes([c0, c1]), u16::from_le_bytes([r0, r1])).ok()?;
        Some(Self { at: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]), size })
    }
}

/// Returns the sizes recorded for the output in this directory, in order. Unreadable ones are ignored, because a
/// screen of the wrong size is better than none.
pub fn sizes(dir: &Path) -> Vec<Resized> {
    let bytes = fs::read(path(dir)).unwrap_or_default();
    bytes.chunks(ENTRY).map_while(Resized::decode).collect()
}

/// Returns the present size of a terminal with output in this directory; `None` if it still has its first.
pub fn present_size(dir: &Path) -> Option<Size> {
    sizes(dir).last().map(|resized| resized.size)
}

/// Records a size. A failure affects the screen, not the run.
pub(crate) fn record(dir: &Path, resized: Resized) -> io::Result<()> {
    let known = sizes(dir);
    if known.last().is_some_and(|last| last.size == resized.size) {
        return Ok(());
    }
    let file = File::options().create(true).truncate(false).write(true).open(path(dir))?;
    positional_io::write_all(&file, &resized.encode(), (known.len().min(MAX_ENTRIES - 1) * ENTRY) as u64)
}

fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash = hash::fnv64(bytes);
    let [a, b, c, d, ..] = (hash ^ (hash >> 32)).to_le_bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(at: u64, cols: u16, rows: u16) -> Resized {
        Resized { at, size: Size { cols, rows } }
    }

    #[test]
    fn sizes_read_back_as_recorded_and_the_same_again_is_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(sizes(dir.path()), []);
        let two = [resized(0, 80, 24), resized(1 << 40, 65535, 1)];
        for one in [two[0], two[0], two[1]] {
            record(dir.path(), one).unwrap();
        }
        assert_eq!(sizes(dir.path()), two);
    }

    #[test]
    fn a_torn_entry_is_the_end_and_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), resized(1, 80, 24)).unwrap();
        for cut in 1..ENTRY {
            let mut bytes = resized(1, 80, 24).encode().to_vec();
            bytes.extend_from_slice(&resized(2, 90, 30).encode()[..cut]);
            fs::write(path(dir.path()), bytes).unwrap();
            assert_eq!(sizes(dir.path()), [resized(1, 80, 24)], "{cut}");
            record(dir.path(), resized(3, 70, 20)).unwrap();
            assert_eq!(sizes(dir.path()), [resized(1, 80, 24), resized(3, 70, 20)], "{cut}");
        }
    }

    #[test]
    fn the_file_stays_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let many: Vec<u8> = (0..MAX_ENTRIES as u64).flat_map(|at| resized(at, 80, 24).encode()).collect();
        fs::write(path(dir.path()), many).unwrap();
        record(dir.path(), resized(1 << 30, 99, 9)).unwrap();
        let all = sizes(dir.path());
        assert_eq!((all.len(), all.last().copied()), (MAX_ENTRIES, Some(resized(1 << 30, 99, 9))));
    }
}
