//! Writes a run's output. A disk that takes nothing never stops it: what could not be kept is counted and
//! marked, and the output goes on. It decides when a segment ends and which are dropped; `growing` writes one.

use crate::growing::{Growing, MAX_ENTRIES};
use crate::name;
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

/// A segment after the head holds at most this much.
const MAX_SEGMENT: u64 = 16 << 20;
/// And at least this much, which is also the shortest tail: less would be a file for every few lines.
const MIN_SEGMENT: u64 = 64 << 10;
/// How long a disk that took nothing is left alone.
const RETRY_MS: u64 = 10;

/// Intervals between two checks of the disk's free space: in bytes of output, and in time.
const LOOK_BYTES: u64 = 64 << 10;
const LOOK_MS: u64 = 1000;

/// What became of the bytes given to [`Writer::append`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last one.
    pub to: u64,
    /// Those that the disk did not take, up to the last.
    pub lost: Option<Range<u64>>,
}

/// A check of the disk's free space: its time, the output's end at that time, and the room for output.
#[derive(Debug, Clone, Copy)]
struct Look {
    at_ms: u64,
    offset: u64,
    room: u64,
}

/// How much there was at some moment.
#[derive(Debug, Clone, Copy)]
struct Mark {
    bytes: u64,
    entries: u64,
    lost: u64,
}

/// The one writer of a run's output.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    keep: Keep,
    segment: Growing,
    /// What there was when each of the segments after the head began, oldest first.
    tail: VecDeque<Mark>,
    /// The entries of the segments before this one.
    entries: u64,
    lost: u64,
    dropped: u64,
    tried_at_ms: u64,
    looked: Option<Look>,
    last_output_at_ms: Option<u64>,
}

impl Writer {
    /// Makes the directory and an empty first segment in it. Where that cannot be done now, everything is lost
    /// until it can, as on a full disk: the run that writes is none the worse for it.
    pub fn create(dir: &Path, keep: Keep) -> Self {
        let keep = Keep { tail: keep.tail.max(MIN_SEGMENT), ..keep };
        let mut writer = Self {
            dir: dir.to_owned(),
            keep,
            segment: make(dir, 0, keep).unwrap_or_else(|_| Growing::nowhere(dir)),
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

    /// Appends what was read from `stream` at `at_ms` (Unix milliseconds).
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

    /// The terminal is about to get this size: what is appended from now on is made for it.
    pub fn resized(&self, size: Size) {
        let resized = Resized { at: self.segment.end(), size };
        // Without it a screen that is made of the output has the size before; the run is none the worse for it.
        let _ = sizes::record(&self.dir, resized);
    }

    /// How many bytes may be appended before one is dropped that a reader who has taken everything before
    /// `taken` still needs; never 0 for one who has taken all. Without such a reader there is no limit.
    pub fn room(&self, taken: Option<u64>) -> u64 {
        let Some(taken) = taken else { return u64::MAX };
        let now = self.now();
        // The segment after the one being written begins now at the earliest; every byte may be an entry.
        let next = self.tail.iter().skip(1).find(|next| next.bytes > taken).copied().unwrap_or(now);
        let bytes = self.keep.tail - (now.bytes - next.bytes);
        bytes.min(self.most_entries() - (now.entries - next.entries))
    }

    /// How much output there was, and how much of it cannot be read any more.
    pub fn totals(&self) -> Totals {
        Totals { bytes: self.segment.end(), dropped_bytes: self.lost + self.dropped }
    }

    /// When the last output came.
    pub fn last_output_at_ms(&self) -> Option<u64> {
        self.last_output_at_ms
    }

    /// Keeps the beginning of `bytes`, in a new segment where it must be, and says how much that is.
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
            // Or a disk that stays full would get a segment per append.
            name::remove(&self.dir, start);
            return 0;
        }
        self.entries += self.segment.entries();
        self.segment = next;
        self.enlist();
        kept
    }

    /// Returns how many of `len` bytes the disk has room for: the last space is for records. Checks the disk now and
    /// then.
    fn room_on_disk(&mut self, len: usize, at_ms: u64) -> usize {
        let (end, more) = (self.segment.end(), len as u64);
        let is_fresh = |look: &Look| {
            // After a full disk, the next attempt to write checks again.
            let patience = if look.room > end - look.offset { LOOK_MS } else { RETRY_MS };
            at_ms.abs_diff(look.at_ms) < patience && end + more - look.offset < LOOK_BYTES
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
            self.tail.push_back(Mark { bytes, entries: self.entries, lost: self.lost });
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

    /// The indexes of the tail may be as long as the tail itself, or as one full index.
    fn most_entries(&self) -> u64 {
        (self.keep.tail / Entry::SIZE as u64).max(MAX_ENTRIES)
    }

    fn now(&self) -> Mark {
        Mark { bytes: self.segment.end(), entries: self.entries + self.segment.entries(), lost: self.lost }
    }
}

/// Makes a segment, and the directory if it is not there yet.
fn make(dir: &Path, start: u64, keep: Keep) -> io::Result<Growing> {
    if start == 0 || !dir.exists() {
        fs::create_dir(dir).or_else(|error| if dir.is_dir() { Ok(()) } else { Err(error) })?;
    }
    Growing::create(dir, start, segment_size(keep, start))
}

/// How long the segment that begins at `start` may become: what the head still lacks, or a small part of the
/// tail, so that little more than the tail is kept.
fn segment_size(keep: Keep, start: u64) -> u64 {
    match keep.head.checked_sub(start) {
        Some(rest) if rest > 0 => rest,
        _ => (keep.tail / 16).clamp(MIN_SEGMENT, MAX_SEGMENT),
    }
}
