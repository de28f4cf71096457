//! The segment that is being written. An entry goes first and its bytes second, so that no byte is ever on disk
//! without its origin; readers go by what the log really holds. The slot after the last entry is always on disk
//! already: that there was no space left can be written down when there is none.

use crate::{at, name};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::output::{Entry, Stream, Stretch};

/// An entry takes no more bytes once it has this many.
const STRETCH_BYTES: u64 = 64 << 10;
/// Nor once it is this old: its time is that of its first byte.
const STRETCH_MS: u64 = 10;
/// The index of a segment holds this many entries, and one for a loss.
pub(crate) const MAX_ENTRIES: u64 = 256 << 10;

/// Space in the index is taken by the block: inside a larger write, ext4 makes each later entry ten times as
/// dear.
static BLANK: [u8; 4096] = [0; 4096];

/// See the module.
#[derive(Debug)]
pub(crate) struct Growing {
    start: u64,
    limit: u64,
    /// `None` if even that could not be made.
    index: Option<File>,
    log: Option<File>,
    log_path: PathBuf,
    /// The newest entry; without length, it is yet to be written.
    last: Entry,
    slot: u64,
    reserved: u64,
}

impl Growing {
    /// Makes an empty segment for at most `size` bytes, or leaves nothing behind. The log comes with the first
    /// byte, so that a run that is being started waits for one file less.
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

    /// A segment of which there is nothing on disk: it begins with a loss.
    pub(crate) fn nowhere(dir: &Path) -> Self {
        let last = Entry { offset: 0, len: 0, at_ms: 0, stretch: Stretch::Lost(Stream::Stdout) };
        let log_path = name::log(dir, 0);
        Self { start: 0, limit: 0, index: None, log: None, log_path, last, slot: 0, reserved: 0 }
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Where the output ends.
    pub(crate) fn end(&self) -> u64 {
        self.last.end()
    }

    /// How many entries it has.
    pub(crate) fn entries(&self) -> u64 {
        self.slot + u64::from(self.last.len > 0)
    }

    /// Whether it ends with a loss. What is kept after that begins a new segment: in a log there is no room for
    /// bytes that are not there.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.last.stretch, Stretch::Lost(_))
    }

    /// Whether it may hold more.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_cut() && self.end() < self.limit && self.entries() < MAX_ENTRIES
    }

    /// Keeps the beginning of `bytes` and says how much that is: nothing, if the disk takes nothing.
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
                // Should this fail, the length of the log still tells.
                let _ = self.write_last();
            }
        }
        kept
    }

    /// Writes down that `len` bytes were lost here. However long the loss goes on, this is one entry, and it
    /// names the stream of its first byte.
    pub(crate) fn lose(&mut self, stream: Stream, len: u64, at_ms: u64) {
        if !self.is_cut() {
            self.begin(Stretch::Lost(stream), at_ms);
        }
        self.last.len += len;
        // Should even this fail, the name of the next segment still tells.
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
        at::write(log, bytes, at - self.start)
    }

    fn write_last(&self) -> io::Result<()> {
        at::write_all(self.index()?, &self.last.encode(), self.slot * Entry::SIZE as u64)
    }

    fn index(&self) -> io::Result<&File> {
        self.index.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Sees to it that `slot` can be written even if the disk is full by then.
    fn reserve(&mut self, slot: u64) -> io::Result<()> {
        let end = (slot + 1) * Entry::SIZE as u64;
        while self.reserved < end {
            at::write_all(self.index()?, &BLANK, self.reserved)?;
            self.reserved += BLANK.len() as u64;
        }
        Ok(())
    }
}
