//! The format of a run's output on disk: raw bytes in segment files and, beside each, fixed-size entries that give
//! the source and time of every stretch of bytes. Offsets are those of the merged output and never change. The
//! `output` crate reads and writes the files.

use crate::hash;
use serde::{Deserialize, Serialize};

/// The version of the segment files.
pub const VERSION: u8 = 1;

/// The source of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Standard output, or the terminal of a pty run.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The content of one stretch of the merged output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// Bytes of this stream, in the segment file.
    Kept(Stream),
    /// Bytes that could not be written because the disk was full; the first of them came from this stream.
    Lost(Stream),
}

/// An entry that a later Tenure wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the output has version {found}, this Tenure reads up to {VERSION}: use the newer Tenure that wrote it"
)]
pub struct Newer {
    /// The version of the entry.
    pub found: u8,
}

/// An entry of the index: a stretch of the merged output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The offset of the first byte.
    pub offset: u64,
    /// The length.
    pub len: u64,
    /// The time when the first byte was read, in Unix milliseconds.
    pub at_ms: u64,
    /// The content.
    pub stretch: Stretch,
}

impl Entry {
    /// The size of an entry on disk.
    pub const SIZE: usize = 32;

    /// Returns the offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// Encodes the entry for the disk: offset, length, time, kind, version, two zero bytes, checksum.
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes[24] = match self.stretch {
            Stretch::Kept(Stream::Stdout) => 1,
            Stretch::Kept(Stream::Stderr) => 2,
            Stretch::Lost(Stream::Stdout) => 3,
            Stretch::Lost(Stream::Stderr) => 4,
        };
        bytes[25] = VERSION;
        let sum = checksum(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum);
        bytes
    }

    /// Decodes an entry; `None` is the end of the index: never written, or torn by a crash.
    pub fn decode(bytes: &[u8; Self::SIZE]) -> Result<Option<Self>, Newer> {
        let whole = bytes[28..32] == checksum(&bytes[..28]);
        match bytes[25] {
            found if whole && found > VERSION => Err(Newer { found }),
            VERSION if whole => Ok(Self::decode_whole(bytes)),
            _ => Ok(None),
        }
    }

    fn decode_whole(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let stretch = match bytes[24] {
            1 => Stretch::Kept(Stream::Stdout),
            2 => Stretch::Kept(Stream::Stderr),
            3 => Stretch::Lost(Stream::Stdout),
            4 => Stretch::Lost(Stream::Stderr),
            _ => return None,
        };
        Some(Self { offset: word(0), len: word(8), at_ms: word(16), stretch })
    }
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash = hash::fnv64(bytes);
    let folded = hash ^ (hash >> 32);
    let mut sum = [0; 4];
    sum.copy_from_slice(&folded.to_le_bytes()[..4]);
    sum
}

/// The amount of a run's output that is kept on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Keep {
    /// The number of first bytes, which are never dropped.
    pub head: u64,
    /// The number of last bytes.
    pub tail: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { head: crate::defaults::OUTPUT_HEAD, tail: crate::defaults::OUTPUT_TAIL }
    }
}

/// The size of a run's output, and of the part that is not on disk, or not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// The number of all bytes.
    pub bytes: u64,
    /// The number of bytes that cannot be read any more.
    pub dropped_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            offset: 1 << 40,
            len: 65536,
            at_ms: 1_700_000_000_000,
            stretch: Stretch::Kept(Stream::Stderr),
        }
    }

    #[test]
    fn an_entry_reads_back_as_written() {
        for stretch in [
            Stretch::Kept(Stream::Stdout),
            Stretch::Kept(Stream::Stderr),
            Stretch::Lost(Stream::Stdout),
            Stretch::Lost(Stream::Stderr),
        ] {
            let entry = Entry { stretch, ..entry() };
            assert_eq!(Entry::decode(&entry.encode()), Ok(Some(entry)));
        }
    }

    #[test]
    fn an_entry_never_written_is_the_end() {
        assert_eq!(Entry::decode(&[0; Entry::SIZE]), Ok(None));
    }

    #[test]
    fn an_entry_of_a_newer_version_is_refused() {
        let mut bytes = entry().encode();
        bytes[25] = VERSION + 1;
        let sum = checksum(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum);
        assert_eq!(Entry::decode(&bytes), Err(Newer { found: VERSION + 1 }));
    }

    #[test]
    fn a_torn_entry_is_the_end() {
        for at in 0..Entry::SIZE {
            let mut bytes = entry().encode();
            bytes[at] ^= 0x10;
            assert_eq!(Entry::decode(&bytes), Ok(None), "byte {at}");
        }
    }
}
