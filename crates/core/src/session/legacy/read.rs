//! Parses the records of one file: acpx's own form, and a plain form for all others (`docs/import.md`). Nothing is
//! guessed: a record with an error is reported, and only that one is left out.

use super::fields::{Content, Fields};
use super::{LegacyCommand, LegacyRecord, LegacyRoot};
use crate::session::key::{AgentId, BadAgent, BadKey, SessionKey};
use crate::session::words::{Backend, BadWord, Kind};
use serde_json::Value;

/// The only version of acpx's records so far.
const ACPX: &str = "acpx.session.v1";
/// The ending of the names of generated wrappers.
const WRAPPER: &str = "-acp-wrapper.mjs";

/// The reason why a record is not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLegacy {
    /// The file is not JSON, or not JSON that could be a record.
    #[error("invalid JSON: {0}")]
    NotUnderstood(String),
    /// The JSON is about something else.
    #[error(
        "this is not a session record: it has neither acpx_record_id nor any of key, command, pid and resume"
    )]
    NoRecord,
    /// The record has a newer or foreign schema.
    #[error("unknown schema {0:?}, only {ACPX} is supported: import it with a newer Tenure")]
    Schema(String),
    /// A field has another type.
    #[error("{field} must be {wanted}, not {found}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The expected type.
        wanted: &'static str,
        /// The type found.
        found: &'static str,
    },
    /// A required field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A text has several lines, or is too long.
    #[error("{field} must be one line of at most {most} bytes")]
    NotALine {
        /// The field.
        field: &'static str,
        /// Its maximum length.
        most: usize,
    },
    /// A text is not a time.
    #[error("{field} {text:?} is not a time: use one such as 2026-02-03T04:05:06.789Z")]
    NoMoment {
        /// The field.
        field: &'static str,
        /// The beginning of the text.
        text: String,
    },
    /// Two fields have the same meaning.
    #[error("both {0} and {1} are given: remove one")]
    Both(&'static str, &'static str),
    /// The number cannot be the process of a session.
    #[error("pid {0} cannot be a session's process")]
    Pid(u64),
    /// The directory is relative.
    #[error("cwd {0:?} is relative: use an absolute path")]
    NotAbsolute(String),
    /// There is no key, and none can be made.
    #[error("the session key is invalid: {0}")]
    Key(#[from] BadKey),
    /// The agent's name is invalid.
    #[error(transparent)]
    Agent(#[from] BadAgent),
    /// The kind is unknown.
    #[error(transparent)]
    Kind(#[from] BadWord),
}

impl BadLegacy {
    pub(super) fn wrong(field: &'static str, wanted: &'static str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "another number",
            Value::String(text) if text.trim().is_empty() => "an empty text",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Self::WrongType { field, wanted, found }
    }
}

/// Parses the records of a file. `stem` is the file's name without its extension, and names a record without a key.
pub fn read(stem: &str, bytes: &[u8]) -> Result<Vec<Result<LegacyRecord, BadLegacy>>, BadLegacy> {
    let content: Content =
        serde_json::from_slice(bytes).map_err(|error| BadLegacy::NotUnderstood(error.to_string()))?;
    Ok(match content {
        Content::One(fields) => vec![record(&fields, stem)],
        Content::Many(list) => {
            let numbered = list.iter().enumerate();
            numbered.map(|(at, fields)| record(fields, &format!("{stem}:{}", at + 1))).collect()
        }
    })
}

fn record(fields: &Fields, name: &str) -> Result<LegacyRecord, BadLegacy> {
    match fields.text("schema")? {
        Some(ACPX) => acpx(fields),
        Some(other) => Err(BadLegacy::Schema(other.chars().take(64).collect())),
        None if fields.has("acpx_record_id") => acpx(fields),
        None if ["key", "command", "pid", "resume"].into_iter().any(|name| fields.has(name)) => {
            plain(fields, name)
        }
        None => Err(BadLegacy::NoRecord),
    }
}

fn acpx(fields: &Fields) -> Result<LegacyRecord, BadLegacy> {
    let id = fields.line("acpx_record_id")?.ok_or(BadLegacy::Missing("acpx_record_id"))?;
    let name = fields.line("name")?;
    let key = acpx_key(id, name)?;
    let command = match fields.words("agent_argv")? {
        Some(words) => Some(LegacyCommand::Words(words)),
        None => fields.text("agent_command")?.map(|line| LegacyCommand::Line(line.to_owned())),
    };
    let label = match name {
        Some(name) => Some(name),
        None => fields.line("title")?,
    };
    Ok(LegacyRecord {
        programs: command.as_ref().map(LegacyCommand::programs).unwrap_or_default(),
        agent: key.agent(),
        key,
        kind: Kind::Acp,
        backend: Backend::Acp,
        parent: None,
        cwd: cwd(fields)?,
        label: label.map(str::to_owned),
        resume: fields.line("acp_session_id")?.map(str::to_owned),
        created_at_ms: fields.moment("created_at")?,
        closed: fields.flag("closed")?,
        closed_at_ms: fields.moment("closed_at")?,
        root: root(fields, command, fields.moment("agent_started_at")?)?,
    })
}

/// Returns the session key for an acpx record. A gateway uses its own session's key as the record's id; that key
/// is kept. Otherwise the key contains the agent if the record's name does.
fn acpx_key(id: &str, name: Option<&str>) -> Result<SessionKey, BadKey> {
    if id.starts_with("agent:") {
        return id.parse();
    }
    match name.and_then(|name| name.parse::<SessionKey>().ok()).and_then(|name| name.agent()) {
        Some(agent) => format!("agent:{agent}:acpx:{id}").parse(),
        None => format!("acpx:{id}").parse(),
    }
}

fn plain(fields: &Fields, name: &str) -> Result<LegacyRecord, BadLegacy> {
    let agent = fields.text("agent")?.map(str::parse::<AgentId>).transpose()?;
    let key: SessionKey = match (fields.text("key")?, &agent) {
        (Some(key), _) => key.parse()?,
        (None, Some(agent)) => format!("agent:{agent}:import:{name}").parse()?,
        (None, None) => format!("import:{name}").parse()?,
    };
    let agent = agent.or_else(|| key.agent());
    let kind = match (fields.text("kind")?, &agent) {
        (Some(word), _) => word.parse()?,
        (None, Some(_)) => Kind::Cli,
        (None, None) => Kind::Exec,
    };
    let command = match fields.value("command") {
        Some(Value::Array(_)) => fields.words("command")?.map(LegacyCommand::Words),
        Some(_) | None => fields.text("command")?.map(|line| LegacyCommand::Line(line.to_owned())),
    };
    Ok(LegacyRecord {
        programs: Vec::new(),
        key,
        agent,
        kind,
        backend: backend_of(kind),
        parent: fields.text("parent")?.map(str::parse).transpose()?,
        cwd: cwd(fields)?,
        label: fields.line("label")?.map(str::to_owned),
        resume: fields.line("resume")?.map(str::to_owned),
        created_at_ms: either(fields, "createdAtMs", "createdAt")?,
        closed: fields.flag("closed")?,
        closed_at_ms: either(fields, "closedAtMs", "closedAt")?,
        root: root(fields, command, either(fields, "startedAtMs", "startedAt")?)?,
    })
}

fn backend_of(kind: Kind) -> Backend {
    match kind {
        Kind::Acp => Backend::Acp,
        Kind::Main | Kind::Cli | Kind::Subagent => Backend::Cli,
        Kind::Exec => Backend::Exec,
    }
}

/// Returns a time that is given as a number or as a text.
fn either(fields: &Fields, number: &'static str, text: &'static str) -> Result<Option<u64>, BadLegacy> {
    match (fields.number(number)?, fields.moment(text)?) {
        (Some(_), Some(_)) => Err(BadLegacy::Both(number, text)),
        (number, text) => Ok(number.or(text)),
    }
}

fn cwd(fields: &Fields) -> Result<Option<String>, BadLegacy> {
    match fields.text("cwd")? {
        Some(path) if !path.starts_with('/') || path.contains('\0') => {
            Err(BadLegacy::NotAbsolute(path.chars().take(64).collect()))
        }
        other => Ok(other.map(str::to_owned)),
    }
}

/// Returns the process, if a pid was recorded; without one, the other fields about it are ignored.
fn root(
    fields: &Fields,
    command: Option<LegacyCommand>,
    started_at_ms: Option<u64>,
) -> Result<Option<LegacyRoot>, BadLegacy> {
    let wrapper = fields.flag("wrapper")? || command.as_ref().is_some_and(names_a_wrapper);
    let Some(number) = fields.number("pid")? else { return Ok(None) };
    let pid = i32::try_from(number).ok().filter(|pid| *pid > 1).ok_or(BadLegacy::Pid(number))?;
    Ok(Some(LegacyRoot { pid, started_at_ms, command, wrapper }))
}

fn names_a_wrapper(command: &LegacyCommand) -> bool {
    match command {
        LegacyCommand::Line(line) => line.contains(WRAPPER),
        LegacyCommand::Words(words) => words.iter().any(|word| word.contains(WRAPPER)),
    }
}
