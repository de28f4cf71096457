//! A command line taken apart: [`analyse`] accepts plain commands with literal words, joined by `;`, `&&`, `||`, `|` and
//! newlines, and nothing else. Two readers must agree: a lexer that refuses whatever it does not know, and a parser of bash.
//! [`render`] writes what was accepted so that `/bin/sh` can read it in one way only.
//!
//! Safety rests on that pair, not on agreeing with every shell: what is executed is the rendered line, so a word that some
//! shell would read otherwise is still executed as it was shown and allowed.

mod agree;
mod lex;
mod parse;
mod reach;
mod refusal;
mod render;
mod runners;
mod simple;
mod words;

// Of lines for POSIX shells; there is nothing to them elsewhere.
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
/// The most commands in one line.
pub const MAX_SEGMENTS: usize = 64;

/// A line that was understood completely. Only [`analyse`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analysis {
    segments: Vec<Segment>,
    joins: Vec<Join>,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    argv: Vec<String>,
}

/// What stands between a command and the next.
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
    /// The commands, at least one.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// What stands between them: one less than there are commands.
    pub fn joins(&self) -> &[Join] {
        &self.joins
    }
}

impl Segment {
    /// The program as it was written, and its arguments.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// The program as it was written.
    pub fn program(&self) -> &str {
        &self.argv[0]
    }
}

/// Takes a line apart, or says what in it cannot be.
pub fn analyse(line: &str) -> Result<Analysis, Unanalysable> {
    if line.len() > MAX_BYTES {
        return Err(Unanalysable { at: MAX_BYTES, why: Why::TooLong });
    }
    // The lexer goes first, for what it refuses is what could make the parser slow.
    let analysis = lex::Lexer::new(line).analysis()?;
    agree::agreed(analysis, parse::read(line))
}
