//! The description of a channel.

use crate::secret::Secret;
use crate::url::Url;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const NAME_BYTES: usize = 64;

/// A channel. Made by [`crate::channels`], which checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// What people call it.
    pub name: ChannelName,
    /// Where it leads.
    pub target: Target,
}

/// Where a channel leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To somebody who is called over HTTP.
    Webhook(Webhook),
    /// To a program.
    Command(Command),
    /// To whoever listens to Tenure's events, and says that it has heard it.
    Events(Listeners),
}

/// Whoever listens to Tenure's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listeners {
    /// How long they have to say that they have heard a notice, before it is told again.
    pub timeout: Duration,
}

/// Somebody who is called over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where.
    pub url: Url,
    /// What the calls are signed with; `None`: they are not.
    pub secret: Option<Secret>,
    /// How long a call may take as a whole.
    pub timeout: Duration,
    /// Whether it may be in a private network.
    pub allow_private: bool,
}

/// A program that gets the notice on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, as a name to look for or an absolute path, and its arguments.
    pub argv: Vec<String>,
    /// Where it starts; `None`: wherever the daemon's runs do.
    pub cwd: Option<PathBuf>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A channel's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(String);

/// A text that is no channel's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no channel's name: write at most {NAME_BYTES} letters, digits, - and _, the first no -")]
pub struct BadName(String);

impl ChannelName {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChannelName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let fits = !text.is_empty() && text.len() <= NAME_BYTES && !text.starts_with('-');
        if fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName(text.chars().take(NAME_BYTES).collect()))
        }
    }
}

impl Borrow<str> for ChannelName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
