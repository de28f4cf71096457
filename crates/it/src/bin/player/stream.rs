//! Where a player speaks and listens: its standard streams.

use std::io::{BufRead, BufReader, Write};

pub(crate) fn output() -> impl Write {
    // Written line by line, whatever it is connected to.
    std::io::LineWriter::new(std::io::stdout())
}

pub(crate) fn input() -> impl BufRead {
    BufReader::new(std::io::stdin())
}
