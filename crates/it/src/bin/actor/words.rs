//! The command line, taken word by word, and what a verb comes back with.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::str::FromStr;

/// The exit code of a process that came to its end.
pub(crate) type Outcome = Result<i32, Fault>;

/// Why a verb could not be played.
pub(crate) enum Fault {
    Usage(String),
    Failed(String),
}

impl Fault {
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// What is left of the command line.
pub(crate) struct Words(VecDeque<String>);

impl Words {
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        Self(words.collect())
    }

    pub(crate) fn starts_with(&self, word: &str) -> bool {
        self.0.front().is_some_and(|first| first == word)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next word; `what` is its name in the usage.
    pub(crate) fn next<T: FromStr>(&mut self, what: &str) -> Result<T, Fault> {
        let word = self.0.pop_front().ok_or_else(|| Fault::Usage(format!("{what} is missing")))?;
        parse(&word, what)
    }

    /// Takes `name VALUE` out, wherever it is.
    pub(crate) fn option<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Fault> {
        let Some(at) = self.0.iter().position(|word| word == name) else { return Ok(None) };
        self.0.remove(at);
        let value = self.0.remove(at).ok_or_else(|| Fault::Usage(format!("{name} needs a value")))?;
        parse(&value, name).map(Some)
    }

    /// Takes `name` out, wherever it is, and says whether it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|word| word == name);
        at.is_some_and(|at| self.0.remove(at).is_some())
    }

    /// Refuses words that no verb has asked for.
    pub(crate) fn end(mut self) -> Result<(), Fault> {
        match self.0.pop_front() {
            Some(word) => Err(Fault::Usage(format!("{word} is one word too many"))),
            None => Ok(()),
        }
    }

    pub(crate) fn rest(self) -> impl Iterator<Item = String> {
        self.0.into_iter()
    }
}

fn parse<T: FromStr>(word: &str, what: &str) -> Result<T, Fault> {
    word.parse().map_err(|_| Fault::Usage(format!("{word} is no {what}")))
}
