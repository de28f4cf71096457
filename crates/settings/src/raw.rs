//! The parts of `config.toml` that are not settings of the table: passed on as they are written, with the line of
//! every value, to the code that interprets them.

use crate::file::line_of;
use crate::origin::BadSettings;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A value and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// The line of its key, or of the value itself in an array; counted from 1.
    pub line: usize,
    /// The value as it is written.
    pub value: RawValue,
}

/// A table, by key.
pub type RawTable = BTreeMap<String, Raw>;

/// A value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawValue {
    /// A text.
    Text(String),
    /// A number, as written.
    Number(String),
    /// A boolean.
    Switch(bool),
    /// A date or a time, as written.
    Date(String),
    /// Several values.
    Array(Vec<Raw>),
    /// Values with keys.
    Table(RawTable),
}

impl RawValue {
    /// Returns the name of the kind of value, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            RawValue::Text(_) => "a text",
            RawValue::Number(_) => "a number",
            RawValue::Switch(_) => "a boolean",
            RawValue::Date(_) => "a date",
            RawValue::Array(_) => "an array",
            RawValue::Table(_) => "a table",
        }
    }
}

/// Parses a TOML text.
pub fn parse(path: &Path, text: &str) -> Result<RawTable, BadSettings> {
    let table = DeTable::parse(text).map_err(|error| not_toml(path, text, &error))?;
    Ok(raw_table(text, table.get_ref()))
}

pub(crate) fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> BadSettings {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    BadSettings::NotToml { path: path.to_owned(), line, why: error.message().to_owned() }
}

pub(crate) fn raw_table(text: &str, table: &DeTable<'_>) -> RawTable {
    let entries = table.iter().map(|(name, value)| {
        let line = line_of(text, name.span().start);
        (name.get_ref().to_string(), Raw { line, value: raw_value(text, value.get_ref()) })
    });
    entries.collect()
}

fn raw_value(text: &str, value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(word) => RawValue::Text(word.to_string()),
        DeValue::Integer(number) => RawValue::Number(number.as_str().to_owned()),
        DeValue::Float(number) => RawValue::Number(number.as_str().to_owned()),
        DeValue::Boolean(on) => RawValue::Switch(*on),
        DeValue::Datetime(date) => RawValue::Date(date.to_string()),
        DeValue::Array(values) => {
            let one = |value: &toml::Spanned<DeValue<'_>>| {
                let line = line_of(text, value.span().start);
                Raw { line, value: raw_value(text, value.get_ref()) }
            };
            RawValue::Array(values.iter().map(one).collect())
        }
        DeValue::Table(table) => RawValue::Table(raw_table(text, table)),
    }
}
