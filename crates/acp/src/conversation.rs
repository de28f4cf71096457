//! What was asked and not answered, on either side of one adapter's pipes. It has no bytes and no clock: what it needs to
//! go on is what a record can keep, so the next daemon goes on with the same conversation.

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

/// What we ask of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Which version and which abilities.
    Initialize,
    /// To log in.
    Authenticate,
    /// A session.
    NewSession,
    /// A session of earlier, told again.
    LoadSession,
    /// A session of earlier.
    ResumeSession,
    /// Which sessions there are.
    ListSessions,
    /// To let go of a session.
    CloseSession,
    /// Another mode.
    SetMode,
    /// Another option.
    SetConfigOption,
    /// A turn.
    Prompt,
}

impl Verb {
    /// Its frozen word.
    pub fn word(self) -> String {
        raw(&self).get().trim_matches('"').to_owned()
    }

    /// The verb with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }

    /// Its name in the protocol.
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

/// What an agent wants of us.
#[derive(Debug, Clone)]
pub enum Want {
    /// To do something.
    Permission(Box<RequestPermissionRequest>),
    /// The text of a file.
    ReadFile(ReadTextFileRequest),
    /// A file with this text.
    WriteFile(WriteTextFileRequest),
    /// A command.
    CreateTerminal(CreateTerminalRequest),
    /// What a command has printed.
    TerminalOutput(TerminalOutputRequest),
    /// To have nothing to do with a command any more.
    ReleaseTerminal(ReleaseTerminalRequest),
    /// The end of a command.
    WaitForExit(WaitForTerminalExitRequest),
    /// That a command ends.
    KillTerminal(KillTerminalRequest),
    /// What is answered with this error.
    Nothing(Error),
}

impl Want {
    /// What a request wants. One that is not known or not understood is answered with an error, so that the agent goes on.
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
pub struct Asked {
    /// What the answer is to name.
    pub id: RequestId,
    /// What it is called in the protocol.
    pub method: String,
    /// More of that, as it came: this is what a record keeps.
    pub params: Option<Box<RawValue>>,
    /// When it was heard.
    pub at_ms: u64,
}

impl Asked {
    /// What it wants.
    pub fn want(&self) -> Want {
        Want::read(&self.method, self.params.as_deref())
    }

    /// The run of a command or the question to somebody that comes of it: the same, whoever goes on with it.
    pub fn consequence(&self, adapter: &RunId) -> RunId {
        let text = format!("{adapter} {} {}", raw(&self.id).get(), self.at_ms);
        let (one, two) = (fnv64(text.as_bytes()), fnv64(format!("{text} ").as_bytes()));
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&one.to_be_bytes());
        bytes[8..].copy_from_slice(&two.to_be_bytes()[..4]);
        RunId::from_random(bytes)
    }
}

/// What a message of the agent comes to.
#[derive(Debug)]
pub enum Heard {
    /// How its session goes.
    Update(Box<SessionNotification>),
    /// It wants something.
    Asked(Asked),
    /// It answered.
    Answered {
        /// To what.
        verb: Verb,
        /// To which of those.
        id: i64,
        /// What.
        answer: Result<Box<RawValue>, Error>,
    },
    /// Nothing.
    Ignored(Ignored),
}

/// Why a message comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// It answers what nobody asked, or what is answered already.
    #[error("an answer to {0}, which waits for none")]
    Unasked(RequestId),
    /// It asks under an id that is in use.
    #[error("a second request {0} before the first is answered")]
    Repeated(RequestId),
    /// It says something that is not known.
    #[error("{0} is not known")]
    Unknown(String),
    /// It says something that is not understood.
    #[error("{method} is not understood: {why}")]
    Malformed {
        /// What it is called.
        method: String,
        /// Why not.
        why: String,
    },
}

/// A request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What the answer will name.
    pub id: i64,
    /// The line that asks, with its end.
    pub line: String,
}

/// One conversation.
#[derive(Debug)]
pub struct Conversation {
    next_id: i64,
    waiting: BTreeMap<i64, Verb>,
    asked: BTreeMap<RequestId, Asked>,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { next_id: 1, waiting: BTreeMap::new(), asked: BTreeMap::new() }
    }
}

impl Conversation {
    /// The conversation that was left so: what was asked last, and what was not answered on either side.
    pub fn resumed(
        last_id: i64,
        waiting: impl IntoIterator<Item = (i64, Verb)>,
        asked: impl IntoIterator<Item = Asked>,
    ) -> Self {
        let asked = asked.into_iter().map(|one| (one.id.clone(), one)).collect();
        Self { next_id: last_id + 1, waiting: waiting.into_iter().collect(), asked }
    }

    /// Asks something.
    pub fn ask(&mut self, verb: Verb, params: &impl Serialize) -> Question {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, verb);
        let method = verb.method().to_owned();
        let line = Message::Request { id: RequestId::Number(id), method, params: Some(raw(params)) }.line();
        Question { id, line }
    }

    /// Whether something was asked and is not answered.
    pub fn waits_for(&self, verb: Verb) -> bool {
        self.waiting.values().any(|waiting| *waiting == verb)
    }

    /// What the agent wants and has not got.
    pub fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.asked.values()
    }

    /// Takes a message of the agent, which came then.
    pub fn hear(&mut self, message: Message, at_ms: u64) -> Heard {
        match message {
            Message::Request { id, method, params } => {
                if self.asked.contains_key(&id) {
                    return Heard::Ignored(Ignored::Repeated(id));
                }
                let asked = Asked { id: id.clone(), method, params, at_ms };
                self.asked.insert(id, asked.clone());
                Heard::Asked(asked)
            }
            Message::Response { id, answer } => {
                match number(&id).and_then(|number| self.waiting.remove(&number).map(|verb| (number, verb))) {
                    Some((id, verb)) => Heard::Answered { verb, id, answer },
                    None => Heard::Ignored(Ignored::Unasked(id)),
                }
            }
            Message::Notification { method, params } => notified(method, params.as_deref()),
        }
    }

    /// The line that answers the agent; none, if it does not wait for that (any more).
    pub fn answer(&mut self, id: &RequestId, answer: Result<Box<RawValue>, Error>) -> Option<String> {
        self.asked.remove(id)?;
        Some(Message::Response { id: id.clone(), answer }.line())
    }
}

/// The line that has the agent end its turn.
pub fn cancel(session: &SessionId) -> String {
    let params = Some(raw(&CancelNotification::new(session.clone())));
    Message::Notification { method: AGENT_METHOD_NAMES.session_cancel.to_owned(), params }.line()
}

/// Some agents answer with the number as text.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::Str(text) => text.parse().ok(),
        RequestId::Null => None,
    }
}

fn notified(method: String, params: Option<&RawValue>) -> Heard {
    if method != CLIENT_METHOD_NAMES.session_update {
        return Heard::Ignored(Ignored::Unknown(method));
    }
    match parsed(params) {
        Ok(update) => Heard::Update(Box::new(update)),
        Err(why) => Heard::Ignored(Ignored::Malformed { method, why }),
    }
}

#[cfg(test)]
mod tests;
