//! Finds the beginning of the last lines, reading backwards.

use crate::segment_reader::SegmentReader;
use crate::{Error, name, totals};
use std::ops::Range;
use std::path::Path;
use tenure_core::output::{Stream, Stretch};

const BLOCK: u64 = 64 << 10;

/// Returns the offset where the last `lines` lines begin: of all the output, or of one stream, whose lines the
/// other may interrupt. A last line without an end is a line. 0 if there are fewer.
pub fn tail_offset(dir: &Path, lines: u64, of: Option<Stream>) -> Result<u64, Error> {
    if lines == 0 {
        return Ok(totals(dir)?.bytes);
    }
    let mut count = Count { lines, ends: None };
    for start in name::starts(dir)?.into_iter().rev() {
        let Some(mut segment) = SegmentReader::open(dir, start)? else { continue };
        let logged = segment.logged()?;
        for slot in (0..segment.entries()?).rev() {
            let Some(entry) = segment.entry(slot)? else { continue };
            let wanted = matches!(entry.stretch, Stretch::Kept(stream) if of.is_none_or(|of| of == stream));
            let stretch = entry.offset..entry.end().min(logged);
            if wanted && let Some(offset) = count.back(&mut segment, stretch)? {
                return Ok(offset);
            }
        }
    }
    Ok(0)
}

/// The number of lines to find, and the number of line ends to pass before the first of them: one more if the very
/// last byte is a line end.
struct Count {
    lines: u64,
    ends: Option<u64>,
}

impl Count {
    /// Goes back over a stretch; returns the beginning of the lines once it is found.
    fn back(&mut self, segment: &mut SegmentReader, stretch: Range<u64>) -> Result<Option<u64>, Error> {
        let mut block = Vec::new();
        let mut end = stretch.end;
        while end > stretch.start {
            let start = stretch.start.max(end.saturating_sub(BLOCK));
            block.resize(usize::try_from(end - start).unwrap_or(usize::MAX), 0);
            let read = segment.read(&mut block, start)?;
            let bytes = &block[..read];
            let ends =
                self.ends.get_or_insert_with(|| self.lines.saturating_add(u64::from(bytes.ends_with(b"\n"))));
            for (at, _) in bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
                *ends -= 1;
                if *ends == 0 {
                    return Ok(Some(start + at as u64 + 1));
                }
            }
            end = start;
        }
        Ok(None)
    }
}
