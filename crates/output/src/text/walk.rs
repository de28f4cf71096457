//! Walks over the output piece by piece with a mark.

use super::cursor::TextCursor;
use crate::{Error, Piece, Reader};
use std::path::Path;

/// Distance of the positions at which pieces end, so that every walk has marks at the same positions. Small in
/// tests, so that little output has many.
pub(super) const STEP: u64 = if cfg!(test) { 64 } else { 256 << 10 };

const BUFFER: usize = 64 << 10;

/// The walk, see the module.
pub(super) struct Walk {
    reader: Reader,
    buffer: Vec<u8>,
    mark: TextCursor,
    until: u64,
}

impl Walk {
    /// Begins at `from`, and ends with the output.
    pub(super) fn new(dir: &Path, from: TextCursor) -> Self {
        Self { reader: Reader::new(dir), buffer: vec![0; BUFFER], mark: from, until: u64::MAX }
    }

    /// Ends at this byte, if the output is longer.
    pub(super) fn until(self, until: u64) -> Self {
        Self { until, ..self }
    }

    /// Returns the position.
    pub(super) fn mark(&self) -> TextCursor {
        self.mark
    }

    /// Returns the start of the segment of the last piece.
    pub(super) fn segment_start(&self) -> Option<u64> {
        self.reader.segment_start()
    }

    /// Walks over one piece and appends its text; the piece is `End` if there is no more.
    pub(super) fn piece(&mut self, out: &mut String) -> Result<Piece, Error> {
        let piece = self.read()?;
        self.mark.pass(&piece, &self.buffer, out);
        Ok(piece)
    }

    /// Ends the text: appends what waited for more input.
    pub(super) fn finish(&mut self, out: &mut String) {
        self.mark.finish(out);
    }

    /// Returns the offset of the byte that the text begins with after the next `len` bytes of text. A byte whose
    /// text is on both sides of that position is not yet passed.
    pub(super) fn offset_after(mut self, len: usize) -> Result<u64, Error> {
        let mut text = String::new();
        let mut reached = Reached { text: 0, offset: self.mark.offset() };
        loop {
            let piece = self.read()?;
            if let Piece::Bytes { from, len: bytes, stream, at_ms } = piece {
                for at in 0..bytes {
                    let one = Piece::Bytes { from: from + at as u64, len: 1, stream, at_ms };
                    self.mark.pass(&one, &self.buffer[at..], &mut text);
                    reached.note(text.len(), one.end(), len);
                }
            } else {
                self.mark.pass(&piece, &[], &mut text);
                reached.note(text.len(), piece.end(), len);
            }
            if text.len() >= len || matches!(piece, Piece::End { .. }) {
                return Ok(reached.offset);
            }
        }
    }

    fn read(&mut self) -> Result<Piece, Error> {
        let at = self.mark.offset();
        let room = (STEP - at % STEP).min(self.until.saturating_sub(at));
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(self.buffer.len());
        self.reader.read(at, &mut self.buffer[..room])
    }
}

/// An amount of text, and the first offset with that amount.
struct Reached {
    text: usize,
    offset: u64,
}

impl Reached {
    /// Notes that there are `text` bytes of text at an offset; more than `most` are too many.
    fn note(&mut self, text: usize, offset: u64, most: usize) {
        if text > self.text && text <= most {
            *self = Self { text, offset };
        }
    }
}
