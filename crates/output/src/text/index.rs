//! The positions of the lines: a mark at regular distances, so that a line is found without reading all that is
//! before it. The index grows with the output. When output is dropped, the index forgets the marks after it, reads
//! again from there, and reuses its old marks as soon as both agree, which takes a few lines.

use super::cursor::TextCursor;
use super::walk::{STEP, Walk};
use crate::reader::end;
use crate::{Error, Piece, name};
use std::path::Path;

/// The marks in one run's output. An empty index is valid, so it may be discarded at any time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineIndex {
    /// The marks in order; all at multiples of `STEP`.
    marks: Vec<TextCursor>,
    /// The position reached.
    end: TextCursor,
    gaps: Vec<Gap>,
    /// The starts of the segments that were read: if one is gone, the text has changed.
    starts: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    from: u64,
    to: u64,
}

impl LineIndex {
    /// Makes an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the position reached.
    pub(super) fn end(&self) -> TextCursor {
        self.end
    }

    /// Returns the number of lines up to the end.
    pub(super) fn lines(&self, over: bool) -> u64 {
        let mut end = self.end;
        if over {
            end.finish(&mut String::new());
        }
        end.lines()
    }

    /// Returns a mark shortly before a line begins: within an earlier line, or at the beginning of the text.
    pub(super) fn before(&self, line: u64) -> TextCursor {
        let after = self.marks.partition_point(|mark| mark.line() < line);
        after.checked_sub(1).map_or(TextCursor::default(), |last| self.marks[last])
    }

    /// Returns true if all segments that were read still exist.
    pub(super) fn holds(&self, dir: &Path) -> Result<bool, Error> {
        Ok(self.first_dropped(dir)?.is_none())
    }

    /// Extends the index to the present end of the output.
    pub(super) fn update(&mut self, dir: &Path) -> Result<(), Error> {
        let mut stale = self.first_dropped(dir)?.map(|start| self.split(start));
        let now = end(dir)?;
        let mut walk = Walk::new(dir, self.end).until(now);
        let mut text = String::new();
        loop {
            text.clear();
            let piece = walk.piece(&mut text)?;
            self.end = walk.mark();
            match piece {
                Piece::End { .. } => return Ok(()),
                Piece::Gap { from, to } => {
                    self.gaps.push(Gap { from, to });
                    self.enter(Some(to));
                }
                Piece::Bytes { .. } | Piece::Lost { .. } => self.enter(walk.segment_start()),
            }
            if self.end.offset().is_multiple_of(STEP) {
                if let Some(known) = stale.take_if(|stale| stale.mark_like(&self.end).is_some()) {
                    self.go_on_with(&known);
                    walk = Walk::new(dir, self.end).until(now);
                } else {
                    self.marks.push(self.end);
                }
            }
        }
    }

    /// Notes the segment that is being read.
    fn enter(&mut self, start: Option<u64>) {
        if self.starts.last().copied() < start {
            self.starts.extend(start);
        }
    }

    /// Returns the first segment that was read and no longer exists.
    fn first_dropped(&self, dir: &Path) -> Result<Option<u64>, Error> {
        let there = name::starts(dir)?;
        Ok(self.starts.iter().copied().find(|start| there.binary_search(start).is_err()))
    }

    /// Removes everything after the last byte before the segment at `start`, which was dropped, and returns the old
    /// index. A gap that ended there is longer now.
    fn split(&mut self, start: u64) -> Self {
        let stale = self.clone();
        let from = self.gaps.iter().find(|gap| gap.to == start).map_or(start, |gap| gap.from);
        self.marks.retain(|mark| mark.offset() <= from);
        self.gaps.retain(|gap| gap.to <= from);
        self.starts.retain(|other| *other < start);
        self.end = self.marks.last().copied().unwrap_or_default();
        stale
    }

    /// Returns the position of the mark that equals this one, except for the line's number.
    fn mark_like(&self, mark: &TextCursor) -> Option<usize> {
        let at = self.marks.binary_search_by_key(&mark.offset(), TextCursor::offset).ok()?;
        self.marks[at].goes_on_like(mark).then_some(at)
    }

    /// Takes the marks after the end of this index from an older one.
    fn go_on_with(&mut self, known: &Self) {
        let here = self.end;
        let Some(at) = known.mark_like(&here) else { return };
        let was = known.marks[at].line();
        let renumbered = |mark: &TextCursor| mark.renumbered(was, here.line());
        self.marks.extend(known.marks[at..].iter().map(renumbered));
        self.gaps.extend(known.gaps.iter().filter(|gap| gap.from >= here.offset()));
        let last = self.starts.last().copied();
        self.starts.extend(known.starts.iter().filter(|start| Some(**start) > last));
        self.end = renumbered(&known.end);
    }
}
