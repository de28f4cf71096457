//! The state of a conversation that outlives a daemon: the handshake, to replay it to the next daemon, and the open
//! requests.

use serde_json::{Value, json};
use std::collections::HashMap;

/// Handshake and open requests of a conversation.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The client's `initialize` request, and its id.
    initialize: Option<(Vec<u8>, String)>,
    initialized: Option<Vec<u8>>,
    /// Ids of the open requests.
    waiting: HashMap<String, Value>,
    /// Id of a request that an earlier daemon answered: the client must not get a second response.
    had: Option<String>,
}

const LOST: &str = "the daemon went away during this call. Commands that were started go on: call process with action \
                    list to see them, and with action poll to get their results";

impl Memory {
    /// Records a line from the client.
    pub(super) fn client_said(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                self.waiting.insert(id.to_string(), id.clone());
                if method == "initialize" {
                    self.initialize = Some((line.to_vec(), id.to_string()));
                }
            }
            (Some("notifications/initialized"), None) => self.initialized = Some(line.to_vec()),
            (Some("notifications/cancelled"), None) => {
                // A cancelled request gets no response.
                if let Some(id) = message.pointer("/params/requestId") {
                    self.waiting.remove(&id.to_string());
                }
            }
            _ => {}
        }
    }

    /// Records a line from the daemon; returns true if it is for the client. Invalid JSON and a second response to the
    /// handshake are not.
    pub(super) fn daemon_said(&mut self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return false };
        let (None, Some(id)) = (message.get("method"), message.get("id")) else { return true };
        let id = id.to_string();
        self.waiting.remove(&id);
        let had = self.had.as_ref() == Some(&id);
        if had {
            self.had = None;
        }
        !had
    }

    /// Returns true if a request is open.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Closes the open requests of a lost daemon and returns their error responses. An open `initialize` stays open: the next
    /// daemon answers it.
    pub(super) fn lost(&mut self) -> Vec<Vec<u8>> {
        let begins = self.initialize.as_ref().map(|(_, id)| id.clone());
        let is_begin = |id: &String| begins.as_ref() == Some(id);
        let (kept, lost): (HashMap<_, _>, _) = self.waiting.drain().partition(|(id, _)| is_begin(id));
        self.waiting = kept;
        lost.into_values().map(|id: Value| error(&id, LOST)).collect()
    }

    /// Messages to replay to the next daemon.
    pub(super) fn replay(&mut self) -> Vec<Vec<u8>> {
        let Some((initialize, id)) = &self.initialize else { return Vec::new() };
        self.had = (!self.waiting.contains_key(id)).then(|| id.clone());
        let mut said = vec![initialize.clone()];
        said.extend(self.initialized.clone());
        said
    }

    /// Error response to a request that no daemon can take. Other messages get none; the handshake's notification is still
    /// recorded for the next daemon.
    pub(super) fn unanswerable(&mut self, line: &[u8], why: &str) -> Option<Vec<u8>> {
        self.client_said(line);
        let message = serde_json::from_slice::<Value>(line).ok()?;
        let (method, id) = (message.get("method")?, message.get("id")?);
        self.waiting.remove(&id.to_string());
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

    fn begun() -> Memory {
        let mut memory = Memory::default();
        assert!(memory.replay().is_empty());
        memory.client_said(BEGIN);
        assert!(memory.daemon_said(BEGUN));
        memory.client_said(READY);
        memory
    }

    #[test]
    fn the_next_daemon_is_told_how_it_began_and_the_client_does_not_hear_it_twice() {
        let mut memory = begun();
        assert!(memory.lost().is_empty());
        assert_eq!(memory.replay(), [BEGIN, READY]);
        assert!(!memory.daemon_said(BEGUN));
        assert!(memory.daemon_said(BEGUN), "only once");
    }

    #[test]
    fn who_waits_when_the_daemon_goes_hears_what_to_do() {
        let mut memory = begun();
        memory.client_said(CALL);
        let answers = memory.lost();
        let [answer] = &answers[..] else { panic!("{answers:?}") };
        let answer: Value = serde_json::from_slice(answer).unwrap();
        assert_eq!(answer["id"], "a");
        assert!(answer["error"]["message"].as_str().unwrap().contains("action list"));
        assert!(memory.lost().is_empty());
    }

    #[test]
    fn who_waits_to_begin_is_answered_by_the_next_daemon() {
        let mut memory = Memory::default();
        memory.client_said(BEGIN);
        assert!(memory.lost().is_empty());
        assert_eq!(memory.replay(), [BEGIN]);
        assert!(memory.daemon_said(BEGUN));
    }

    #[test]
    fn a_cancelled_call_does_not_wait() {
        let mut memory = begun();
        memory.client_said(CALL);
        memory.client_said(b"{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"a\"}}");
        assert!(memory.lost().is_empty());
    }

    #[test]
    fn what_no_daemon_can_answer_is_answered_here_and_not_again() {
        let mut memory = Memory::default();
        let answer = memory.unanswerable(BEGIN, "none is started").expect("an answer");
        assert!(String::from_utf8_lossy(&answer).contains("none is started"));
        assert!(memory.unanswerable(READY, "").is_none());
        assert!(memory.replay().is_empty() && !memory.waits());
    }

    #[test]
    fn what_is_no_message_is_not_for_the_client() {
        let mut memory = begun();
        memory.client_said(CALL);
        assert!(!memory.daemon_said(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"resu\n"));
        assert!(memory.waits(), "it was no answer");
    }

    #[test]
    fn a_question_of_the_daemons_is_not_an_answer() {
        let mut memory = begun();
        memory.replay();
        assert!(memory.daemon_said(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}"));
    }
}
