//! Input and output of a player: its standard streams.

use std::io::{BufRead, BufReader, Write};

pub(crate) fn output() -> impl Write {
    // Line-buffered on any kind of output.
    std::io::LineWriter::new(std::io::stdout())
}

pub(crate) fn input() -> impl BufRead {
    BufReader::new(std::io::stdin())
}
