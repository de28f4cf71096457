//! Where the lines are: a mark every so many bytes, so that a line is found without reading all that is before it.
//! It grows with the output. When output is dropped, it forgets what came after, reads anew from there, and goes on
//! with what it knew as soon as both agree: that is after a few lines.

use super::mark::Mark;
use super::walk::{STEP, Walk};
use crate::reader::end;
use crate::{Error, Piece, name};
use std::path::Path;

/// Marks in one run's output. It begins empty, and may be thrown away at any time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineIndex {
    /// In order; all at multiples of `STEP`.
    marks: Vec<Mark>,
    /// How far it has come.
    end: Mark,
    gaps: Vec<Gap>,
    /// Where the segments begin that were read: they must still be there, or the text is another.
    starts: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    from: u64,
    to: u64,
}

impl LineIndex {
    /// An index that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far it has come.
    pub(super) fn end(&self) -> Mark {
        self.end
    }

    /// How many lines there are up to the end.
    pub(super) fn lines(&self, over: bool) -> u64 {
        let mut end = self.end;
        if over {
            end.finish(&mut String::new());
        }
        end.lines()
    }

    /// A place shortly before a line begins: in another line, or at the beginning of the text.
    pub(super) fn before(&self, line: u64) -> Mark {
        let after = self.marks.partition_point(|mark| mark.line() < line);
        after.checked_sub(1).map_or(Mark::default(), |last| self.marks[last])
    }

    /// Whether all that it has read is still there.
    pub(super) fn holds(&self, dir: &Path) -> Result<bool, Error> {
        Ok(self.first_dropped(dir)?.is_none())
    }

    /// Brings it to where the output is now.
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

    /// The segment that is being read.
    fn enter(&mut self, start: Option<u64>) {
        if self.starts.last().copied() < start {
            self.starts.extend(start);
        }
    }

    /// The first of the segments that were read and are no more.
    fn first_dropped(&self, dir: &Path) -> Result<Option<u64>, Error> {
        let there = name::starts(dir)?;
        Ok(self.starts.iter().copied().find(|start| there.binary_search(start).is_err()))
    }

    /// Forgets everything after the last byte before the segment at `start`, which was dropped, and returns what
    /// there was. A gap that ended there is longer now.
    fn split(&mut self, start: u64) -> Self {
        let stale = self.clone();
        let from = self.gaps.iter().find(|gap| gap.to == start).map_or(start, |gap| gap.from);
        self.marks.retain(|mark| mark.offset() <= from);
        self.gaps.retain(|gap| gap.to <= from);
        self.starts.retain(|other| *other < start);
        self.end = self.marks.last().copied().unwrap_or_default();
        stale
    }

    /// Which of the marks is this one, but for the line's number.
    fn mark_like(&self, mark: &Mark) -> Option<usize> {
        let at = self.marks.binary_search_by_key(&mark.offset(), Mark::offset).ok()?;
        self.marks[at].goes_on_like(mark).then_some(at)
    }

    /// Takes from an older index what comes after the end of this one.
    fn go_on_with(&mut self, known: &Self) {
        let here = self.end;
        let Some(at) = known.mark_like(&here) else { return };
        let was = known.marks[at].line();
        let renumbered = |mark: &Mark| mark.renumbered(was, here.line());
        self.marks.extend(known.marks[at..].iter().map(renumbered));
        self.gaps.extend(known.gaps.iter().filter(|gap| gap.from >= here.offset()));
        let last = self.starts.last().copied();
        self.starts.extend(known.starts.iter().filter(|start| Some(**start) > last));
        self.end = renumbered(&known.end);
    }
}
