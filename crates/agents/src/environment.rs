//! Environment of an agent's process.

use std::collections::BTreeMap;
use tenure_settings::described::{BadTable, Table, variable};

/// Key of the variables to set.
pub(crate) const ENV: &str = "env";
/// Key of the variables to pass on.
pub(crate) const ENV_PASS: &str = "env-pass";
/// Key of the variables to remove.
pub(crate) const ENV_REMOVE: &str = "env-remove";

/// Variables that an agent's process gets or must not get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// Variables to pass on from the caller's environment, or else from Tenure's own: names, or prefixes with a final `*`.
    pub pass: Vec<String>,
    /// Variables to remove: names, or prefixes with a final `*`.
    pub remove: Vec<String>,
}

impl Environment {
    /// Returns true if the process gets this variable from the environment that it is started from.
    pub fn passes(&self, name: &str) -> bool {
        self.pass.iter().any(|pattern| is_meant(pattern, name)) && !self.removes(name)
    }

    /// Returns true if the process must not get this variable.
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

/// Returns true if a pattern matches a variable's name.
fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}
