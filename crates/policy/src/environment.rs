//! The environment of what an agent executes. Some variables make a program load or run other code; they are taken out of
//! what is inherited and refused when given. Others decide whom a program trusts, where it looks and as whom it speaks;
//! they may be inherited from the operator, and are refused when an agent gives them. Of the rest [`judge`] says which a
//! person has to be asked about.

mod names;
mod unlisted;

#[cfg(test)]
mod tests;

pub use unlisted::{Unlisted, judge};

use names::{CODE, CODE_PREFIXES, GUARDED, GUARDED_PREFIXES, GUARDED_SUFFIXES, SECRETS};
use std::fmt;

/// Variables that were given and must not be. The text names each of them and never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Blocked {
    /// Which, and why; in the order in which they were given.
    pub variables: Vec<(String, Reason)>,
}

/// Why a variable is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// It is no name.
    #[error("a name has letters, digits and _ and begins with no digit")]
    BadName,
    /// It decides which programs are found.
    #[error("it decides which programs run")]
    Path,
    /// It says who a run is.
    #[error("it is Tenure's own")]
    Identity,
    /// It makes programs load or run other code.
    #[error("it makes programs run other code")]
    Code,
    /// It is a credential.
    #[error("it is a credential")]
    Secret,
    /// It decides whom a program trusts, where it looks or as whom it speaks.
    #[error("it is for the operator to set")]
    Guarded,
}

/// What a command has that was understood word by word: no pager and no editor, which would be a program that nobody
/// named, and from which anything can be run. Git uses no system configuration, no program that watches files, no
/// commands as addresses, and no bare repository that it only happens to find in somebody else's files.
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

/// Takes out of an inherited environment of `NAME=VALUE` what must not reach an agent's command, and what has no name.
pub fn scrub(mut environment: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    environment.retain(|entry| match entry.iter().position(|&byte| byte == b'=') {
        None | Some(0) => false,
        Some(end) => inheritable(&entry[..end]),
    });
    environment
}

/// Whether a variable of this name may be inherited.
fn inheritable(name: &[u8]) -> bool {
    match classify(name) {
        Some(Reason::Code | Reason::Secret) => false,
        None | Some(Reason::BadName | Reason::Path | Reason::Identity | Reason::Guarded) => true,
    }
}

/// Checks the names of the variables that a call gives.
pub fn check<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>) -> Result<(), Blocked> {
    let refused = |name: N| classify(name.as_ref()).map(|reason| (shown(name.as_ref()), reason));
    let variables: Vec<_> = names.into_iter().filter_map(refused).collect();
    if variables.is_empty() { Ok(()) } else { Err(Blocked { variables }) }
}

/// Why a variable of this name is special, if it is. Case does not count: some programs read `http_proxy`, others
/// `HTTP_PROXY`, and a name that is blocked in one spelling is not worth having in another.
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

/// A name for people. What stands after a `=` is no part of it, and could be a value.
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
