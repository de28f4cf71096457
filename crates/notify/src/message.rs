//! JSON of a notice: the same for all channels.

use serde_json::{Value, json};

/// Maximum length of a message's JSON, in bytes.
pub const BODY_BYTES: usize = 256 << 10;
/// Maximum length of a key, in bytes.
pub const KEY_BYTES: usize = 256;

/// A notice for a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The key: the same for every attempt, so that a channel can ignore repetitions.
    pub key: String,
    /// Time of the notice, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// The kind, for example `task.terminal`.
    pub kind: String,
    /// The sentence for people.
    pub text: String,
    /// The data for programs.
    pub payload: Value,
}

/// Error for a message that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// The key is not valid in an HTTP header.
    #[error("the notice's key is empty, longer than {KEY_BYTES} bytes, or not of visible ASCII characters")]
    Key,
    /// The JSON is too long.
    #[error("the notice has {0} bytes as JSON: the limit is {BODY_BYTES}")]
    TooLong(usize),
}

impl Message {
    /// Adds the receiver at the channel to the payload, as `to` and `thread`. A payload that is not an object becomes `value`.
    #[must_use]
    pub fn with_receiver(mut self, to: Option<&str>, thread: Option<&str>) -> Self {
        self.payload = match self.payload {
            Value::Object(payload) => Value::Object(payload),
            Value::Null => json!({}),
            other => json!({ "value": other }),
        };
        for (name, value) in [("to", to), ("thread", thread)] {
            if let Some(value) = value {
                self.payload[name] = value.into();
            }
        }
        self
    }

    /// Returns the JSON: `id`, `type`, `timestamp`, `text` and `data`.
    pub fn body(&self) -> Result<Vec<u8>, BadMessage> {
        let fits = !self.key.is_empty() && self.key.len() <= KEY_BYTES;
        if !fits || !self.key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadMessage::Key);
        }
        let at = i64::try_from(self.created_at_ms).ok();
        let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).unwrap_or(jiff::Timestamp::MAX);
        let body = json!({
            "id": self.key,
            "type": self.kind,
            "timestamp": format!("{at:.3}"),
            "text": self.text,
            "data": self.payload,
        });
        let body = body.to_string().into_bytes();
        if body.len() > BODY_BYTES { Err(BadMessage::TooLong(body.len())) } else { Ok(body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: Value) -> Message {
        let (key, kind) = ("task-1.done".into(), "task.succeeded".into());
        Message { key, created_at_ms: 1_700_000_000_000, kind, text: "It is done.".into(), payload }
    }

    #[test]
    fn a_notice_is_written_with_its_key_its_kind_and_its_time() {
        let body = message(json!({"taskId": "t1"})).body().unwrap();
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            value,
            json!({"id": "task-1.done", "type": "task.succeeded", "timestamp": "2023-11-14T22:13:20.000Z",
                   "text": "It is done.", "data": {"taskId": "t1"}})
        );
    }

    #[test]
    fn the_receiver_is_in_the_payload() {
        let payload = |before, to, thread| message(before).with_receiver(to, thread).payload;
        assert_eq!(
            payload(json!({"a": 1}), Some("#ops"), Some("7")),
            json!({"a": 1, "to": "#ops", "thread": "7"})
        );
        assert_eq!(payload(json!(null), Some("#ops"), None), json!({"to": "#ops"}));
        assert_eq!(payload(json!([1]), None, Some("7")), json!({"value": [1], "thread": "7"}));
    }

    #[test]
    fn a_key_that_cannot_stand_in_a_header_is_refused() {
        for key in ["", "a b", "a\r\nb", "ä", &"k".repeat(KEY_BYTES + 1)] {
            assert_eq!(
                Message { key: key.into(), ..message(json!(null)) }.body(),
                Err(BadMessage::Key),
                "{key:?}"
            );
        }
        assert!(Message { key: "k".repeat(KEY_BYTES), ..message(json!(null)) }.body().is_ok());
    }

    #[test]
    fn a_notice_has_an_end() {
        let long = message(json!("x".repeat(BODY_BYTES)));
        assert!(matches!(long.body(), Err(BadMessage::TooLong(bytes)) if bytes > BODY_BYTES));
    }

    #[test]
    fn a_time_beyond_all_calendars_is_the_last_there_is() {
        let body = Message { created_at_ms: u64::MAX, ..message(json!(null)) }.body().unwrap();
        assert!(String::from_utf8(body).unwrap().contains("\"timestamp\":\"9999-12-"));
    }
}
