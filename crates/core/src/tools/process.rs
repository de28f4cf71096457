//! `process`: manages the commands that were started.

use super::{FailureKind, Status};
use crate::ending::Reason;
use crate::ids::RunId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::fmt;

/// The action of `process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// List the runs.
    List,
    /// Wait for output or the end; unread output is returned once.
    Poll,
    /// Show lines of the output, from any line on.
    Log,
    /// Write `data` to stdin; `eof` closes it.
    Write,
    /// Send `literal`, `hex` and `keys` to the terminal.
    SendKeys,
    /// Press Enter.
    Submit,
    /// Paste `text`.
    Paste,
    /// Show the terminal's screen.
    Screen,
    /// Resize the terminal to `cols` and `rows`.
    Resize,
    /// Kill the command and its whole tree.
    Kill,
    /// Remove the record of an ended run.
    Clear,
    /// Kill the command if it runs, then remove its record.
    Remove,
}

/// The request of `process`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessRequest {
    /// The action.
    pub action: Action,
    /// The run, for every action but `list`; a unique prefix of its id is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// For `write`: the text, unchanged. End a line with a newline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// For `send-keys`: key names, such as `Enter`, `C-c`, `M-x`, `S-Tab`, `Up`, `F5`.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// For `send-keys`: bytes in hexadecimal, such as `1b`.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub hex: Vec<String>,
    /// For `send-keys`: text that is sent unchanged, before `hex` and `keys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<String>,
    /// For `paste`: the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `paste`: true to send the text as a bracketed paste. Default: as the terminal's mode says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bracketed: Option<bool>,
    /// For `write`: true to close stdin after the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eof: Option<bool>,
    /// For `log`: the first line, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For `log`: the first byte, instead of a line: to read the rest of a line that is longer than a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// For `log`: the maximum number of lines; for `list`: of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `poll`: the longest wait for output or the end, up to 30000 milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// For `resize`: the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// For `resize`: the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// The requesting session. A caller that is bound to a session can name no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

impl ProcessRequest {
    /// Makes a request with an action and nothing else.
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

/// Parses a list of texts; a single text becomes a list of one.
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

/// The keeper's answer whether a command waits for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// The command is blocked in reading its input.
    Yes,
    /// The command is not blocked in reading.
    No,
    /// The system cannot tell; silence proves nothing.
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
    /// The status.
    pub status: Status,
    /// The run's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// The command line.
    pub command: String,
    /// The working directory.
    pub cwd: String,
    /// True if the command runs on a terminal.
    pub pty: bool,
    /// The session.
    pub session_key: Option<String>,
    /// The pid of the root process.
    pub pid: Option<i32>,
    /// The time of the request.
    pub created_at_ms: u64,
    /// The duration so far, or until the end.
    pub duration_ms: u64,
    /// The time of the last output.
    pub last_output_at_ms: Option<u64>,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the command.
    pub exit_signal: Option<String>,
    /// The reason why the command ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub exit_reason: Option<Reason>,
    /// The kind of failure.
    pub failure_kind: Option<FailureKind>,
    /// True if stdin can be written to.
    pub stdin_writable: bool,
    /// `true` if the command is blocked in reading its input, else `false` or `"unknown"`.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub waiting_for_input: Waiting,
    /// The end of the output.
    pub tail: String,
}

/// The reply of `process`; fields that do not belong to the action are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProcessReply {
    /// The run's id.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub run: Option<Listed>,
    /// `list`: the runs, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<Listed>>,
    /// `poll`: the unread output; `log`: the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// True if there is more output than `output` shows; `list`: true if there are older runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// `log`: the number of the first line that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The first line that is not shown; pass it to `log` as `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_line: Option<u64>,
    /// The byte offset of that line in the kept output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// `log`: the number of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// `log`: the size of the output in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// `poll`: the recommended pause before the next poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// `write`, `send-keys`, `submit`, `paste`: the number of bytes written to stdin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// `screen`: the terminal's content and cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub screen: Option<Value>,
    /// The result, or the suggested next step, in words.
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
