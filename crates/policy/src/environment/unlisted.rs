//! The variables of a call that a person must know of. [`super::check`] refuses the dangerous ones; the listed
//! names are the few that make no program run or write anything. Every other variable is part of the decision:
//! `make` runs the content of any variable, and git writes to the file that `GIT_TRACE2` names.

use super::{Blocked, check};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Names that affect only language, time zone, colour, width and the amount of logging. Sorted, case-sensitive.
#[rustfmt::skip]
pub(super) const LISTED: [&str; 33] = [
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DEBUG", "FORCE_COLOR", "LANG",
    "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
    "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "LINES", "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "TERM",
    "TERM_PROGRAM", "TZ",
];

/// Maximum length of a listed variable's value, in bytes.
const LONGEST: usize = 256;

/// The variables of a call that are part of the decision: names, and fingerprints of `NAME=VALUE`. The values
/// themselves are not here, so that this may be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unlisted(BTreeMap<String, String>);

/// Judges the variables that a caller sets for a command. Refuses those that no command may have. Returns those
/// that need a person's approval; if there are none, the variables need none.
pub fn judge<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Unlisted, Blocked> {
    let variables: Vec<_> = variables.into_iter().collect();
    check(variables.iter().map(|(name, _)| name))?;
    Ok(Unlisted::of(variables))
}

impl Unlisted {
    /// Selects those of `variables` that are not listed, or have an unusual value.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let unlisted = variables.into_iter().filter(|(name, value)| !is_listed(name, value));
        Self(unlisted.map(|(name, value)| (name.to_owned(), fingerprint(name, value))).collect())
    }

    /// Returns true if there are no such variables.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the variables' names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn is_listed(name: &str, value: &str) -> bool {
    LISTED.binary_search(&name).is_ok() && value.len() <= LONGEST && is_plain(name, value)
}

/// Returns true if a value is one plain word. A Makefile may put it into a command, so it must not contain a
/// character that a shell interprets, begin an option or name a file. Only a time zone has slashes, as
/// `Europe/Berlin`.
fn is_plain(name: &str, value: &str) -> bool {
    let zone = name == "TZ";
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:=@+-".contains(c) || (zone && c == '/');
    let begins_oddly = value.starts_with('-') || (zone && value.starts_with([':', '/', '.']));
    value.chars().all(plain) && !value.contains("..") && !begins_oddly
}

fn fingerprint(name: &str, value: &str) -> String {
    let hash = Sha256::digest(format!("{name}={value}"));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
