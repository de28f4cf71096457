//! One turn: the lines of its prompt, what is told of it, and how it is answered.

use crate::requests::Agent;
use crate::{sessions, wire};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_it::eventually;

/// How a line of the prompt leaves the turn.
pub(crate) enum Then {
    GoOn,
    /// It is answered with this reason.
    Stop(String),
    /// It is answered with this error.
    Fail(i64, String),
    /// It is never answered.
    Silence,
}

/// A turn.
pub(crate) struct Turn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) session: String,
    pub(crate) prompt: String,
    pub(crate) id: Value,
    /// The command that it had the client start last.
    pub(crate) terminal: Value,
    /// Whether the answer is given once more.
    pub(crate) twice: bool,
}

impl Turn {
    pub(crate) fn new(agent: Arc<Agent>, id: Value, params: &Value) -> Self {
        let session = params["sessionId"].as_str().expect("a session").to_owned();
        let blocks = params["prompt"].as_array().expect("a prompt").iter();
        let prompt: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        Self { agent, session, prompt: prompt.join("\n"), id, terminal: Value::Null, twice: false }
    }

    /// Does what the prompt says, and answers it. A prompt that says nothing of the kind is told what it was.
    pub(crate) fn carry_out(mut self) {
        sessions::keep(&self.session, &chunk("user_message_chunk", &self.prompt));
        let prompt = self.prompt.clone();
        let mut lines = prompt.lines().filter_map(|line| line.strip_prefix('!')).peekable();
        if lines.peek().is_none() {
            self.tell_of_itself();
        }
        let then = lines.find_map(|line| {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            match self.obey(verb, rest) {
                Then::GoOn if self.agent.is_cancelled() => Some(Then::Stop("cancelled".to_owned())),
                Then::GoOn => None,
                then => Some(then),
            }
        });
        self.answer(&then.unwrap_or(Then::Stop("end_turn".to_owned())));
    }

    pub(crate) fn answer(&self, then: &Then) {
        for _ in 0..=u8::from(self.twice) {
            match then {
                Then::GoOn | Then::Silence => {}
                Then::Stop(reason) => wire::answer(&self.id, &json!({"stopReason": reason})),
                Then::Fail(code, message) => wire::fail(&self.id, *code, message),
            }
        }
    }

    /// Says what the prompt was, and what this process is.
    pub(crate) fn tell_of_itself(&self) {
        let mut told = self.agent.told(&self.session);
        told["prompt"] = self.prompt.chars().take(200).collect::<String>().into();
        self.says(&told.to_string());
    }

    /// Says a piece of a message.
    pub(crate) fn says(&self, text: &str) {
        self.tells(&chunk("agent_message_chunk", text));
    }

    /// Tells how the session goes, and keeps it.
    pub(crate) fn tells(&self, update: &Value) {
        sessions::keep(&self.session, update);
        wire::update(&self.session, update);
    }

    /// Waits for a file, or until the turn is cancelled.
    pub(crate) fn awaits(&self, file: &str) {
        eventually(&format!("{file}, or a cancel"), || {
            (Path::new(file).exists() || self.agent.is_cancelled()).then_some(())
        });
    }

    /// Does nothing until the turn is cancelled.
    pub(crate) fn hangs(&self) {
        while !self.agent.is_cancelled() {
            std::thread::park_timeout(Duration::from_millis(3));
        }
    }
}

/// A piece of a message.
pub(crate) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}
