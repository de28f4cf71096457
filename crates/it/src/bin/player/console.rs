//! Input and output of a player on Windows: its standard streams, or its console if it has none. Wine gives no streams
//! to a process in a pseudo-console.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::windows::io::AsRawHandle;

pub(crate) fn output() -> Box<dyn Write> {
    let stdout = std::io::stdout();
    if stdout.as_raw_handle().is_null() { Box::new(console("CONOUT$")) } else { Box::new(stdout) }
}

pub(crate) fn input() -> Box<dyn BufRead> {
    let stdin = std::io::stdin();
    if stdin.as_raw_handle().is_null() {
        Box::new(BufReader::new(console("CONIN$")))
    } else {
        Box::new(BufReader::new(stdin))
    }
}

fn console(name: &str) -> File {
    OpenOptions::new().read(true).write(true).open(name).expect("a console")
}
