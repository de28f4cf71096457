//! `process`: what is done with commands that were started.

use super::{FailureKind, Status};
use crate::ending::Reason;
use crate::ids::RunId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::fmt;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Which runs there are.
    List,
    /// Wait for output or the end; what is unread is given once.
    Poll,
    /// Lines of the output, from any line on.
    Log,
    /// Write `data` to its input; `eof` ends the input.
    Write,
    /// Press `keys`, type `literal`, send `hex`.
    SendKeys,
    /// Press Enter.
    Submit,
    /// Paste `text`.
    Paste,
    /// What its terminal shows.
    Screen,
    /// Give its terminal `cols` and `rows`.
    Resize,
    /// End it and its whole tree.
    Kill,
    /// Forget a run that has ended.
    Clear,
    /// End it if it runs, and forget it.
    Remove,
}

/// What `process` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessRequest {
    /// What to do.
    pub action: Action,
    /// Which run, for every action but `list`; a unique beginning of its id is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// For `write`: the text, as it is. End a line with a newline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// For `send-keys`: keys by name, as `Enter`, `C-c`, `M-x`, `S-Tab`, `Up`, `F5`.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// For `send-keys`: bytes in hexadecimal, as `1b`.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub hex: Vec<String>,
    /// For `send-keys`: text that is typed as it is, before `hex` and `keys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<String>,
    /// For `paste`: the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `paste`: whether it is marked as pasted. Without it, if the program asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bracketed: Option<bool>,
    /// For `write`: whether the input ends after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eof: Option<bool>,
    /// For `log`: the first line, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For `log`: the first byte, instead of a line: for the rest of a line that is longer than a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// For `log`: at most so many lines; for `list`: at most so many runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `poll`: how long to wait for output or the end, up to 30000 milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// For `resize`: columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// For `resize`: rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

impl ProcessRequest {
    /// A request that says what to do, and nothing more.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            run_id: None,
            data: None,
            keys: Vec::new(),
            hex: Vec::new(),
            literal: None,
            text: None,
            bracketed: None,
            eof: None,
            offset: None,
            byte_offset: None,
            limit: None,
            timeout_ms: None,
            cols: None,
            rows: None,
            session_key: None,
        }
    }
}

/// A list of texts; one text alone is taken for a list of it.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct Texts;
    impl<'de> de::Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of texts")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            Ok(texts)
        }
    }
    from.deserialize_any(Texts)
}

/// Whether a command waits for input, as its keeper sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// It is blocked in reading its input.
    Yes,
    /// It is not.
    No,
    /// That cannot be told; silence says nothing.
    Unknown,
}

impl From<Option<bool>> for Waiting {
    fn from(waits: Option<bool>) -> Self {
        match waits {
            Some(true) => Waiting::Yes,
            Some(false) => Waiting::No,
            None => Waiting::Unknown,
        }
    }
}

impl Serialize for Waiting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Waiting::Yes => to.serialize_bool(true),
            Waiting::No => to.serialize_bool(false),
            Waiting::Unknown => to.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Waiting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Value::deserialize(from)?.as_bool().into())
    }
}

/// A run, as `list` and `poll` show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// What became of it.
    pub status: Status,
    /// The run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// What was asked to run.
    pub command: String,
    /// Where it started.
    pub cwd: String,
    /// Whether it has a terminal.
    pub pty: bool,
    /// Its session.
    pub session_key: Option<String>,
    /// Its first process.
    pub pid: Option<i32>,
    /// When it was asked for.
    pub created_at_ms: u64,
    /// How long it ran, or has run.
    pub duration_ms: u64,
    /// When the last output came.
    pub last_output_at_ms: Option<u64>,
    /// The exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub exit_signal: Option<String>,
    /// Why it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub exit_reason: Option<Reason>,
    /// What failed.
    pub failure_kind: Option<FailureKind>,
    /// Whether its input can be written to.
    pub stdin_writable: bool,
    /// Whether it is blocked in reading its input: `true`, `false` or `"unknown"`.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub waiting_for_input: Waiting,
    /// The last of its output.
    pub tail: String,
}

/// What `process` answers; what does not belong to the action is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProcessReply {
    /// The run, as it is.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub run: Option<Listed>,
    /// `list`: the runs, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<Listed>>,
    /// `poll`: what was unread; `log`: the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether there is more than `output` has; `list`: whether there are older runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// `log`: the number of the first line that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The first line that is not shown; pass it to `log` as `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_line: Option<u64>,
    /// The byte of the kept output where that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// `log`: how many lines there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// `log`: how many bytes of output there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// `poll`: how long to wait before the next poll is worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// `write`, `send-keys`, `submit`, `paste`: how many bytes its input was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// `screen`: what the terminal shows, and the cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub screen: Option<Value>,
    /// What was done, or what to do next, in words.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ProcessRequest, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_action_is_answered_with_those_there_are() {
        let why = read(r#"{"action":"pause","runId":"a"}"#).unwrap_err();
        assert!(why.contains("pause") && why.contains("`send-keys`") && why.contains("`remove`"), "{why}");
    }

    #[test]
    fn an_unknown_field_is_named() {
        let why = read(r#"{"action":"poll","sessionId":"a"}"#).unwrap_err();
        assert!(why.contains("sessionId") && why.contains("`runId`"), "{why}");
    }

    #[test]
    fn one_key_is_a_list_of_one() {
        assert_eq!(read(r#"{"action":"send-keys","keys":"C-c"}"#).unwrap().keys, ["C-c"]);
        assert_eq!(read(r#"{"action":"send-keys","keys":["C-c","Up"]}"#).unwrap().keys, ["C-c", "Up"]);
        assert!(read(r#"{"action":"send-keys","keys":[1]}"#).is_err());
    }

    #[test]
    fn waiting_is_true_false_or_unknown() {
        for (waiting, text) in
            [(Waiting::Yes, "true"), (Waiting::No, "false"), (Waiting::Unknown, "\"unknown\"")]
        {
            assert_eq!(serde_json::to_string(&waiting).unwrap(), text);
            assert_eq!(serde_json::from_str::<Waiting>(text).unwrap(), waiting);
        }
    }
}
