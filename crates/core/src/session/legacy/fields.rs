//! The known fields of a record. All others are skipped while parsing: there are conversations of megabytes.

use super::read::BadLegacy;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The content of a file.
pub(super) enum Content {
    /// A single record.
    One(Fields),
    /// A list of records.
    Many(Vec<Fields>),
}

/// The known fields of one record. A field that is `null` counts as missing.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<&'static str, Value>);

const KNOWN: [&str; 27] = [
    "schema",
    "acpx_record_id",
    "acp_session_id",
    "agent_command",
    "agent_argv",
    "cwd",
    "name",
    "title",
    "created_at",
    "closed",
    "closed_at",
    "pid",
    "agent_started_at",
    "key",
    "agent",
    "kind",
    "command",
    "startedAtMs",
    "startedAt",
    "createdAtMs",
    "createdAt",
    "closedAtMs",
    "closedAt",
    "resume",
    "label",
    "parent",
    "wrapper",
];

const SESSIONS: &str = "sessions";

struct OfFile;

impl<'de> Visitor<'de> for OfFile {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record, or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut all = Vec::new();
        while let Some(fields) = list.next_element()? {
            all.push(fields);
        }
        Ok(Content::Many(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut fields = BTreeMap::new();
        let mut many = None;
        while let Some(name) = map.next_key::<String>()? {
            if name != SESSIONS {
                take(&name, &mut fields, &mut map)?;
            } else if many.replace(map.next_value()?).is_some() {
                return Err(twice(SESSIONS));
            }
        }
        Ok(many.map_or(Content::One(Fields(fields)), Content::Many))
    }
}

struct OfRecord;

impl<'de> Visitor<'de> for OfRecord {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            take(&name, &mut fields, &mut map)?;
        }
        Ok(Fields(fields))
    }
}

fn take<'de, A: MapAccess<'de>>(
    name: &str,
    fields: &mut BTreeMap<&'static str, Value>,
    map: &mut A,
) -> Result<(), A::Error> {
    let Some(known) = KNOWN.into_iter().find(|known| *known == name) else {
        return map.next_value::<IgnoredAny>().map(|_| ());
    };
    match fields.insert(known, map.next_value()?) {
        Some(_) => Err(twice(known)),
        None => Ok(()),
    }
}

fn twice<E: Error>(name: &str) -> E {
    E::custom(format_args!("the field {name} is there twice"))
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfFile)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfRecord)
    }
}

impl Fields {
    pub(super) fn value(&self, name: &'static str) -> Option<&Value> {
        debug_assert!(KNOWN.contains(&name), "{name} is passed over");
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, name: &'static str) -> bool {
        self.value(name).is_some()
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, BadLegacy> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(other) => Err(BadLegacy::wrong(name, "a text that is not empty", other)),
        }
    }

    /// Returns a text of one line, which people see or a program receives.
    pub(super) fn line(&self, name: &'static str) -> Result<Option<&str>, BadLegacy> {
        const BYTES: usize = 512;
        match self.text(name)? {
            Some(text) if text.len() > BYTES || text.chars().any(char::is_control) => {
                Err(BadLegacy::NotALine { field: name, most: BYTES })
            }
            other => Ok(other),
        }
    }

    pub(super) fn flag(&self, name: &'static str) -> Result<bool, BadLegacy> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(is)) => Ok(*is),
            Some(other) => Err(BadLegacy::wrong(name, "true or false", other)),
        }
    }

    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, BadLegacy> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(BadLegacy::wrong(name, "a whole number that is not negative", value)),
            },
        }
    }

    /// Returns a time that is written as text, in Unix milliseconds.
    pub(super) fn moment(&self, name: &'static str) -> Result<Option<u64>, BadLegacy> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let moment = super::instant::unix_ms(text);
        moment
            .map(Some)
            .ok_or_else(|| BadLegacy::NoMoment { field: name, text: text.chars().take(64).collect() })
    }

    /// Returns the words of a list that is not empty.
    pub(super) fn words(&self, name: &'static str) -> Result<Option<Vec<String>>, BadLegacy> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let words = value.as_array().filter(|list| !list.is_empty()).and_then(|list| {
            list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        words.map(Some).ok_or_else(|| BadLegacy::wrong(name, "a list of words", value))
    }
}
