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

/// A channel, checked by [`crate::channels`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The channel's name.
    pub name: ChannelName,
    /// The receiver of its notices.
    pub target: Target,
}

/// Receiver of a channel's notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A webhook.
    Webhook(Webhook),
    /// A program.
    Command(Command),
    /// Listeners of the event stream, who acknowledge each notice.
    Events(Listeners),
}

/// Listeners of the event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listeners {
    /// Time to acknowledge a notice before it is sent again.
    pub timeout: Duration,
}

/// A receiver that is called over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The address.
    pub url: Url,
    /// The secret that signs the calls; `None`: calls are not signed.
    pub secret: Option<Secret>,
    /// Time limit of a whole call.
    pub timeout: Duration,
    /// Allows addresses of private networks.
    pub allow_private: bool,
}

/// A program that gets the notice on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, as a name to look for or an absolute path, and its arguments.
    pub argv: Vec<String>,
    /// The working directory; `None`: that of the daemon's runs.
    pub cwd: Option<PathBuf>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Time limit.
    pub timeout: Duration,
}

/// A channel's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(String);

/// An invalid channel name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid channel name {0:?}: use at most {NAME_BYTES} letters, digits, - and _, and do not begin with -"
)]
pub struct BadName(String);

impl ChannelName {
    /// Returns the name's text.
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
