//! Finds the messages in an adapter's stdout: one JSON message per line. Each has its end offset, so that the next daemon
//! continues after the last handled one. Other lines are returned as junk.

mod cut;

use crate::message::{Message, NoMessage};

/// The longest line that is read whole; a file of a few megabytes fits. The middle of a longer line is left out.
pub const LONGEST: usize = 16 << 20;
/// Number of bytes kept of the end of such a line.
const TAIL: usize = 64 << 10;
/// Maximum length of the text of a junk line.
const JUNK_TEXT: usize = 200;

/// A line, and its end.
#[derive(Debug)]
pub struct StreamItem {
    /// Its messages.
    pub what: Result<Vec<Message>, Junk>,
    /// Number of bytes left out in the middle.
    pub cut_bytes: u64,
    /// The offset after the line.
    pub end: u64,
}

/// A line that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Junk {
    /// The reason.
    pub why: NoMessage,
    /// Its beginning.
    pub text: String,
    /// Length of the whole line.
    pub bytes: u64,
}

/// The lines of an adapter's standard output, as its bytes come.
#[derive(Debug)]
pub struct Stream {
    held: Vec<u8>,
    /// The end of a line that is too long.
    tail: Vec<u8>,
    longest: usize,
    /// Length of the current line so far.
    length: u64,
    /// True if bytes of the current line are missing: the rest of the line is skipped.
    has_gap: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Self::new(LONGEST)
    }
}

impl Stream {
    /// Creates a stream with this maximum length of a line.
    pub fn new(longest: usize) -> Self {
        Self { held: Vec::new(), tail: Vec::new(), longest, length: 0, has_gap: false }
    }

    /// Takes the bytes at this offset, and passes every line that ends in them to `said`. Skips empty lines.
    pub fn feed(&mut self, at: u64, bytes: &[u8], mut said: impl FnMut(StreamItem)) {
        let mut from = 0;
        while let Some(length) = bytes[from..].iter().position(|&byte| byte == b'\n') {
            self.hold(&bytes[from..from + length]);
            from += length + 1;
            if let Some((what, cut_bytes)) = self.line() {
                said(StreamItem { what, cut_bytes, end: at + from as u64 });
            }
        }
        self.hold(&bytes[from..]);
    }

    /// Notes that bytes are missing: the line that they were in is lost.
    pub fn gap(&mut self) {
        self.held.clear();
        self.tail.clear();
        self.has_gap = true;
    }

    fn hold(&mut self, part: &[u8]) {
        if self.has_gap {
            return;
        }
        self.length += part.len() as u64;
        let room = self.longest.saturating_sub(self.held.len());
        let (held, beyond) = part.split_at(part.len().min(room));
        self.held.extend_from_slice(held);
        self.tail.extend_from_slice(&beyond[beyond.len().saturating_sub(TAIL)..]);
        // Rarely, so that not every byte moves the others.
        if self.tail.len() > 4 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    /// Returns the line that has just ended, and the number of bytes left out of it.
    fn line(&mut self) -> Option<(Result<Vec<Message>, Junk>, u64)> {
        let (line, tail) = (std::mem::take(&mut self.held), std::mem::take(&mut self.tail));
        let length = std::mem::take(&mut self.length);
        let junk = |why: NoMessage, line: &[u8]| {
            let text = String::from_utf8_lossy(&line[..line.len().min(JUNK_TEXT)]).into_owned();
            Junk { why, text, bytes: length }
        };
        if std::mem::take(&mut self.has_gap) {
            return Some((Err(junk(NoMessage::Incomplete, &line)), 0));
        }
        if !tail.is_empty() {
            let cut = cut::read(&line, &tail, length);
            return Some(
                cut.map_or_else(|| (Err(junk(NoMessage::TooLong, &line)), 0), |(all, cut)| (Ok(all), cut)),
            );
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        Some((Message::read(text).map_err(|why| junk(why, text)), 0))
    }
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
    fn the_middle_of_a_text_that_is_too_long_is_left_out_and_the_message_is_read() {
        // Plain text, characters of several bytes, and every kind of escape.
        for unit in ["x", "é…", r"\n", r#"\""#, r"\\", r"\u4f60", r"\ud83d\ude00", "ab\\n\u{1f600}"] {
            let text = unit.repeat(400_000 / unit.len());
            for before in ["", "1", "12", "123"] {
                let line = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"m{before}\",\"params\":{{\"text\":\"{text}\",\"z\":1}}}}\n"
                );
                let mut found = Vec::new();
                let mut stream = Stream::new(100_000);
                let mut at = 0;
                for chunk in line.as_bytes().chunks(60_001) {
                    stream.feed(at, chunk, |said| found.push(said));
                    at += chunk.len() as u64;
                }
                let [said] = &found[..] else { panic!("{} lines", found.len()) };
                let Ok([Message::Notification { params: Some(params), .. }]) = said.what.as_deref() else {
                    panic!("{unit} after {before:?}: {:?}", said.what);
                };
                let value: serde_json::Value = serde_json::from_str(params.get()).unwrap();
                let kept = value["text"].as_str().unwrap();
                assert!(kept.contains(" bytes left out"), "{unit}");
                assert!(kept.len() < 250_000 && said.cut_bytes > 200_000, "{unit}: {}", said.cut_bytes);
                assert_eq!((&value["z"], said.end), (&1.into(), line.len() as u64));
            }
        }
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
