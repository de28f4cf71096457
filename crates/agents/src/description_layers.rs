//! Descriptions as tables: the built-in ones, with the tables `[agents.NAME]` of `config.toml` merged over them key by
//! key. Other modules interpret the tables.

use crate::environment::ENV_PASS;
use std::collections::BTreeMap;
use std::path::{Path, is_separator};
use tenure_core::session::AgentId;
use tenure_settings::described::{BadTable as BadAgent, Table};
use tenure_settings::raw::{self, Raw, RawTable, RawValue};

/// Built-in descriptions by name, in the format of `config.toml`.
pub const BUILT_IN: [(&str, &str); BUILT_IN_COUNT] = [
    ("auggie", include_str!("builtin/auggie.toml")),
    ("claude", include_str!("builtin/claude.toml")),
    ("cline", include_str!("builtin/cline.toml")),
    ("codex", include_str!("builtin/codex.toml")),
    ("copilot", include_str!("builtin/copilot.toml")),
    ("cursor", include_str!("builtin/cursor.toml")),
    ("gemini", include_str!("builtin/gemini.toml")),
    ("goose", include_str!("builtin/goose.toml")),
    ("kimi", include_str!("builtin/kimi.toml")),
    ("kiro", include_str!("builtin/kiro.toml")),
    ("opencode", include_str!("builtin/opencode.toml")),
    ("pi", include_str!("builtin/pi.toml")),
    ("qoder", include_str!("builtin/qoder.toml")),
    ("qwen", include_str!("builtin/qwen.toml")),
];
const BUILT_IN_COUNT: usize = 14;

/// Key of an agent's table that holds the description of its adapter.
pub(crate) const ACP: &str = "acp";

/// Descriptions by agent name. An invalid description is an error of its own and does not affect the others.
pub type Described<T> = BTreeMap<String, Result<T, BadAgent>>;

/// Table of every agent, with its line in the config file; 0 for a built-in one.
pub(crate) struct Layers<'a> {
    file: &'a Path,
    given: &'a RawTable,
    tables: BTreeMap<String, (usize, RawTable)>,
}

impl<'a> Layers<'a> {
    pub(crate) fn new(file: &'a Path, given: &'a RawTable) -> Self {
        let built_in = BUILT_IN.map(|(name, text)| {
            let table = without_lines(raw::parse(Path::new(name), text).unwrap_or_default());
            (name.to_owned(), (0, table))
        });
        let mut tables = BTreeMap::from(built_in);
        for (name, raw) in given {
            let (line, table) = tables.entry(name.clone()).or_default();
            *line = raw.line;
            if let RawValue::Table(over) = &raw.value {
                lay_over(table, over);
            }
        }
        Self { file, given, tables }
    }

    /// Reads every agent's table with `read`. Skips agents for which it returns `None`.
    pub(crate) fn each<T>(
        &self,
        read: impl Fn(&AgentId, &Table<'_>) -> Result<Option<T>, BadAgent>,
    ) -> Described<T> {
        let one = |(name, (line, values)): (&String, &(usize, RawTable))| {
            let id = self.checked(name)?;
            read(&id, &Table { file: self.file, key: format!("agents.{name}"), line: *line, values })
        };
        let named = |entry: (&String, &(usize, RawTable))| Some((entry.0.clone(), one(entry).transpose()?));
        self.tables.iter().filter_map(named).collect()
    }

    /// Parses an agent's name. Fails if the config file gives it something other than a table.
    fn checked(&self, name: &str) -> Result<AgentId, BadAgent> {
        let root = Table { file: self.file, key: "agents".to_owned(), line: 1, values: self.given };
        match self.given.get(name).map(|raw| &raw.value) {
            None | Some(RawValue::Table(_)) => {
                name.parse().map_err(|why: tenure_core::session::BadAgent| root.bad(name, why.to_string()))
            }
            Some(other) => {
                Err(root.bad(name, format!("must be a table, [agents.{name}], not {}", other.kind())))
            }
        }
    }
}

/// Reads the program of a description. `arguments` names the keys of its arguments, for the error message.
pub(crate) fn command(table: &Table<'_>, arguments: &str) -> Result<String, BadAgent> {
    let text = table.text("command")?.unwrap_or_default();
    let is_program = !text.is_empty() && !text.contains('\0') && !text.starts_with('-');
    if is_program && (!text.contains(is_separator) || Path::new(text).is_absolute()) {
        return Ok(text.to_owned());
    }
    let why =
        format!("write the program's name or its absolute path, and put its arguments into {arguments}");
    Err(table.bad("command", format!("{text:?} is not a program: {why}")))
}

/// Sets all line numbers to 0: a built-in table has no line in the user's file.
fn without_lines(table: RawTable) -> RawTable {
    let strip = |raw: Raw| {
        let value = match raw.value {
            RawValue::Table(table) => RawValue::Table(without_lines(table)),
            other => other,
        };
        Raw { line: 0, value }
    };
    table.into_iter().map(|(name, raw)| (name, strip(raw))).collect()
}

/// Merges a table over another key by key. Its values replace those below, except in tables and `env-pass`.
fn lay_over(base: &mut RawTable, over: &RawTable) {
    for (name, raw) in over {
        match (base.get_mut(name), &raw.value) {
            (Some(Raw { line, value: RawValue::Table(below) }), RawValue::Table(table)) => {
                *line = raw.line;
                lay_over(below, table);
            }
            // The agent still needs the variables of the built-in description: the user's are added to them.
            (Some(Raw { line, value: RawValue::Array(below) }), RawValue::Array(more))
                if name == ENV_PASS =>
            {
                *line = raw.line;
                below.extend(more.iter().cloned());
            }
            _ => drop(base.insert(name.clone(), raw.clone())),
        }
    }
}
