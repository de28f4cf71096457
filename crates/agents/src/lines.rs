//! Cuts a stream into lines of a bounded length. Where a chunk ends makes no difference to what comes out.

/// A part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line without its end, or a piece of a longer one if pieces are wanted.
    Whole(&'a [u8]),
    /// A line that was too long, and is lost.
    TooLong,
}

/// What becomes of a line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Longer {
    /// It is skipped: half a JSON object says nothing.
    Skip,
    /// It comes in pieces, and each line with its end: together they are the stream.
    Cut,
}

/// The lines of one stream.
#[derive(Debug)]
pub(crate) struct Lines {
    held: Vec<u8>,
    most: usize,
    longer: Longer,
    skipping: bool,
}

impl Lines {
    /// `most` is the longest line, in bytes.
    pub(crate) fn new(most: usize, longer: Longer) -> Self {
        // A piece must have room for the longest character.
        Self { held: Vec::new(), most: most.max(4), longer, skipping: false }
    }

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

    /// The last line may have no end.
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

/// Where to cut so that no character is torn, if these bytes end in the middle of one.
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
        assert_eq!(cut(4, Longer::Skip, &[b"12345"]), [None], "without an end too");
    }

    #[test]
    fn pieces_are_the_stream_and_tear_no_character() {
        assert_eq!(cut(4, Longer::Cut, &[b"123", b"45\na\n", b"b"]), some(&["1234", "5\n", "a\n", "b"]));
        assert_eq!(cut(4, Longer::Cut, &["abcé€😀x".as_bytes()]), some(&["abc", "é", "€", "😀", "x"]));
        assert_eq!(cut(4, Longer::Cut, &[b"abc\xff\xffd"]), some(&["abc\u{fffd}", "\u{fffd}d"]));
    }
}
