//! The settings in `config.toml`, and their lines.

use crate::origin::BadSettings;
use crate::raw::{RawTable, not_toml, raw_table};
use crate::table::{Setting, TABLE};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A setting that the file gives.
pub(crate) struct Given {
    pub(crate) setting: &'static Setting,
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The content of the file.
#[derive(Default)]
pub(crate) struct Contents {
    /// The settings.
    pub(crate) given: Vec<Given>,
    /// The agents' tables, for the code that runs agents.
    pub(crate) agents: RawTable,
    /// The channels' tables, for the code that delivers notices.
    pub(crate) channels: RawTable,
}

/// The tables that are not sections of settings.
const AGENTS: &str = "agents";
const CHANNELS: &str = "channels";

/// The treatment of a mistake: it is returned, or noted.
pub(crate) type OnMistake<'a> = &'a mut dyn FnMut(BadSettings) -> Result<(), BadSettings>;

/// Parses the file's text. If mistakes are noted, everything else is still read; of a text that is not TOML,
/// nothing is.
pub(crate) fn read(path: &Path, text: &str, mistake: OnMistake<'_>) -> Result<Contents, BadSettings> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            mistake(not_toml(path, text, &error))?;
            return Ok(Contents::default());
        }
    };
    let described = |name| match table.get_ref().get(name).map(toml::Spanned::get_ref) {
        Some(DeValue::Table(table)) => raw_table(text, table),
        _ => RawTable::new(),
    };
    let (agents, channels) = (described(AGENTS), described(CHANNELS));
    let mut contents = Contents { given: Vec::new(), agents, channels };
    Walk { path, text, given: &mut contents.given, mistake }.table("", table.get_ref())?;
    Ok(contents)
}

/// Returns the line of a byte, counted from 1.
pub(crate) fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].split(|&b| b == b'\n').count()
}

struct Walk<'a> {
    path: &'a Path,
    text: &'a str,
    given: &'a mut Vec<Given>,
    mistake: OnMistake<'a>,
}

impl Walk<'_> {
    fn table(&mut self, section: &str, table: &DeTable<'_>) -> Result<(), BadSettings> {
        for (name, value) in table {
            let key = if section.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{section}.{name}", name = name.get_ref())
            };
            let line = line_of(self.text, name.span().start);
            let below = format!("{key}.");
            match value.get_ref() {
                DeValue::Table(_) if key == AGENTS || key == CHANNELS => {}
                DeValue::Table(table) if TABLE.iter().any(|setting| setting.key.starts_with(&below)) => {
                    self.table(&key, table)?;
                }
                value => self.value(&key, value, line)?,
            }
        }
        Ok(())
    }

    fn value(&mut self, key: &str, value: &DeValue<'_>, line: usize) -> Result<(), BadSettings> {
        let Some(setting) = TABLE.iter().find(|setting| setting.key == key) else {
            let path = self.path.to_owned();
            let known = known_beside(key);
            return (self.mistake)(BadSettings::Unknown { path, line, key: key.to_owned(), known });
        };
        let text = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(on) => on.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            other => {
                let origin = crate::Origin::File { path: self.path.to_owned(), line };
                let why = format!("must be a text, a number or a boolean, not of type {}", other.type_str());
                return (self.mistake)(BadSettings::Value { key: setting.key, origin, why });
            }
        };
        self.given.push(Given { setting, text, line });
        Ok(())
    }
}

/// Returns the settings of the section that a wrong key is in; the sections, if there is no such section.
fn known_beside(key: &str) -> String {
    let section = key.rsplit_once('.').map_or("", |(section, _)| section);
    let in_section = |setting: &&Setting| setting.key.rsplit_once('.').is_some_and(|(its, _)| its == section);
    let beside: Vec<_> = TABLE.iter().filter(in_section).map(|setting| setting.key).collect();
    if !beside.is_empty() {
        return beside.join(", ");
    }
    let mut tops: Vec<_> = TABLE.iter().filter_map(|setting| setting.key.split('.').next()).collect();
    tops.extend([AGENTS, CHANNELS]);
    tops.sort_unstable();
    tops.dedup();
    tops.join(", ")
}
