//! The segment that is being written. An entry is written first and its bytes second, so that no byte is ever on
//! disk without its origin; readers go by the true length of the log. The slot after the last entry is always on
//! disk already, so that a loss can be recorded when the disk is full.

use crate::{name, positional_io};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::output::{Entry, Stream, Stretch};

/// Size from which an entry takes no more bytes.
const STRETCH_BYTES: u64 = 64 << 10;
/// Age from which an entry takes no more bytes, because its time is that of its first byte.
const STRETCH_MS: u64 = 10;
/// Maximum number of entries in the index of a segment, besides one for a loss.
pub(crate) const MAX_ENTRIES: u64 = 256 << 10;

/// A blank block. The index grows by whole blocks: as a part of a larger write, ext4 makes each later entry ten
/// times as expensive.
static BLANK: [u8; 4096] = [0; 4096];

/// The segment, see the module.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    start: u64,
    limit: u64,
    /// The index; `None` if even that could not be created.
    index: Option<File>,
    log: Option<File>,
    log_path: PathBuf,
    /// The newest entry; with length zero, it is not written yet.
    last: Entry,
    slot: u64,
    reserved: u64,
}

impl SegmentWriter {
    /// Creates an empty segment for at most `size` bytes, or leaves nothing behind. The log is created with the
    /// first byte, so that a starting run waits for one file less.
    pub(crate) fn create(dir: &Path, start: u64, size: u64) -> io::Result<Self> {
        let mut segment = Self {
            start,
            limit: start.saturating_add(size),
            index: Some(File::create(name::index(dir, start))?),
            log: None,
            log_path: name::log(dir, start),
            last: Entry { offset: start, len: 0, at_ms: 0, stretch: Stretch::Kept(Stream::Stdout) },
            slot: 0,
            reserved: 0,
        };
        segment.reserve(0).inspect_err(|_| name::remove(dir, start))?;
        Ok(segment)
    }

    /// Makes a segment that is not on disk: it begins with a loss.
    pub(crate) fn nowhere(dir: &Path) -> Self {
        let last = Entry { offset: 0, len: 0, at_ms: 0, stretch: Stretch::Lost(Stream::Stdout) };
        let log_path = name::log(dir, 0);
        Self { start: 0, limit: 0, index: None, log: None, log_path, last, slot: 0, reserved: 0 }
    }

    /// Returns the offset of its first byte.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the offset where the output ends.
    pub(crate) fn end(&self) -> u64 {
        self.last.end()
    }

    /// Returns the number of its entries.
    pub(crate) fn entries(&self) -> u64 {
        self.slot + u64::from(self.last.len > 0)
    }

    /// Returns true if it ends with a loss. Bytes kept after that begin a new segment, because a log has no room
    /// for bytes that are not there.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.last.stretch, Stretch::Lost(_))
    }

    /// Returns true if it may grow.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_cut() && self.end() < self.limit && self.entries() < MAX_ENTRIES
    }

    /// Writes the beginning of `bytes`; returns its length: zero, if the disk takes nothing.
    pub(crate) fn keep(&mut self, stream: Stream, bytes: &[u8], at_ms: u64) -> usize {
        if !self.last_takes(stream, at_ms) {
            if self.reserve(self.entries() + 1).is_err() {
                return 0;
            }
            self.begin(Stretch::Kept(stream), at_ms);
        }
        let room = usize::try_from(self.limit - self.end()).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        let before = self.last;
        self.last.len += bytes.len() as u64;
        let kept = self.write_last().and_then(|()| self.write(bytes, before.end())).unwrap_or(0);
        if kept < bytes.len() {
            self.last.len = before.len + kept as u64;
            if self.last.len > 0 {
                // If this fails, the length of the log still tells.
                let _ = self.write_last();
            }
        }
        kept
    }

    /// Records that `len` bytes were lost here. However long the loss lasts, it is one entry, with the stream of
    /// its first byte.
    pub(crate) fn lose(&mut self, stream: Stream, len: u64, at_ms: u64) {
        if !self.is_cut() {
            self.begin(Stretch::Lost(stream), at_ms);
        }
        self.last.len += len;
        // If even this fails, the name of the next segment still tells.
        let _ = self.write_last();
    }

    fn last_takes(&self, stream: Stream, at_ms: u64) -> bool {
        self.last.stretch == Stretch::Kept(stream)
            && (1..STRETCH_BYTES).contains(&self.last.len)
            && at_ms.abs_diff(self.last.at_ms) < STRETCH_MS
    }

    fn begin(&mut self, stretch: Stretch, at_ms: u64) {
        self.slot = self.entries();
        self.last = Entry { offset: self.end(), len: 0, at_ms, stretch };
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let log = match &self.log {
            Some(log) => log,
            None => self.log.insert(File::create(&self.log_path)?),
        };
        positional_io::write(log, bytes, at - self.start)
    }

    fn write_last(&self) -> io::Result<()> {
        positional_io::write_all(self.index()?, &self.last.encode(), self.slot * Entry::SIZE as u64)
    }

    fn index(&self) -> io::Result<&File> {
        self.index.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Makes sure that `slot` can be written even if the disk is full by then.
    fn reserve(&mut self, slot: u64) -> io::Result<()> {
        let end = (slot + 1) * Entry::SIZE as u64;
        while self.reserved < end {
            positional_io::write_all(self.index()?, &BLANK, self.reserved)?;
            self.reserved += BLANK.len() as u64;
        }
        Ok(())
    }
}
