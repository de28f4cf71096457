//! Converts output to text for agents and pagers. Escape sequences are removed; control characters other than line
//! end and tab, and bytes that are not UTF-8, are shown as `\xNN`; format characters are removed. A carriage return
//! before a line end is part of the line end. One that rewrites a line ends the line, so the text that a progress
//! bar overwrote is a line of its own.
//!
//! The state machine takes one byte at a time, so the result does not depend on the cuts between pieces.
//! `anstream`'s `StripBytes` was not enough: it drops control characters instead of showing them, and lets an
//! unterminated string sequence swallow all that follows.

mod decoder;
mod line;

use decoder::Decoder;
use line::Line;
use serde::{Deserialize, Serialize};
use tenure_core::output::Stream;

/// Converts the bytes of one stream to text.
#[derive(Debug, Default)]
pub struct Cleaner {
    decoder: Decoder,
    line: Line,
}

impl Cleaner {
    /// Starts at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the text of these bytes to `out`, as far as it is known without those that follow.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.decoder.push(bytes, &mut self.line, out);
    }

    /// Ends the stream, or a part of it: unfinished sequences and characters are shown as they are, and forgotten.
    pub fn finish(&mut self, out: &mut String) {
        self.decoder.finish(&mut self.line, out);
        self.line = Line::default();
    }
}

/// Converts both streams to one text, in the order of arrival. Each stream has its own sequences and characters,
/// which the other does not tear; the line is common, as on a terminal. So any visible character ends a line that a
/// carriage return left behind, whichever stream it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Merger {
    decoders: [Decoder; 2],
    line: Line,
}

impl Merger {
    /// Appends the text of these bytes of a stream to `out`.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8], out: &mut String) {
        self.decoders[stream as usize].push(bytes, &mut self.line, out);
    }

    /// Ends both streams, or a part of them. The line stays as it is.
    pub(crate) fn finish(&mut self, out: &mut String) {
        self.decoders.iter_mut().for_each(|decoder| decoder.finish(&mut self.line, out));
    }

    /// Appends a message that was not output, as a line of its own.
    pub(crate) fn tell(&mut self, what: &str, out: &mut String) {
        self.finish(out);
        if self.line.is_begun() {
            self.line.end(out);
        }
        out.push_str(what);
        self.line.end(out);
    }

    /// Returns true if the text ends within a line.
    pub(crate) fn is_in_line(&self) -> bool {
        self.line.is_begun()
    }
}
