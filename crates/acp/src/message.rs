//! A JSON-RPC message, in or out. Its parameters and results stay unparsed: their type depends on the method.

use crate::schema::{Error, RequestId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message.
#[derive(Debug, Clone)]
pub enum Message {
    /// A request.
    Request {
        /// The id, which the response repeats.
        id: RequestId,
        /// The method.
        method: String,
        /// The parameters.
        params: Option<Box<RawValue>>,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Option<Box<RawValue>>,
    },
    /// A response.
    Response {
        /// The id of the request.
        id: RequestId,
        /// The result or the error.
        answer: Result<Box<RawValue>, Error>,
    },
}

/// The reason why a line is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoMessage {
    /// The line is longer than the maximum, and its middle cannot be left out.
    #[error("the line is too long")]
    TooLong,
    /// Some of the line's bytes are missing.
    #[error("part of the line is missing")]
    Incomplete,
    /// The line is not JSON.
    #[error("the line is not JSON")]
    NotJson,
    /// The line is JSON, but not a JSON-RPC message.
    #[error("the line is not a JSON-RPC 2.0 message")]
    NotRpc,
}

/// A message on the wire.
#[derive(Serialize, Deserialize)]
struct Envelope {
    jsonrpc: String,
    // A request's id may be null; a notification has no id.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Error>,
}

/// Reads a field that is present as `Some`, even if it is null.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

impl Message {
    /// Reads the messages on a line: one, or those of a batch. Items of a batch that are not messages are skipped.
    pub fn read(line: &[u8]) -> Result<Vec<Self>, NoMessage> {
        if line.starts_with(b"[") {
            let all: Vec<Box<RawValue>> = serde_json::from_slice(line).map_err(|_| NoMessage::NotJson)?;
            let all: Vec<Self> = all.iter().filter_map(|one| Self::one(one.get().as_bytes()).ok()).collect();
            return if all.is_empty() { Err(NoMessage::NotRpc) } else { Ok(all) };
        }
        Self::one(line).map(|one| vec![one])
    }

    fn one(text: &[u8]) -> Result<Self, NoMessage> {
        let envelope: Envelope = serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => NoMessage::NotRpc,
            _ => NoMessage::NotJson,
        })?;
        if envelope.jsonrpc != "2.0" {
            return Err(NoMessage::NotRpc);
        }
        let Envelope { id, method, params, result, error, .. } = envelope;
        match (id, method, result, error) {
            (Some(id), Some(method), None, None) => Ok(Self::Request { id, method, params }),
            (None, Some(method), None, None) => Ok(Self::Notification { method, params }),
            (Some(id), None, Some(result), None) => Ok(Self::Response { id, answer: Ok(result) }),
            (Some(id), None, _, Some(error)) => Ok(Self::Response { id, answer: Err(error) }),
            _ => Err(NoMessage::NotRpc),
        }
    }

    /// Returns the message as a line, with its newline.
    pub fn line(&self) -> String {
        let mut envelope = Envelope {
            jsonrpc: "2.0".to_owned(),
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
        };
        match self.clone() {
            Self::Request { id, method, params } => {
                (envelope.id, envelope.method, envelope.params) = (Some(id), Some(method), params);
            }
            Self::Notification { method, params } => {
                (envelope.method, envelope.params) = (Some(method), params);
            }
            Self::Response { id, answer } => {
                envelope.id = Some(id);
                match answer {
                    Ok(result) => envelope.result = Some(result),
                    Err(error) => envelope.error = Some(error),
                }
            }
        }
        // JSON strings have no raw line ends, so only insignificant ones, between tokens of raw values, are removed.
        let mut line = serde_json::to_string(&envelope).expect("an envelope has only strings as keys");
        line.retain(|c| c != '\n' && c != '\r');
        line.push('\n');
        line
    }
}

/// Converts a value to raw JSON.
pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("the protocol's types always serialize")
}

/// Parses raw JSON. Absent parameters count as an empty object.
pub fn parsed<T: DeserializeOwned>(value: Option<&RawValue>) -> Result<T, String> {
    serde_json::from_str(value.map_or("{}", RawValue::get)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> &'static str {
        match Message::read(line.as_bytes()).as_deref() {
            Ok([Message::Request { .. }]) => "request",
            Ok([Message::Notification { .. }]) => "notification",
            Ok([Message::Response { answer: Ok(_), .. }]) => "result",
            Ok([Message::Response { answer: Err(_), .. }]) => "error",
            Ok(_) => "several",
            Err(NoMessage::NotJson) => "not JSON",
            Err(NoMessage::NotRpc) => "not RPC",
            Err(NoMessage::TooLong | NoMessage::Incomplete) => "too long",
        }
    }

    #[test]
    fn every_kind_of_message_is_told_apart() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#, "request"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "request"),
            (r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#, "notification"),
            (r#"{"jsonrpc":"2.0","id":"a","result":null}"#, "result"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#, "error"),
            (r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"no"}}"#, "error"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "not RPC"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "not RPC"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "not RPC"),
            (r#"{"id":1,"method":"m"}"#, "not RPC"),
            ("42", "not RPC"),
            ("[]", "not RPC"),
            (r#"[{"jsonrpc":"2.0","method":"a"},7,{"jsonrpc":"2.0","method":"b"}]"#, "several"),
            ("warming up", "not JSON"),
            (r#"{"jsonrpc":"2.0","#, "not JSON"),
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_said_is_one_line_and_reads_back() {
        let params =
            serde_json::value::RawValue::from_string("{\n \"text\": \"a\\nb\"\r\n}".to_owned()).unwrap();
        let said =
            Message::Request { id: RequestId::Number(7), method: "m".to_owned(), params: Some(params) };
        let line = said.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":{ \"text\": \"a\\nb\"}}\n"
        );
        assert_eq!(kind(line.trim_end()), "request");
    }
}
