//! Splits a stream into lines of a bounded length. The result does not depend on the chunk boundaries.

/// Part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// With `Skip`, a line without its newline. With `Cut`, a line with its newline, or a piece of a longer line.
    Whole(&'a [u8]),
    /// A skipped line.
    TooLong,
}

/// Handling of lines that are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Longer {
    /// Skips them: half a JSON object cannot be read.
    Skip,
    /// Cuts them into pieces. Newlines stay, so all lines and pieces together are the stream.
    Cut,
}

/// Splitter of one stream.
#[derive(Debug)]
pub(crate) struct Lines {
    held: Vec<u8>,
    most: usize,
    longer: Longer,
    skipping: bool,
}

impl Lines {
    /// Creates a splitter; `most` is the maximum length of a line in bytes.
    pub(crate) fn new(most: usize, longer: Longer) -> Self {
        // A piece must have room for the longest UTF-8 character.
        Self { held: Vec::new(), most: most.max(4), longer, skipping: false }
    }

    /// Calls `line` for every line that this chunk completes.
    pub(crate) fn feed(&mut self, mut chunk: &[u8], mut line: impl FnMut(Line<'_>)) {
        while !chunk.is_empty() {
            let end = chunk.iter().position(|&b| b == b'\n');
            let (part, rest) = chunk.split_at(end.map_or(chunk.len(), |at| at + 1));
            match self.longer {
                Longer::Skip => self.whole(part, &mut line),
                Longer::Cut => self.pieces(part, &mut line),
            }
            chunk = rest;
        }
    }

    /// Calls `line` for a last line without a newline.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(Line<'_>)) {
        if self.skipping {
            line(Line::TooLong);
        } else if !self.held.is_empty() {
            line(Line::Whole(&self.held));
        }
        self.held = Vec::new();
        self.skipping = false;
    }

    fn whole(&mut self, part: &[u8], line: &mut impl FnMut(Line<'_>)) {
        let text = part.strip_suffix(b"\n");
        let body = text.unwrap_or(part);
        if !self.skipping && self.held.len() + body.len() > self.most {
            self.skipping = true;
            self.held = Vec::new();
        }
        if !self.skipping {
            self.held.extend_from_slice(body);
        }
        if text.is_none() {
            return;
        }
        line(if self.skipping { Line::TooLong } else { Line::Whole(&self.held) });
        self.skipping = false;
        self.held.clear();
    }

    fn pieces(&mut self, mut part: &[u8], line: &mut impl FnMut(Line<'_>)) {
        while !part.is_empty() {
            let (now, rest) = part.split_at(part.len().min(self.most - self.held.len()));
            self.held.extend_from_slice(now);
            part = rest;
            if self.held.ends_with(b"\n") {
                line(Line::Whole(&self.held));
                self.held.clear();
            } else if self.held.len() == self.most {
                let cut = before_half_a_character(&self.held);
                line(Line::Whole(&self.held[..cut]));
                self.held.drain(..cut);
            }
        }
    }
}

/// Returns the length of the bytes without an incomplete UTF-8 character at their end.
fn before_half_a_character(bytes: &[u8]) -> usize {
    let tail = bytes.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
    match std::str::from_utf8(tail) {
        Err(error) if error.error_len().is_none() => bytes.len() - tail.len(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(most: usize, longer: Longer, chunks: &[&[u8]]) -> Vec<Option<String>> {
        let mut lines = Lines::new(most, longer);
        let mut out = Vec::new();
        let mut take = |line: Line<'_>| {
            out.push(match line {
                Line::Whole(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                Line::TooLong => None,
            });
        };
        for chunk in chunks {
            lines.feed(chunk, &mut take);
        }
        lines.finish(&mut take);
        out
    }

    fn some(words: &[&str]) -> Vec<Option<String>> {
        words.iter().map(|word| Some((*word).to_owned())).collect()
    }

    #[test]
    fn a_line_of_the_longest_length_is_whole_and_a_longer_one_is_skipped() {
        assert_eq!(cut(4, Longer::Skip, &[b"1234\nab", b"c\n", b"x"]), some(&["1234", "abc", "x"]));
        let mut expected = some(&["a", "", "b"]);
        expected.insert(1, None);
        assert_eq!(cut(4, Longer::Skip, &[b"a\n123", b"4567\n\nb"]), expected);
        assert_eq!(cut(4, Longer::Skip, &[b"12345"]), [None], "even without a newline");
    }

    #[test]
    fn pieces_are_the_stream_and_tear_no_character() {
        assert_eq!(cut(4, Longer::Cut, &[b"123", b"45\na\n", b"b"]), some(&["1234", "5\n", "a\n", "b"]));
        assert_eq!(cut(4, Longer::Cut, &["abcé€😀x".as_bytes()]), some(&["abc", "é", "€", "😀", "x"]));
        assert_eq!(cut(4, Longer::Cut, &[b"abc\xff\xffd"]), some(&["abc\u{fffd}", "\u{fffd}d"]));
    }
}
