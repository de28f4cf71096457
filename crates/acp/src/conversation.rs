//! The open requests of both sides of one adapter's pipes. This module has no bytes and no clock: a record holds all that
//! it needs, so the next daemon can resume the conversation.

use crate::message::{Message, parsed, raw};
use crate::schema::{
    AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, CancelNotification, CreateTerminalRequest, Error,
    KillTerminalRequest, ReadTextFileRequest, ReleaseTerminalRequest, RequestId, RequestPermissionRequest,
    SessionId, SessionNotification, TerminalOutputRequest, WaitForTerminalExitRequest, WriteTextFileRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tenure_core::hash::fnv64;
use tenure_core::ids::RunId;

/// A kind of request that Tenure sends to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Negotiate the protocol version and the capabilities.
    Initialize,
    /// Log in.
    Authenticate,
    /// Create a session.
    NewSession,
    /// Load an earlier session; the agent replays it.
    LoadSession,
    /// Resume an earlier session without a replay.
    ResumeSession,
    /// List the sessions.
    ListSessions,
    /// Close a session.
    CloseSession,
    /// Set the mode.
    SetMode,
    /// Set an option.
    SetConfigOption,
    /// Begin a turn.
    Prompt,
}

impl Verb {
    /// Returns the frozen word for records.
    pub fn word(self) -> String {
        raw(&self).get().trim_matches('"').to_owned()
    }

    /// Returns the verb with this frozen word.
    pub fn of_word(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }

    /// Returns the protocol's method name.
    pub fn method(self) -> &'static str {
        match self {
            Self::Initialize => AGENT_METHOD_NAMES.initialize,
            Self::Authenticate => AGENT_METHOD_NAMES.authenticate,
            Self::NewSession => AGENT_METHOD_NAMES.session_new,
            Self::LoadSession => AGENT_METHOD_NAMES.session_load,
            Self::ResumeSession => AGENT_METHOD_NAMES.session_resume,
            Self::ListSessions => AGENT_METHOD_NAMES.session_list,
            Self::CloseSession => AGENT_METHOD_NAMES.session_close,
            Self::SetMode => AGENT_METHOD_NAMES.session_set_mode,
            Self::SetConfigOption => AGENT_METHOD_NAMES.session_set_config_option,
            Self::Prompt => AGENT_METHOD_NAMES.session_prompt,
        }
    }
}

/// A parsed request of an agent.
#[derive(Debug, Clone)]
pub enum ParsedRequest {
    /// Ask for permission to run a tool.
    Permission(Box<RequestPermissionRequest>),
    /// Read a text file.
    ReadFile(ReadTextFileRequest),
    /// Write a text file.
    WriteFile(WriteTextFileRequest),
    /// Start a command.
    CreateTerminal(CreateTerminalRequest),
    /// Read a command's output.
    TerminalOutput(TerminalOutputRequest),
    /// Release a command: kill it and forget it.
    ReleaseTerminal(ReleaseTerminalRequest),
    /// Wait for a command's exit.
    WaitForExit(WaitForTerminalExitRequest),
    /// Kill a command.
    KillTerminal(KillTerminalRequest),
    /// An unknown or malformed request; the error is its response.
    Nothing(Error),
}

impl ParsedRequest {
    /// Parses a request. An unknown or malformed one gets an error as its response, so that the agent can continue.
    pub fn read(method: &str, params: Option<&RawValue>) -> Self {
        let names = &CLIENT_METHOD_NAMES;
        let read = match method {
            _ if method == names.session_request_permission => {
                parsed(params).map(|wanted| Self::Permission(Box::new(wanted)))
            }
            _ if method == names.fs_read_text_file => parsed(params).map(Self::ReadFile),
            _ if method == names.fs_write_text_file => parsed(params).map(Self::WriteFile),
            _ if method == names.terminal_create => parsed(params).map(Self::CreateTerminal),
            _ if method == names.terminal_output => parsed(params).map(Self::TerminalOutput),
            _ if method == names.terminal_release => parsed(params).map(Self::ReleaseTerminal),
            _ if method == names.terminal_wait_for_exit => parsed(params).map(Self::WaitForExit),
            _ if method == names.terminal_kill => parsed(params).map(Self::KillTerminal),
            _ => return Self::Nothing(Error::method_not_found()),
        };
        read.unwrap_or_else(|why| Self::Nothing(Error::invalid_params().data(serde_json::Value::String(why))))
    }
}

/// A request of the agent.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// The request's id, which the response repeats.
    pub id: RequestId,
    /// The protocol's method name.
    pub method: String,
    /// The unparsed parameters, as the record keeps them.
    pub params: Option<Box<RawValue>>,
    /// The time of receipt, in Unix milliseconds.
    pub at_ms: u64,
}

impl AgentRequest {
    /// Parses the request.
    pub fn want(&self) -> ParsedRequest {
        ParsedRequest::read(&self.method, self.params.as_deref())
    }

    /// Returns the id of the run or the approval request that this request causes. It is derived from the request, so
    /// another driver computes the same id.
    pub fn consequence(&self, adapter: &RunId) -> RunId {
        let text = format!("{adapter} {} {}", raw(&self.id).get(), self.at_ms);
        let (one, two) = (fnv64(text.as_bytes()), fnv64(format!("{text} ").as_bytes()));
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&one.to_be_bytes());
        bytes[8..].copy_from_slice(&two.to_be_bytes()[..4]);
        RunId::from_random(bytes)
    }
}

/// The meaning of a message from the agent.
#[derive(Debug)]
pub enum Incoming {
    /// An update of the agent's session.
    Update(Box<SessionNotification>),
    /// A request.
    Request(AgentRequest),
    /// A response to a request of ours.
    Answered {
        /// The kind of our request.
        verb: Verb,
        /// The id of our request.
        id: i64,
        /// The result or the error.
        answer: Result<Box<RawValue>, Error>,
    },
    /// A message that is ignored.
    IgnoreReason(IgnoreReason),
}

/// The reason why a message is ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreReason {
    /// A response to a request that was never sent, or that has its response already.
    #[error("response to request {0}, which is not open")]
    Unasked(RequestId),
    /// A request with the id of another open request.
    #[error("duplicate request id {0}: the first request is still open")]
    Repeated(RequestId),
    /// An unknown method.
    #[error("unknown method {0:?}")]
    Unknown(String),
    /// Parameters that do not fit the method.
    #[error("invalid parameters of {method:?}: {why}")]
    Malformed {
        /// The method.
        method: String,
        /// The parser's error.
        why: String,
    },
}

/// A request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingRequest {
    /// The request's id, which the response repeats.
    pub id: i64,
    /// The request as a line, with its newline.
    pub line: String,
}

/// The open requests of one conversation.
#[derive(Debug)]
pub struct Conversation {
    next_id: i64,
    /// Our requests without a response.
    waiting: BTreeMap<i64, Verb>,
    /// The agent's requests without a response.
    asked: BTreeMap<RequestId, AgentRequest>,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { next_id: 1, waiting: BTreeMap::new(), asked: BTreeMap::new() }
    }
}

impl Conversation {
    /// Resumes a recorded conversation: the last id that was used, and the open requests of both sides.
    pub fn resumed(
        last_id: i64,
        waiting: impl IntoIterator<Item = (i64, Verb)>,
        asked: impl IntoIterator<Item = AgentRequest>,
    ) -> Self {
        let asked = asked.into_iter().map(|one| (one.id.clone(), one)).collect();
        Self { next_id: last_id + 1, waiting: waiting.into_iter().collect(), asked }
    }

    /// Makes a request to the agent.
    pub fn ask(&mut self, verb: Verb, params: &impl Serialize) -> OutgoingRequest {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, verb);
        let method = verb.method().to_owned();
        let line = Message::Request { id: RequestId::Number(id), method, params: Some(raw(params)) }.line();
        OutgoingRequest { id, line }
    }

    /// Returns true if a request of this kind is open.
    pub fn waits_for(&self, verb: Verb) -> bool {
        self.waiting.values().any(|waiting| *waiting == verb)
    }

    /// Returns the agent's open requests.
    pub fn asked(&self) -> impl Iterator<Item = &AgentRequest> {
        self.asked.values()
    }

    /// Takes a message that the agent sent at this time.
    pub fn receive(&mut self, message: Message, at_ms: u64) -> Incoming {
        match message {
            Message::Request { id, method, params } => {
                if self.asked.contains_key(&id) {
                    return Incoming::IgnoreReason(IgnoreReason::Repeated(id));
                }
                let asked = AgentRequest { id: id.clone(), method, params, at_ms };
                self.asked.insert(id, asked.clone());
                Incoming::Request(asked)
            }
            Message::Response { id, answer } => {
                match number(&id).and_then(|number| self.waiting.remove(&number).map(|verb| (number, verb))) {
                    Some((id, verb)) => Incoming::Answered { verb, id, answer },
                    None => Incoming::IgnoreReason(IgnoreReason::Unasked(id)),
                }
            }
            Message::Notification { method, params } => notified(method, params.as_deref()),
        }
    }

    /// Returns the line with a response to the agent; `None` if the request is not open (any more).
    pub fn answer(&mut self, id: &RequestId, answer: Result<Box<RawValue>, Error>) -> Option<String> {
        self.asked.remove(id)?;
        Some(Message::Response { id: id.clone(), answer }.line())
    }
}

/// Returns the line that cancels the agent's turn.
pub fn cancel(session: &SessionId) -> String {
    let params = Some(raw(&CancelNotification::new(session.clone())));
    Message::Notification { method: AGENT_METHOD_NAMES.session_cancel.to_owned(), params }.line()
}

/// Returns a response's id as a number: some agents send it as text.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::Str(text) => text.parse().ok(),
        RequestId::Null => None,
    }
}

fn notified(method: String, params: Option<&RawValue>) -> Incoming {
    if method != CLIENT_METHOD_NAMES.session_update {
        return Incoming::IgnoreReason(IgnoreReason::Unknown(method));
    }
    match parsed(params) {
        Ok(update) => Incoming::Update(Box::new(update)),
        Err(why) => Incoming::IgnoreReason(IgnoreReason::Malformed { method, why }),
    }
}

#[cfg(test)]
mod tests;
