//! The analysis of a command line: [`analyse`] accepts plain commands with literal words, joined by `;`, `&&`,
//! `||`, `|` and newlines, and nothing else. Two readers must agree: a lexer that refuses everything it does not
//! know, and a parser of bash. [`render`] writes the accepted line so that `/bin/sh` can read it in one way only.
//!
//! Safety rests on that pair, not on agreement with every shell: the rendered line is executed, so a word that some
//! shell would read differently is still executed as it was shown and allowed.

mod agree;
mod lex;
mod parse;
mod reach;
mod refusal;
mod render;
mod runners;
mod simple;
mod words;

// The tests use lines for POSIX shells, which exist only on Unix.
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub use reach::{Reaches, not_covered, reaches};
pub use refusal::{Unanalysable, Why};
pub use render::{Unrenderable, quote, render};
pub use runners::{RunsOthers, runs_others};
pub use simple::{SimpleCommand, simple_command};

use serde::Serialize;

/// The longest line that is analysed, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Maximum number of commands in a line.
pub const MAX_SEGMENTS: usize = 64;

/// A line that was understood completely. Only [`analyse`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analysis {
    segments: Vec<Segment>,
    joins: Vec<Join>,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    argv: Vec<String>,
}

/// The operator between a command and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// `;`
    Then,
    /// A newline.
    Newline,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
}

impl Analysis {
    /// Returns the commands, at least one.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the operators between them: one less than there are commands.
    pub fn joins(&self) -> &[Join] {
        &self.joins
    }
}

impl Segment {
    /// Returns the program as it was written, and its arguments.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Returns the program as it was written.
    pub fn program(&self) -> &str {
        &self.argv[0]
    }
}

/// Analyses a line; the error names the part that cannot be analysed.
pub fn analyse(line: &str) -> Result<Analysis, Unanalysable> {
    if line.len() > MAX_BYTES {
        return Err(Unanalysable { at: MAX_BYTES, why: Why::TooLong });
    }
    // The lexer goes first, because it refuses everything that could make the parser slow.
    let analysis = lex::Lexer::new(line).analysis()?;
    agree::agreed(analysis, parse::read(line))
}
