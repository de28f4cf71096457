//! The state of a conversation that outlives a daemon: the handshake, to replay it to the next daemon, and the open
//! requests.

use serde_json::{Value, json};
use std::collections::HashMap;

/// Handshake and open requests of a conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The client's `initialize` request, and its id.
    initialize: Option<(Vec<u8>, String)>,
    initialized: Option<Vec<u8>>,
    /// Ids of the open requests.
    open: HashMap<String, Value>,
    /// Id of a request that an earlier daemon answered: the client must not get a second response.
    answered: Option<String>,
}

const LOST: &str = "the daemon went away during this call. Commands that were started go on: call process with action \
                    list to see them, and with action poll to get their results";

impl Conversation {
    /// Records a line from the client.
    pub(super) fn record_from_client(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                self.open.insert(id.to_string(), id.clone());
                if method == "initialize" {
                    self.initialize = Some((line.to_vec(), id.to_string()));
                }
            }
            (Some("notifications/initialized"), None) => self.initialized = Some(line.to_vec()),
            (Some("notifications/cancelled"), None) => {
                // A cancelled request gets no response.
                if let Some(id) = message.pointer("/params/requestId") {
                    self.open.remove(&id.to_string());
                }
            }
            _ => {}
        }
    }

    /// Records a line from the daemon; returns true if it is for the client. Invalid JSON and a second response to the
    /// handshake are not.
    pub(super) fn record_from_daemon(&mut self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return false };
        let (None, Some(id)) = (message.get("method"), message.get("id")) else { return true };
        let id = id.to_string();
        self.open.remove(&id);
        let answered = self.answered.as_ref() == Some(&id);
        if answered {
            self.answered = None;
        }
        !answered
    }

    /// Returns true if a request is open.
    pub(super) fn has_open_requests(&self) -> bool {
        !self.open.is_empty()
    }

    /// Closes the open requests of a lost daemon and returns their error responses. An open `initialize` stays open: the next
    /// daemon answers it.
    pub(super) fn fail_open_requests(&mut self) -> Vec<Vec<u8>> {
        let begins = self.initialize.as_ref().map(|(_, id)| id.clone());
        let is_begin = |id: &String| begins.as_ref() == Some(id);
        let (kept, lost): (HashMap<_, _>, _) = self.open.drain().partition(|(id, _)| is_begin(id));
        self.open = kept;
        lost.into_values().map(|id: Value| error(&id, LOST)).collect()
    }

    /// Messages to replay to the next daemon.
    pub(super) fn replay(&mut self) -> Vec<Vec<u8>> {
        let Some((initialize, id)) = &self.initialize else { return Vec::new() };
        self.answered = (!self.open.contains_key(id)).then(|| id.clone());
        let mut messages = vec![initialize.clone()];
        messages.extend(self.initialized.clone());
        messages
    }

    /// Error response to a request that no daemon can take. Other messages get none; the handshake's notification is still
    /// recorded for the next daemon.
    pub(super) fn refuse(&mut self, line: &[u8], why: &str) -> Option<Vec<u8>> {
        self.record_from_client(line);
        let message = serde_json::from_slice::<Value>(line).ok()?;
        let (method, id) = (message.get("method")?, message.get("id")?);
        self.open.remove(&id.to_string());
        if method == "initialize" {
            self.initialize = None;
        }
        Some(error(id, &format!("no daemon is available: {why}")))
    }
}

fn error(id: &Value, why: &str) -> Vec<u8> {
    let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": why}});
    format!("{answer}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n";
    const BEGUN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n";
    const READY: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    const CALL: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{}}\n";

    fn begun() -> Conversation {
        let mut conversation = Conversation::default();
        assert!(conversation.replay().is_empty());
        conversation.record_from_client(BEGIN);
        assert!(conversation.record_from_daemon(BEGUN));
        conversation.record_from_client(READY);
        conversation
    }

    #[test]
    fn the_handshake_is_replayed_and_the_client_gets_one_response() {
        let mut conversation = begun();
        assert!(conversation.fail_open_requests().is_empty());
        assert_eq!(conversation.replay(), [BEGIN, READY]);
        assert!(!conversation.record_from_daemon(BEGUN));
        assert!(conversation.record_from_daemon(BEGUN), "only once");
    }

    #[test]
    fn an_open_call_of_a_lost_daemon_gets_an_error_with_advice() {
        let mut conversation = begun();
        conversation.record_from_client(CALL);
        let answers = conversation.fail_open_requests();
        let [answer] = &answers[..] else { panic!("{answers:?}") };
        let answer: Value = serde_json::from_slice(answer).unwrap();
        assert_eq!(answer["id"], "a");
        assert!(answer["error"]["message"].as_str().unwrap().contains("action list"));
        assert!(conversation.fail_open_requests().is_empty());
    }

    #[test]
    fn an_open_initialize_is_answered_by_the_next_daemon() {
        let mut conversation = Conversation::default();
        conversation.record_from_client(BEGIN);
        assert!(conversation.fail_open_requests().is_empty());
        assert_eq!(conversation.replay(), [BEGIN]);
        assert!(conversation.record_from_daemon(BEGUN));
    }

    #[test]
    fn a_cancelled_call_does_not_wait() {
        let mut conversation = begun();
        conversation.record_from_client(CALL);
        conversation
            .record_from_client(b"{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"a\"}}");
        assert!(conversation.fail_open_requests().is_empty());
    }

    #[test]
    fn a_request_without_a_daemon_is_refused_once() {
        let mut conversation = Conversation::default();
        let answer = conversation.refuse(BEGIN, "none is started").expect("an answer");
        assert!(String::from_utf8_lossy(&answer).contains("none is started"));
        assert!(conversation.refuse(READY, "").is_none());
        assert!(conversation.replay().is_empty() && !conversation.has_open_requests());
    }

    #[test]
    fn invalid_json_is_not_passed_to_the_client() {
        let mut conversation = begun();
        conversation.record_from_client(CALL);
        assert!(!conversation.record_from_daemon(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"resu\n"));
        assert!(conversation.has_open_requests(), "it was no answer");
    }

    #[test]
    fn a_request_from_the_daemon_closes_no_call() {
        let mut conversation = begun();
        conversation.replay();
        assert!(conversation.record_from_daemon(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}"));
    }
}
