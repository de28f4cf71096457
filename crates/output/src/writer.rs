//! Writes a run's output. A full disk never stops it: bytes that could not be kept are counted and marked, and the
//! output continues. It decides when a segment ends and which ones are dropped; `growing` writes one.

use crate::name;
use crate::segment_writer::{MAX_ENTRIES, SegmentWriter};
use crate::sizes::{self, Resized};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tenure_core::defaults;
use tenure_core::output::{Entry, Keep, Stream, Totals};
use tenure_core::spec::Size;
use tenure_os::filesystem;

/// Maximum size of a segment after the head.
const MAX_SEGMENT: u64 = 16 << 20;
/// Minimum size of a segment after the head, and of the tail: smaller segments would mean a file for every few
/// lines.
const MIN_SEGMENT: u64 = 64 << 10;
/// Pause after a disk took nothing.
const RETRY_MS: u64 = 10;

/// Intervals between two checks of the disk's free space: in bytes of output, and in time.
const SPACE_CHECK_BYTES: u64 = 64 << 10;
const SPACE_CHECK_MS: u64 = 1000;

/// The result of [`Writer::append`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last one.
    pub to: u64,
    /// The bytes that the disk did not take, up to the last of them.
    pub lost: Option<Range<u64>>,
}

/// A check of the disk's free space: its time, the output's end at that time, and the room for output.
#[derive(Debug, Clone, Copy)]
struct Look {
    at_ms: u64,
    offset: u64,
    room: u64,
}

/// The totals at one moment.
#[derive(Debug, Clone, Copy)]
struct Watermark {
    bytes: u64,
    entries: u64,
    lost: u64,
}

/// The only writer of a run's output.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    keep: Keep,
    segment: SegmentWriter,
    /// The totals at the start of each segment after the head, oldest first.
    tail: VecDeque<Watermark>,
    /// The number of entries in the segments before this one.
    entries: u64,
    lost: u64,
    dropped: u64,
    tried_at_ms: u64,
    looked: Option<Look>,
    last_output_at_ms: Option<u64>,
}

impl Writer {
    /// Creates the directory and an empty first segment in it. If that fails, everything is lost until it succeeds,
    /// as on a full disk: the run does not suffer.
    pub fn create(dir: &Path, keep: Keep) -> Self {
        let keep = Keep { tail: keep.tail.max(MIN_SEGMENT), ..keep };
        let mut writer = Self {
            dir: dir.to_owned(),
            keep,
            segment: make(dir, 0, keep).unwrap_or_else(|_| SegmentWriter::nowhere(dir)),
            tail: VecDeque::new(),
            entries: 0,
            lost: 0,
            dropped: 0,
            tried_at_ms: 0,
            looked: None,
            last_output_at_ms: None,
        };
        writer.enlist();
        writer
    }

    /// Appends bytes read from `stream` at `at_ms` (Unix milliseconds).
    pub fn append(&mut self, stream: Stream, bytes: &[u8], at_ms: u64) -> Appended {
        let from = self.segment.end();
        let mut rest = bytes;
        let mut lost = None;
        while !rest.is_empty() {
            let kept = self.keep(stream, rest, at_ms);
            if kept == 0 {
                let first = self.segment.end();
                self.segment.lose(stream, rest.len() as u64, at_ms);
                self.lost += rest.len() as u64;
                lost = Some(first..self.segment.end());
                break;
            }
            rest = &rest[kept..];
        }
        if !bytes.is_empty() {
            self.last_output_at_ms = Some(at_ms);
        }
        self.drop_old();
        Appended { from, to: self.segment.end(), lost }
    }

    /// Records a new size of the terminal, which applies to the bytes appended from now on.
    pub fn resized(&self, size: Size) {
        let resized = Resized { at: self.segment.end(), size };
        // Without the record, a screen made of the output has the earlier size; the run does not suffer.
        let _ = sizes::record(&self.dir, resized);
    }

    /// Returns the number of bytes that may be appended before one is dropped that a reader at `taken` still needs;
    /// never 0 for one who has read everything. Without such a reader there is no limit.
    pub fn room(&self, taken: Option<u64>) -> u64 {
        let Some(taken) = taken else { return u64::MAX };
        let now = self.now();
        // The next segment begins now at the earliest; every byte may be an entry.
        let next = self.tail.iter().skip(1).find(|next| next.bytes > taken).copied().unwrap_or(now);
        let bytes = self.keep.tail - (now.bytes - next.bytes);
        bytes.min(self.most_entries() - (now.entries - next.entries))
    }

    /// Returns the size of the output, and of the part that cannot be read any more.
    pub fn totals(&self) -> Totals {
        Totals { bytes: self.segment.end(), dropped_bytes: self.lost + self.dropped }
    }

    /// Returns the time of the last output.
    pub fn last_output_at_ms(&self) -> Option<u64> {
        self.last_output_at_ms
    }

    /// Writes the beginning of `bytes`, in a new segment if needed; returns its length.
    fn keep(&mut self, stream: Stream, bytes: &[u8], at_ms: u64) -> usize {
        let room = self.room_on_disk(bytes.len(), at_ms);
        if room == 0 {
            return 0;
        }
        let bytes = &bytes[..room];
        if self.segment.is_open() {
            return self.segment.keep(stream, bytes, at_ms);
        }
        if self.segment.is_cut() && at_ms.abs_diff(self.tried_at_ms) < RETRY_MS {
            return 0;
        }
        self.tried_at_ms = at_ms;
        let start = self.segment.end();
        let Ok(mut next) = make(&self.dir, start, self.keep) else { return 0 };
        let kept = next.keep(stream, bytes, at_ms);
        if kept == 0 {
            // Otherwise a disk that stays full would get a segment per append.
            name::remove(&self.dir, start);
            return 0;
        }
        self.entries += self.segment.entries();
        self.segment = next;
        self.enlist();
        kept
    }

    /// Returns how many of `len` bytes the disk has room for: the last space is for records. Checks the disk from
    /// time to time.
    fn room_on_disk(&mut self, len: usize, at_ms: u64) -> usize {
        let (end, more) = (self.segment.end(), len as u64);
        let is_fresh = |look: &Look| {
            // After a full disk, the next attempt to write checks again.
            let patience = if look.room > end - look.offset { SPACE_CHECK_MS } else { RETRY_MS };
            at_ms.abs_diff(look.at_ms) < patience && end + more - look.offset < SPACE_CHECK_BYTES
        };
        let look = self.looked.filter(is_fresh).unwrap_or_else(|| {
            // If the check fails, the writer just tries.
            let room = filesystem::space(&self.dir).map_or(u64::MAX, |(free, total)| {
                free.saturating_sub(defaults::OUTPUT_FREE_SPACE.min(total / 20))
            });
            Look { at_ms, offset: end, room }
        });
        self.looked = Some(look);
        let room = look.room.saturating_sub(end - look.offset);
        usize::try_from(room.min(more)).unwrap_or(len)
    }

    /// Notes the segment that has just begun, unless it is part of the head.
    fn enlist(&mut self) {
        let bytes = self.segment.start();
        if bytes >= self.keep.head {
            self.tail.push_back(Watermark { bytes, entries: self.entries, lost: self.lost });
        }
    }

    /// Drops the oldest segments after the head, as long as enough follows them.
    fn drop_old(&mut self) {
        let now = self.now();
        while let (Some(old), Some(next)) = (self.tail.front(), self.tail.get(1))
            && (now.bytes - next.bytes > self.keep.tail || now.entries - next.entries > self.most_entries())
        {
            name::remove(&self.dir, old.bytes);
            self.dropped += (next.bytes - old.bytes) - (next.lost - old.lost);
            self.tail.pop_front();
        }
    }

    /// Returns the maximum number of entries of the tail: the indexes may be as large as the tail itself, or as one
    /// full index.
    fn most_entries(&self) -> u64 {
        (self.keep.tail / Entry::SIZE as u64).max(MAX_ENTRIES)
    }

    fn now(&self) -> Watermark {
        Watermark {
            bytes: self.segment.end(),
            entries: self.entries + self.segment.entries(),
            lost: self.lost,
        }
    }
}

/// Creates a segment, and the directory if it is missing.
fn make(dir: &Path, start: u64, keep: Keep) -> io::Result<SegmentWriter> {
    if start == 0 || !dir.exists() {
        fs::create_dir(dir).or_else(|error| if dir.is_dir() { Ok(()) } else { Err(error) })?;
    }
    SegmentWriter::create(dir, start, segment_size(keep, start))
}

/// Returns the maximum size of the segment that begins at `start`: the rest of the head, or a small part of the
/// tail, so that little more than the tail is kept.
fn segment_size(keep: Keep, start: u64) -> u64 {
    match keep.head.checked_sub(start) {
        Some(rest) if rest > 0 => rest,
        _ => (keep.tail / 16).clamp(MIN_SEGMENT, MAX_SEGMENT),
    }
}
