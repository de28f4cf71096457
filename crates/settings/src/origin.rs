//! The origin of values, and their errors.

use serde::Serialize;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The origin of a setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// An environment variable.
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

/// A setting, formatted for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// The key in `config.toml`, with a dot after the section.
    pub key: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// The value, as it could be written.
    pub value: String,
    /// The origin of the value.
    pub origin: Origin,
    /// The purpose of the setting.
    pub about: &'static str,
}

/// Invalid settings. Each error names the place, and the way to fix it.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// No directory is available as the state root.
    #[error("the state root is unknown: set TENURE_STATE to a directory of your own")]
    NoStateRoot,
    /// The configuration file that a variable names does not exist.
    #[error("TENURE_CONFIG names {}, which does not exist: create the file, or unset TENURE_CONFIG", .0.display())]
    Missing(PathBuf),
    /// The configuration file cannot be read.
    #[error("the configuration {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The configuration file is not TOML.
    #[error("{}:{line}: invalid TOML: {why}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The error.
        why: String,
    },
    /// The configuration file names an unknown setting.
    #[error("{}:{line}: unknown setting {key:?}: use one of {known}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The unknown key.
        key: String,
        /// The valid keys.
        known: String,
    },
    /// A flag names an unknown setting.
    #[error("unknown setting {0:?}")]
    UnknownFlag(String),
    /// A value is invalid.
    #[error("{key} (from {origin}): {why}")]
    Value {
        /// The setting's key.
        key: &'static str,
        /// The origin of the value.
        origin: Origin,
        /// The error, and the way to fix it.
        why: String,
    },
    /// Settings that contradict each other.
    #[error("{0}")]
    Contradiction(String),
}

impl BadSettings {
    /// Returns true if no command can continue, because the installation is unknown.
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

    /// Returns true if the configuration file could not be read at all.
    pub fn is_without_file(&self) -> bool {
        matches!(self, BadSettings::Missing(_) | BadSettings::Unreadable { .. })
    }
}
