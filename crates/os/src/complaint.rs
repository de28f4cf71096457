//! A line on standard error. One that cannot be written is no reason to fail: `eprintln!` would panic, and a keeper
//! that panics on a full disk takes its run along.

use std::fmt::Display;
use std::io::Write;

/// Says something on standard error, in one line and one piece.
pub fn complain(what: impl Display) {
    let line = format!("tenure: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
