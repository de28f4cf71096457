//! Error messages on standard error. A failed write is ignored: `eprintln!` would panic, and a keeper that panics
//! on a full disk takes its run along.

use std::fmt::Display;
use std::io::Write;
use tenure_core::visible::visible_json;

/// Writes a line to standard error, in one piece. Names in the text may come from others, and a terminal would obey
/// their control characters, so they are escaped.
pub fn complain(what: impl Display) {
    let line = format!("tenure: {}\n", visible_json(&what.to_string()));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
