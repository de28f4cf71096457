//! Reads a run's output from any offset, while it is written, after its writer died, or long after. The caller
//! keeps the offset; the reader keeps the files open and lists the directory only where a segment ends.

use crate::stored::Stored;
use crate::{Error, name};
use std::path::{Path, PathBuf};
use tenure_core::output::{Stream, Stretch, Totals};

/// What comes at an offset of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of one stream, at the beginning of the buffer.
    Bytes {
        /// The offset of the first one.
        from: u64,
        /// How many.
        len: usize,
        /// Where they came from.
        stream: Stream,
        /// When, in Unix milliseconds: the first of the stretch that they belong to.
        at_ms: u64,
    },
    /// Bytes that were dropped to keep newer ones.
    Gap {
        /// The offset of the first one.
        from: u64,
        /// The offset after the last one.
        to: u64,
    },
    /// Bytes that the disk did not take, of any stream.
    Lost {
        /// The offset of the first one.
        from: u64,
        /// The offset after the last one known to be lost.
        to: u64,
        /// When the loss began, in Unix milliseconds.
        at_ms: u64,
    },
    /// Nothing, for now.
    End {
        /// The offset.
        at: u64,
    },
}

impl Piece {
    /// Where to read on.
    pub fn end(&self) -> u64 {
        match *self {
            Self::Bytes { from, len, .. } => from + len as u64,
            Self::Gap { to, .. } | Self::Lost { to, .. } => to,
            Self::End { at } => at,
        }
    }
}

/// A reader of one run's output.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    segment: Option<Stored>,
}

impl Reader {
    /// A reader of the output in `dir`, which is looked at when something is read.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), segment: None }
    }

    /// What comes at the offset `at`; of bytes, as many as belong together and the buffer holds.
    pub fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<Piece, Error> {
        if buf.is_empty() {
            return Ok(Piece::End { at });
        }
        loop {
            if let Some(piece) = self.read_here(at, buf)? {
                return Ok(piece);
            }
            let starts = name::starts(&self.dir)?;
            let (before, after) = starts.split_at(starts.partition_point(|&start| start <= at));
            let held = match before.last() {
                Some(&start) => self.enter(start)?,
                None => false,
            };
            // Nothing is written any more before a segment that is listed: what is not there now never will be.
            if held && let Some(piece) = self.read_here(at, buf)? {
                return Ok(piece);
            }
            match after.first() {
                Some(&to) => return Ok(Piece::Gap { from: at, to }),
                None if held || before.is_empty() => return Ok(Piece::End { at }),
                // The last segment was dropped while we looked, so there is a newer one.
                None => {}
            }
        }
    }

    /// Where the segment begins that the last piece came from, unless that was a gap.
    pub(crate) fn segment_start(&self) -> Option<u64> {
        self.segment.as_ref().map(Stored::start)
    }

    /// What the open segment has at `at`, if anything.
    fn read_here(&mut self, at: u64, buf: &mut [u8]) -> Result<Option<Piece>, Error> {
        let Some(segment) = &mut self.segment else { return Ok(None) };
        let Some(entry) = segment.find(at)? else { return Ok(None) };
        let at_ms = entry.at_ms;
        let Stretch::Kept(stream) = entry.stretch else {
            return Ok(Some(Piece::Lost { from: at, to: entry.end(), at_ms }));
        };
        let rest = usize::try_from(entry.end() - at).unwrap_or(usize::MAX).min(buf.len());
        let len = segment.read(&mut buf[..rest], at)?;
        Ok((len > 0).then_some(Piece::Bytes { from: at, len, stream, at_ms }))
    }

    /// Opens the segment that begins at `start`, unless it is open; false if it has been dropped.
    fn enter(&mut self, start: u64) -> Result<bool, Error> {
        if self.segment.as_ref().is_none_or(|segment| segment.start() != start) {
            self.segment = Stored::open(&self.dir, start)?;
        }
        Ok(self.segment.is_some())
    }
}

/// How much output there was, and how much of it cannot be read any more, by the files alone: for a run whose
/// keeper is gone. While there is a keeper, it knows better.
pub fn totals(dir: &Path) -> Result<Totals, Error> {
    let (mut bytes, mut kept) = (0, 0);
    for start in name::starts(dir)? {
        let Some(mut segment) = Stored::open(dir, start)? else { continue };
        let (kept_to, to) = ends(&mut segment)?;
        kept += kept_to.saturating_sub(start);
        bytes = to;
    }
    Ok(Totals { bytes, dropped_bytes: bytes.saturating_sub(kept) })
}

/// When the last output came, by the files alone: a stretch has the time of its first byte, a few milliseconds before its
/// last. `None` if there was none.
pub fn last_at_ms(dir: &Path) -> Result<Option<u64>, Error> {
    for start in name::starts(dir)?.into_iter().rev() {
        let Some(segment) = Stored::open(dir, start)? else { continue };
        let last = segment.entries()?.checked_sub(1).map(|slot| segment.entry(slot)).transpose()?.flatten();
        if let Some(entry) = last.filter(|entry| entry.len > 0) {
            return Ok(Some(entry.at_ms));
        }
    }
    Ok(None)
}

/// Where the output ends now.
pub(crate) fn end(dir: &Path) -> Result<u64, Error> {
    for start in name::starts(dir)?.into_iter().rev() {
        if let Some(mut segment) = Stored::open(dir, start)? {
            return Ok(ends(&mut segment)?.1);
        }
    }
    Ok(0)
}

/// Where a segment's bytes end, and where it does itself: what was lost at its end is part of it.
fn ends(segment: &mut Stored) -> Result<(u64, u64), Error> {
    let last = segment.entries()?.checked_sub(1).map(|slot| segment.entry(slot)).transpose()?.flatten();
    let logged = segment.logged()?;
    Ok(match last {
        None => (segment.start(), segment.start()),
        Some(entry) => match entry.stretch {
            Stretch::Kept(_) => {
                let end = entry.end().min(logged);
                (end, end)
            }
            Stretch::Lost(_) => (entry.offset.min(logged), entry.end()),
        },
    })
}
