//! Arguments of the command line, and the result of a verb.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::str::FromStr;

/// Exit code of a process whose verb has ended.
pub(crate) type VerbResult = Result<i32, VerbError>;

/// Reason why a verb failed.
pub(crate) enum VerbError {
    Usage(String),
    Failed(String),
}

impl VerbError {
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }

    pub(crate) fn in_verb(self, usage: &str) -> Self {
        match self {
            Self::Usage(text) => Self::Usage(format!("{usage}: {text}")),
            Self::Failed(text) => Self::Failed(format!("{usage}: {text}")),
        }
    }
}

impl fmt::Display for VerbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl From<io::Error> for VerbError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<rustix::io::Errno> for VerbError {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// Remaining words of the command line.
pub(crate) struct Args(VecDeque<String>);

impl Args {
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        Self(words.collect())
    }

    pub(crate) fn starts_with(&self, word: &str) -> bool {
        self.0.front().is_some_and(|first| first == word)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next word; `what` is its name in the usage.
    pub(crate) fn next<T: FromStr>(&mut self, what: &str) -> Result<T, VerbError> {
        let word = self.0.pop_front().ok_or_else(|| VerbError::Usage(format!("{what} is missing")))?;
        parse(&word, what)
    }

    /// Takes `name VALUE` out, at any position.
    pub(crate) fn option<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, VerbError> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        self.0.remove(at);
        let value = self.0.remove(at).ok_or_else(|| VerbError::Usage(format!("{name} needs a value")))?;
        parse(&value, name).map(Some)
    }

    /// Takes `name` out, at any position, and returns whether it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|word| word == name);
        at.is_some_and(|at| self.0.remove(at).is_some())
    }

    /// Refuses words that no verb has taken.
    pub(crate) fn end(mut self) -> Result<(), VerbError> {
        match self.0.pop_front() {
            Some(word) => Err(VerbError::Usage(format!("{word} is one word too many"))),
            None => Ok(()),
        }
    }

    pub(crate) fn rest(self) -> impl Iterator<Item = String> {
        self.0.into_iter()
    }
}

fn parse<T: FromStr>(word: &str, what: &str) -> Result<T, VerbError> {
    word.parse().map_err(|_| VerbError::Usage(format!("{word} is no {what}")))
}
