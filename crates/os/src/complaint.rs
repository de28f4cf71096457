//! A line on standard error. One that cannot be written is no reason to fail: `eprintln!` would panic, and a keeper
//! that panics on a full disk takes its run along.

use std::fmt::Display;
use std::io::Write;
use tenure_core::visible::visible_json;

/// Writes one line to standard error, in one piece. The text may contain names that others chose, so it is escaped: a
/// terminal would obey it.
pub fn complain(what: impl Display) {
    let line = format!("tenure: {}\n", visible_json(&what.to_string()));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
