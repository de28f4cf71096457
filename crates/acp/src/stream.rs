//! Finds the messages in what an adapter prints: JSON, a message a line. Each has the place where it ends, so that whoever
//! goes on later begins after the last one that was handled. What is no message is passed on as what it is.

use crate::message::{Message, NoMessage};

/// The longest line that is read. A file of a few megabytes fits.
pub const LONGEST: usize = 16 << 20;
/// How much of a line that is no message is shown.
const SHOWN: usize = 200;

/// Something on a line, and where the line ends.
#[derive(Debug)]
pub struct Said {
    /// What.
    pub what: Result<Vec<Message>, Junk>,
    /// The offset after its end.
    pub end: u64,
}

/// A line that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Junk {
    /// Why not.
    pub why: NoMessage,
    /// Its beginning.
    pub text: String,
}

/// The lines of an adapter's standard output, as its bytes come.
#[derive(Debug)]
pub struct Stream {
    held: Vec<u8>,
    longest: usize,
    /// Whether the line at hand is too long: the rest of it is passed over.
    skipping: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Self::new(LONGEST)
    }
}

impl Stream {
    /// One that takes lines of so many bytes.
    pub fn new(longest: usize) -> Self {
        Self { held: Vec::new(), longest, skipping: false }
    }

    /// Takes the bytes that stand at this offset; hands on every line that ends in them. Empty lines say nothing.
    pub fn feed(&mut self, at: u64, bytes: &[u8], mut said: impl FnMut(Said)) {
        let mut from = 0;
        while let Some(length) = bytes[from..].iter().position(|&byte| byte == b'\n') {
            self.hold(&bytes[from..from + length]);
            from += length + 1;
            if let Some(what) = self.line() {
                said(Said { what, end: at + from as u64 });
            }
        }
        self.hold(&bytes[from..]);
    }

    /// Some bytes are not there any more: the line that they were in is lost, and so is what was held of it.
    pub fn gap(&mut self) {
        self.held.clear();
        self.skipping = true;
    }

    fn hold(&mut self, part: &[u8]) {
        if self.skipping {
            return;
        }
        let room = self.longest.saturating_sub(self.held.len());
        self.held.extend_from_slice(&part[..part.len().min(room)]);
        self.skipping = part.len() > room;
    }

    /// The line that has just ended.
    fn line(&mut self) -> Option<Result<Vec<Message>, Junk>> {
        let line = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.skipping) {
            return Some(Err(junk(NoMessage::TooLong, &line)));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        Some(Message::read(text).map_err(|why| junk(why, text)))
    }
}

fn junk(why: NoMessage, line: &[u8]) -> Junk {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    Junk { why, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: &str = "starting up…\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n\n  \n[1]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n{";

    fn ends(longest: usize, chunks: &[&[u8]]) -> Vec<(bool, u64)> {
        let mut stream = Stream::new(longest);
        let (mut at, mut found) = (0, Vec::new());
        for chunk in chunks {
            stream.feed(at, chunk, |said| found.push((said.what.is_ok(), said.end)));
            at += chunk.len() as u64;
        }
        found
    }

    #[test]
    fn every_line_is_found_with_its_end_and_junk_is_told_from_messages() {
        let found = ends(LONGEST, &[LINES.as_bytes()]);
        let after = |text: &str| LINES.find(text).unwrap() as u64;
        let expected = [
            (false, after("{\"jsonrpc\"")),
            (true, after("\n\n  \n") + 1),
            (false, after("{\"jsonrpc\":\"2.0\",\"id\"")),
            (true, LINES.len() as u64 - 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let text = format!("{}\n{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}}\n", "x".repeat(100));
        assert_eq!(ends(40, &[text.as_bytes()]), [(false, 101), (true, text.len() as u64)]);
    }

    #[test]
    fn a_line_with_a_gap_in_it_is_lost_and_no_other() {
        let mut stream = Stream::default();
        let mut found = Vec::new();
        stream.feed(0, b"{\"jsonrpc\":\"2.0\",", |said| found.push(said.end));
        stream.gap();
        stream.feed(50, b"\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n", |said| {
            found.push(if said.what.is_ok() { said.end } else { 0 });
        });
        assert_eq!(found, [0, 95]);
    }

    proptest! {
        #[test]
        fn where_a_chunk_ends_makes_no_difference(cuts in prop::collection::vec(0..LINES.len(), 0..6), longest in 5usize..200) {
            let mut cuts = cuts;
            cuts.extend([0, LINES.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &LINES.as_bytes()[cut[0]..cut[1]]).collect();
            prop_assert_eq!(ends(longest, &chunks), ends(longest, &[LINES.as_bytes()]));
        }
    }
}
