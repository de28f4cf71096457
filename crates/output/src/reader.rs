//! Reads a run's output from any offset, while it is written, after its writer died, or long after. The caller
//! keeps the offset; the reader keeps the files open and lists the directory only at the end of a segment.

use crate::segment_reader::SegmentReader;
use crate::{Error, name};
use std::path::{Path, PathBuf};
use tenure_core::output::{Stream, Stretch, Totals};

/// The content at an offset of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of one stream, at the beginning of the buffer.
    Bytes {
        /// The offset of the first one.
        from: u64,
        /// The number of bytes.
        len: usize,
        /// The source.
        stream: Stream,
        /// The time of the first byte of their stretch, in Unix milliseconds.
        at_ms: u64,
    },
    /// Bytes that were dropped to keep newer ones.
    Gap {
        /// The offset of the first one.
        from: u64,
        /// The offset after the last one.
        to: u64,
    },
    /// Bytes of any stream that could not be written to the disk.
    Lost {
        /// The offset of the first one.
        from: u64,
        /// The offset after the last one known to be lost.
        to: u64,
        /// The time when the loss began, in Unix milliseconds.
        at_ms: u64,
    },
    /// The present end of the output.
    End {
        /// The offset.
        at: u64,
    },
}

impl Piece {
    /// Returns the offset to read next.
    pub fn end(&self) -> u64 {
        match *self {
            Self::Bytes { from, len, .. } => from + len as u64,
            Self::Gap { to, .. } | Self::Lost { to, .. } => to,
            Self::End { at } => at,
        }
    }
}

/// Reads the output of one run.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    segment: Option<SegmentReader>,
}

impl Reader {
    /// Makes a reader of the output in `dir`, which is opened with the first read.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), segment: None }
    }

    /// Reads at the offset `at`; bytes of one stretch, as many as the buffer takes.
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
            // Segments that are listed are no longer written, except the last: bytes that are missing now will
            // never come.
            if held && let Some(piece) = self.read_here(at, buf)? {
                return Ok(piece);
            }
            match after.first() {
                Some(&to) => return Ok(Piece::Gap { from: at, to }),
                None if held || before.is_empty() => return Ok(Piece::End { at }),
                // The last segment was dropped meanwhile, so there is a newer one.
                None => {}
            }
        }
    }

    /// Returns the start of the segment of the last piece, unless that was a gap.
    pub(crate) fn segment_start(&self) -> Option<u64> {
        self.segment.as_ref().map(SegmentReader::start)
    }

    /// Returns the content of the open segment at `at`, if any.
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
            self.segment = SegmentReader::open(&self.dir, start)?;
        }
        Ok(self.segment.is_some())
    }
}

/// Returns the size of the output, and of the part that cannot be read any more, by the files alone: for a run
/// without a keeper. A live keeper knows better.
pub fn totals(dir: &Path) -> Result<Totals, Error> {
    let (mut bytes, mut kept) = (0, 0);
    for start in name::starts(dir)? {
        let Some(mut segment) = SegmentReader::open(dir, start)? else { continue };
        let (kept_to, to) = ends(&mut segment)?;
        kept += kept_to.saturating_sub(start);
        bytes = to;
    }
    Ok(Totals { bytes, dropped_bytes: bytes.saturating_sub(kept) })
}

/// Returns the time of the last output, by the files alone: a stretch has the time of its first byte, a few
/// milliseconds before its last. `None` if there was none.
pub fn last_at_ms(dir: &Path) -> Result<Option<u64>, Error> {
    for start in name::starts(dir)?.into_iter().rev() {
        let Some(segment) = SegmentReader::open(dir, start)? else { continue };
        let last = segment.entries()?.checked_sub(1).map(|slot| segment.entry(slot)).transpose()?.flatten();
        if let Some(entry) = last.filter(|entry| entry.len > 0) {
            return Ok(Some(entry.at_ms));
        }
    }
    Ok(None)
}

/// Returns the present end of the output.
pub(crate) fn end(dir: &Path) -> Result<u64, Error> {
    for start in name::starts(dir)?.into_iter().rev() {
        if let Some(mut segment) = SegmentReader::open(dir, start)? {
            return Ok(ends(&mut segment)?.1);
        }
    }
    Ok(0)
}

/// Returns the end of a segment's bytes, and that of the segment, which includes a loss at its end.
fn ends(segment: &mut SegmentReader) -> Result<(u64, u64), Error> {
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
