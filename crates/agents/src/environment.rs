//! What an agent's process sees of the environment.

use std::collections::BTreeMap;
use tenure_settings::described::{BadTable, Table, variable};

/// The keys that describe it.
pub(crate) const ENV: &str = "env";
pub(crate) const ENV_PASS: &str = "env-pass";
pub(crate) const ENV_REMOVE: &str = "env-remove";

/// What is set, passed on and taken away for the process of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// Variables of the caller's environment, or of Tenure's own, that it gets: names, or beginnings of names with `*` at their end.
    pub pass: Vec<String>,
    /// Variables that it must not see: names, or beginnings of names with `*` at their end.
    pub remove: Vec<String>,
}

impl Environment {
    /// Whether it gets a variable of the environment that it is started from.
    pub fn passes(&self, name: &str) -> bool {
        self.pass.iter().any(|pattern| is_meant(pattern, name)) && !self.removes(name)
    }

    /// Whether it must not see a variable.
    pub fn removes(&self, name: &str) -> bool {
        self.remove.iter().any(|pattern| is_meant(pattern, name))
    }

    /// Reads `env`, `env-pass` and `env-remove` of a description.
    pub(crate) fn read(table: &Table<'_>) -> Result<Self, BadTable> {
        let names = |key: &str| table.each(key, table.array(key)?.unwrap_or_default(), variable);
        let (set, pass) = (table.table(ENV)?.variables()?, names(ENV_PASS)?);
        let remove = names(ENV_REMOVE)?;
        let is_removed = |name: &&String| remove.iter().any(|pattern| is_meant(pattern, name));
        if let Some(name) = set.keys().find(is_removed) {
            return Err(
                table.bad(ENV_REMOVE, format!("{name} is set in env as well: write it in one of the two"))
            );
        }
        Ok(Self { set, pass, remove })
    }
}

/// Whether a pattern means a variable.
fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}
