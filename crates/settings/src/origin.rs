//! Where a value came from, and what can be wrong with it.

use serde::Serialize;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where a setting's value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// This variable.
    Environment(&'static str),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag => f.write_str("flag"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// One setting as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Its name in `config.toml`, with a dot after the section.
    pub key: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// Its value, as it could be written.
    pub value: String,
    /// Where that came from.
    pub origin: Origin,
    /// What it is for.
    pub about: &'static str,
}

/// Settings that cannot be used. Each says where, and what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// There is no place for the state root.
    #[error("there is no state root: set TENURE_STATE to a directory of your own")]
    NoStateRoot,
    /// The configuration file that was named is not there.
    #[error("TENURE_CONFIG names {}, which does not exist: write the file, or unset TENURE_CONFIG", .0.display())]
    Missing(PathBuf),
    /// The configuration file is there and cannot be read.
    #[error("the configuration {} cannot be read: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The configuration file is not TOML.
    #[error("{}:{line}: this is not TOML: {why}", path.display())]
    NotToml {
        /// Which file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Why.
        why: String,
    },
    /// The configuration file names a setting that does not exist.
    #[error("{}:{line}: there is no setting {key}: there are {known}", path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What was named.
        key: String,
        /// What could have been meant.
        known: String,
    },
    /// A flag names a setting that does not exist.
    #[error("there is no setting {0}")]
    UnknownFlag(String),
    /// A value that its setting cannot have.
    #[error("{key} (from {origin}): {why}")]
    Value {
        /// Which setting.
        key: &'static str,
        /// Where the value is from.
        origin: Origin,
        /// What is wrong, and what to write.
        why: String,
    },
    /// Settings that contradict each other.
    #[error("{0}")]
    Contradiction(String),
}

impl BadSettings {
    /// Whether nobody can go on without it: it is not known which installation is meant.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            BadSettings::NoStateRoot | BadSettings::UnknownFlag(_) => true,
            BadSettings::Value { key, .. } => ["state", "registry"].contains(key),
            BadSettings::Missing(_)
            | BadSettings::Unreadable { .. }
            | BadSettings::NotToml { .. }
            | BadSettings::Unknown { .. }
            | BadSettings::Contradiction(_) => false,
        }
    }

    /// Whether nothing of the configuration file could be read.
    pub fn is_without_file(&self) -> bool {
        matches!(self, BadSettings::Missing(_) | BadSettings::Unreadable { .. })
    }
}
