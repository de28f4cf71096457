//! Configuration files of agents and editors. [`wrap`] puts `tenure guard --` before the command of each stdio server that a
//! file names, and [`unwrap`] removes it. Both edit the text in place: comments, order and formatting stay, and
//! `unwrap` gives back the bytes that `wrap` was given. Nothing here reads or writes a file.
#![forbid(unsafe_code)]

mod apps;
mod edit;
mod json;
mod server;
mod toml;

pub use apps::{APPS, App, ConfigFile, Directories};
pub use edit::{Changed, unwrap, wrap};

use std::ops::Range;

/// The language of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, with comments and trailing commas allowed.
    Json,
    /// TOML.
    Toml,
}

/// A table of servers or agents in a file: the keys that lead to it. `*` stands for every key.
pub type TablePath = &'static [&'static str];

/// A file that cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFile {
    /// The text does not parse.
    #[error("line {line}: {reason}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
    /// A comment stands where `unwrap` has to remove text.
    #[error("line {line}: a comment stands inside the guard's arguments of {server:?}: move it elsewhere")]
    Comment {
        /// The line, counted from 1.
        line: usize,
        /// The server.
        server: String,
    },
}

/// Returns the number of the line, counted from 1, that holds a byte of the text.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.get(..at).unwrap_or(text).matches('\n').count()
}

/// Bytes of the text.
type Span = Range<usize>;
