//! The environment of an agent's commands. Some variables make a program load or run other code; they are removed
//! from the inherited environment and refused in a call. Others decide whom a program trusts, where it looks and as
//! whom it speaks; they may be inherited from the operator, but are refused in a call. Of the rest, [`judge`]
//! selects those that need a person's approval.

mod names;
mod unlisted;

#[cfg(test)]
mod tests;

pub use unlisted::{Unlisted, judge};

use names::{CODE, CODE_PREFIXES, GUARDED, GUARDED_PREFIXES, GUARDED_SUFFIXES, SECRETS};
use std::fmt;

/// Refused variables of a call. The text names each of them and never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Blocked {
    /// The names and reasons, in the order in which they were given.
    pub variables: Vec<(String, Reason)>,
}

/// The reason why a variable is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// The name is invalid.
    #[error("a name has letters, digits and _ and begins with no digit")]
    BadName,
    /// The variable decides which programs are found.
    #[error("it decides which programs run")]
    Path,
    /// The variable identifies a run.
    #[error("it is Tenure's own")]
    Identity,
    /// The variable makes programs load or run other code.
    #[error("it makes programs run other code")]
    Code,
    /// The variable is a credential.
    #[error("it is a credential")]
    Secret,
    /// The variable decides whom a program trusts, where it looks or as whom it speaks.
    #[error("it is for the operator to set")]
    Guarded,
}

/// Variables that are set for a command that was analysed word by word: without pager and editor, because those are
/// programs that nobody named, and from which anything can be run. Git uses no system configuration, no program
/// that watches files, no commands as addresses, and no bare repository that it happens to find among other files.
pub const TAME: [(&str, &str); 18] = [
    ("EDITOR", "false"),
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_KEY_1", "protocol.ext.allow"),
    ("GIT_CONFIG_KEY_2", "safe.bareRepository"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_VALUE_1", "never"),
    ("GIT_CONFIG_VALUE_2", "explicit"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("LESSOPEN", ""),
    ("LESSSECURE", "1"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("VISUAL", "false"),
];

/// Removes entries that must not reach an agent's command from an inherited environment of `NAME=VALUE`, and those
/// without a name.
pub fn scrub(mut environment: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    environment.retain(|entry| match entry.iter().position(|&byte| byte == b'=') {
        None | Some(0) => false,
        Some(end) => inheritable(&entry[..end]),
    });
    environment
}

/// Returns true if a variable of this name may be inherited.
fn inheritable(name: &[u8]) -> bool {
    match classify(name) {
        Some(Reason::Code | Reason::Secret) => false,
        None | Some(Reason::BadName | Reason::Path | Reason::Identity | Reason::Guarded) => true,
    }
}

/// Checks the names of a call's variables.
pub fn check<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>) -> Result<(), Blocked> {
    let refused = |name: N| classify(name.as_ref()).map(|reason| (shown(name.as_ref()), reason));
    let variables: Vec<_> = names.into_iter().filter_map(refused).collect();
    if variables.is_empty() { Ok(()) } else { Err(Blocked { variables }) }
}

/// Returns the reason why a variable of this name is special, if it is. Case does not matter: some programs read
/// `http_proxy`, others `HTTP_PROXY`, and a name that is blocked in one spelling is not worth allowing in another.
fn classify(name: &[u8]) -> Option<Reason> {
    let upper = name.to_ascii_uppercase();
    let is_in = |names: &[&str]| names.binary_search_by_key(&&upper[..], |name| name.as_bytes()).is_ok();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| upper.starts_with(prefix.as_bytes()));
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| upper.ends_with(suffix.as_bytes()));
    if is_in(&CODE) || begins(&CODE_PREFIXES) {
        Some(Reason::Code)
    } else if is_in(&SECRETS) {
        Some(Reason::Secret)
    } else if !is_name(name) {
        Some(Reason::BadName)
    } else if upper == b"PATH" {
        Some(Reason::Path)
    } else if upper.starts_with(b"TENURE_") {
        Some(Reason::Identity)
    } else if is_in(&GUARDED) || begins(&GUARDED_PREFIXES) || ends(&GUARDED_SUFFIXES) {
        Some(Reason::Guarded)
    } else {
        None
    }
}

fn is_name(name: &[u8]) -> bool {
    let good = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.iter().all(good) && name.first().is_some_and(|first| !first.is_ascii_digit())
}

/// Returns a name for people. The part after a `=` is removed, because it could be a value.
fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 64;
    let name = name.split(|&byte| byte == b'=').next().unwrap_or_default();
    let text = String::from_utf8_lossy(name);
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these variables cannot be given: ")?;
        for (at, (name, reason)) in self.variables.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name:?} ({reason})")?;
        }
        f.write_str("; leave them out of env")
    }
}
