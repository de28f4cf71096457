//! Output as text for agents and pagers. Escape sequences go; control characters other than line end and tab, and
//! bytes that are no UTF-8, are shown as `\xNN`; characters that only steer how others look go. A carriage return
//! before a line end is part of it, and one that begins a line anew ends the line: what a progress bar painted over
//! is a line of its own.
//!
//! It is a machine that takes one byte at a time, so the result does not depend on how the bytes were cut.
//! `anstream`'s `StripBytes` was not enough: it drops control characters instead of showing them, and lets a string
//! sequence that never ends swallow all that follows.

mod decoder;
mod line;

use decoder::Decoder;
use line::Line;
use serde::{Deserialize, Serialize};
use tenure_core::output::Stream;

/// Makes text of one stream's bytes.
#[derive(Debug, Default)]
pub struct Cleaner {
    decoder: Decoder,
    line: Line,
}

impl Cleaner {
    /// A cleaner at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to `out` what these bytes are as text, as far as can be told without those that follow.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.decoder.push(bytes, &mut self.line, out);
    }

    /// The stream ends here, or goes on elsewhere: what was begun is shown as it is, and forgotten.
    pub fn finish(&mut self, out: &mut String) {
        self.decoder.finish(&mut self.line, out);
        self.line = Line::default();
    }
}

/// Makes one text of both streams, as they came. Each has its own sequences and characters, which the other does not
/// tear; the line is of both, as on a terminal. So whatever is visible ends a line that a carriage return left
/// behind, whichever stream that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Merger {
    decoders: [Decoder; 2],
    line: Line,
}

impl Merger {
    /// Adds to `out` what these bytes of a stream are as text.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8], out: &mut String) {
        self.decoders[stream as usize].push(bytes, &mut self.line, out);
    }

    /// Both streams end here, or go on elsewhere. The line stays as it is.
    pub(crate) fn finish(&mut self, out: &mut String) {
        self.decoders.iter_mut().for_each(|decoder| decoder.finish(&mut self.line, out));
    }

    /// Something that was not output is told, in a line of its own.
    pub(crate) fn tell(&mut self, what: &str, out: &mut String) {
        self.finish(out);
        if self.line.is_begun() {
            self.line.end(out);
        }
        out.push_str(what);
        self.line.end(out);
    }

    /// Whether the text ends with a line that is not ended.
    pub(crate) fn is_in_line(&self) -> bool {
        self.line.is_begun()
    }
}
