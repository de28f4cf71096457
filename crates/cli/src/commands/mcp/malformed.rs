//! Responses to lines that are not JSON-RPC messages. The bridge sends them itself, because the daemon's SDK does not answer
//! invalid JSON, and omits the `id` in the response to an invalid request, where JSON-RPC requires `null`.

use serde_json::{Value, json};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Longest line that the daemon's SDK reads, in bytes; it does not answer a longer one.
const LONGEST: usize = 16 << 20;

/// Verdict on a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineCheck {
    /// A message for the daemon.
    Message,
    /// Not a valid message: gets this error response.
    Refused(Vec<u8>),
    /// Not a valid message, but a notification or a response, which are never answered.
    Dropped,
}

/// Validates a line.
pub(super) fn check_line(line: &[u8]) -> LineCheck {
    // RFC 8259 lets a reader ignore a byte order mark, and the daemon does.
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let message: Value = match serde_json::from_slice(line.trim_ascii()) {
        Ok(message) => message,
        Err(error) => return refused(PARSE_ERROR, &Value::Null, &format!("Parse error: {error}")),
    };
    let fault = if line.len() > LONGEST { Some("a message has at most 16 MiB") } else { fault_of(&message) };
    let Some(why) = fault else { return LineCheck::Message };
    let id = message.get("id");
    let is_response = message.get("result").or(message.get("error")).is_some();
    let is_notification = id.is_none() && message.get("method").is_some_and(Value::is_string);
    if message.get("method").is_none() && is_response || is_notification {
        return LineCheck::Dropped;
    }
    let id = id.filter(|id| is_id(id)).unwrap_or(&Value::Null);
    refused(INVALID_REQUEST, id, &format!("Invalid Request: {why}"))
}

/// First violation of JSON-RPC or MCP in a message, if any.
fn fault_of(message: &Value) -> Option<&'static str> {
    let Value::Object(fields) = message else { return Some("a message is one JSON object") };
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Some("`jsonrpc` must be \"2.0\"");
    }
    if fields.get("id").is_some_and(|id| !is_id(id)) {
        return Some("`id` must be a string or an integer");
    }
    match fields.get("method") {
        Some(Value::String(_)) => {
            let params = fields.get("params").is_none_or(|it| it.is_object() || it.is_null());
            (!params).then_some("`params` must be an object")
        }
        Some(_) => Some("`method` must be a string"),
        None => match (fields.get("result"), fields.get("error")) {
            (Some(_), _) => None,
            (None, Some(error)) => {
                let whole = error.get("code").is_some_and(Value::is_i64)
                    && error.get("message").is_some_and(Value::is_string);
                (!whole).then_some("`error` must have a code and a message")
            }
            (None, None) => Some("`method` is missing"),
        },
    }
}

/// Returns true if this is a valid id: MCP allows neither null nor fractions.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

fn refused(code: i32, id: &Value, why: &str) -> LineCheck {
    let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
    LineCheck::Refused(format!("{answer}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code and id of the error response.
    fn answer(line: &str) -> (i64, Value) {
        let LineCheck::Refused(answer) = check_line(line.as_bytes()) else { panic!("{line} is not refused") };
        assert!(answer.ends_with(b"}\n"), "{line}: one line");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0");
        (answer["error"]["code"].as_i64().unwrap(), answer.get("id").expect("an id").clone())
    }

    #[test]
    fn invalid_json_is_a_parse_error_without_an_id() {
        for line in ["junk", "{\"jsonrpc\":\"2.0\",\"id\":1,", "{} {}", "\u{1b}[A"] {
            assert_eq!(answer(line), (-32700, Value::Null), "{line}");
        }
        let LineCheck::Refused(answer) = check_line(b"{\"a\":\xff}\n") else { panic!("not UTF-8") };
        assert!(String::from_utf8_lossy(&answer).contains("-32700"));
    }

    #[test]
    fn an_invalid_request_is_answered_with_its_id_or_null() {
        for line in [
            "[]",
            "[{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"ping\"}]",
            "7",
            "{}",
            "{\"jsonrpc\":\"2.0\",\"method\":1,\"params\":\"bar\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        ] {
            assert_eq!(answer(line), (-32600, Value::Null), "{line}");
        }
        for line in [
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}",
            "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}",
            "{\"id\":5,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"id\":5}",
        ] {
            assert_eq!(answer(line), (-32600, json!(5)), "{line}");
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_answered() {
        let call = |length| {
            let text = "x".repeat(length);
            format!("{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{{\"a\":\"{text}\"}}}}")
        };
        assert_eq!(check_line(call(LONGEST - 100).as_bytes()), LineCheck::Message);
        assert_eq!(answer(&call(LONGEST)), (-32600, json!(5)));
    }

    #[test]
    fn valid_messages_go_to_the_daemon() {
        for line in [
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"nope\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":null}\r\n",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\",\"params\":{}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"no\"}}",
        ] {
            assert_eq!(check_line(line.as_bytes()), LineCheck::Message, "{line}");
        }
    }

    #[test]
    fn malformed_notifications_and_responses_are_dropped() {
        for line in [
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{}}",
            // Our own response, echoed by the client.
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}",
        ] {
            assert_eq!(check_line(line.as_bytes()), LineCheck::Dropped, "{line}");
        }
    }
}
