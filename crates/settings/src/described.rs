//! A table that describes something, such as `[agents.NAME]`: its values by kind, and errors that name the key and
//! its line.

use crate::raw::{Raw, RawTable, RawValue};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::duration;

/// An invalid description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// A key is unknown.
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
    /// A value is invalid.
    #[error("{key} (from {}:{line}): {why}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key.
        key: String,
        /// The error, and the way to fix it.
        why: String,
    },
}

/// An optional duration.
pub enum Length {
    /// The table has none.
    NotGiven,
    /// The value is "no limit".
    Off,
    /// The value is a duration.
    Of(Duration),
}

/// A table with its place in the file. A built-in value has no line of its own, so errors name the line of the
/// table.
pub struct Table<'a> {
    /// The file.
    pub file: &'a Path,
    /// The table's key, such as `agents.claude`.
    pub key: String,
    /// The line of its key.
    pub line: usize,
    /// The table's values.
    pub values: &'a RawTable,
}

impl<'a> Table<'a> {
    /// Makes the error of a value, with the way to fix it.
    pub fn bad(&self, name: &str, why: impl Into<String>) -> BadTable {
        let line = self.values.get(name).map_or(0, |raw| raw.line);
        self.bad_at(name, line, why)
    }

    fn bad_at(&self, name: &str, line: usize, why: impl Into<String>) -> BadTable {
        let line = if line == 0 { self.line } else { line };
        let key = format!("{}.{name}", self.key);
        BadTable::Value { path: self.file.to_owned(), line, key, why: why.into() }
    }

    /// Refuses all keys except these.
    pub fn known(&self, names: &[&str]) -> Result<(), BadTable> {
        let Some((name, raw)) = self.values.iter().find(|(name, _)| !names.contains(&name.as_str())) else {
            return Ok(());
        };
        let (path, key) = (self.file.to_owned(), format!("{}.{name}", self.key));
        Err(BadTable::Unknown { path, line: raw.line, key, known: names.join(", ") })
    }

    /// Returns a text.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, BadTable> {
        self.values.get(name).map(|raw| self.as_text(name, raw)).transpose()
    }

    fn as_text(&self, name: &str, raw: &'a Raw) -> Result<&'a str, BadTable> {
        match &raw.value {
            RawValue::Text(text) => Ok(text),
            other => Err(self.bad_at(name, raw.line, format!("must be a text, not {}", other.kind()))),
        }
    }

    /// Returns the value of one of these words.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)], otherwise: T) -> Result<T, BadTable> {
        let Some(text) = self.text(name)? else { return Ok(otherwise) };
        let found = words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
        let all: Vec<_> = words.iter().map(|&(word, _)| word).collect();
        found.ok_or_else(|| self.bad(name, format!("unknown value {text:?}: use {}", all.join(" or "))))
    }

    /// Returns a duration.
    pub fn length(&self, name: &str) -> Result<Length, BadTable> {
        let text = match self.text(name)? {
            None => return Ok(Length::NotGiven),
            Some("off" | "none") => return Ok(Length::Off),
            Some(text) => text,
        };
        let length = duration::parse(text).map_err(|error| self.bad(name, error.to_string()))?;
        Ok(length.map_or(Length::Off, Length::Of))
    }

    /// Returns an array.
    pub fn array(&self, name: &str) -> Result<Option<&'a [Raw]>, BadTable> {
        let Some(raw) = self.values.get(name) else { return Ok(None) };
        match &raw.value {
            RawValue::Array(values) => Ok(Some(values)),
            other => Err(self.bad(name, format!("must be an array of texts, not {}", other.kind()))),
        }
    }

    /// Returns the texts of an array, each parsed by `read`, whose error says what to write.
    pub fn each<T>(
        &self,
        name: &str,
        values: &'a [Raw],
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, BadTable> {
        let one = |raw: &'a Raw| {
            let text = self.as_text(name, raw)?;
            read(text).map_err(|why| self.bad_at(name, raw.line, why))
        };
        values.iter().map(one).collect()
    }

    /// Returns a switch.
    pub fn switch(&self, name: &str, otherwise: bool) -> Result<bool, BadTable> {
        match self.values.get(name).map(|raw| &raw.value) {
            None => Ok(otherwise),
            Some(RawValue::Switch(on)) => Ok(*on),
            Some(other) => Err(self.bad(name, format!("must be true or false, not {}", other.kind()))),
        }
    }

    /// Returns a single text, or several, as a list.
    pub fn one_or_more<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, BadTable> {
        let Some(raw) = self.values.get(name) else { return Ok(Vec::new()) };
        match &raw.value {
            RawValue::Array(values) => self.each(name, values, read),
            _ => self.each(name, std::slice::from_ref(raw), read),
        }
    }

    /// Returns a table within this one; an empty one, if it is missing.
    pub fn table(&self, name: &str) -> Result<Table<'a>, BadTable> {
        static EMPTY: RawTable = RawTable::new();
        let key = format!("{}.{name}", self.key);
        let (line, values) = match self.values.get(name) {
            None => (self.line, &EMPTY),
            Some(Raw { line, value: RawValue::Table(values) }) => {
                (if *line == 0 { self.line } else { *line }, values)
            }
            Some(raw) => return Err(self.bad(name, format!("must be a table, not {}", raw.value.kind()))),
        };
        Ok(Table { file: self.file, key, line, values })
    }

    /// Returns its entries as environment variables.
    pub fn variables(&self) -> Result<BTreeMap<String, String>, BadTable> {
        let one = |name: &String| {
            let name = variable(name).map_err(|why| self.bad(name, why))?;
            let value = self.text(&name)?.unwrap_or_default();
            let value = literal(value).map_err(|why| self.bad(&name, why))?;
            Ok((name, value))
        };
        self.values.keys().map(one).collect()
    }
}

/// Checks a text that becomes an argument of a program.
pub fn literal(text: &str) -> Result<String, String> {
    if text.contains('\0') {
        Err("it contains a NUL byte: remove it".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Checks the name of a variable that users may set.
pub fn variable(name: &str) -> Result<String, String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!("{name:?} is not a variable name: use one without ="));
    }
    if name.starts_with("TENURE_") {
        return Err(format!("{name} is reserved for Tenure: remove it"));
    }
    Ok(name.to_owned())
}
