//! A turn: the lines of its prompt, its updates, and its answer.

use crate::requests::Agent;
use crate::{sessions, wire};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_it::eventually;

/// State of the turn after a line of the prompt.
pub(crate) enum LineOutcome {
    GoOn,
    /// Ends with this stop reason.
    Stop(String),
    /// Ends with this error.
    Fail(i64, String),
    /// Never ends.
    Silence,
}

/// A turn.
pub(crate) struct Turn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) session: String,
    pub(crate) prompt: String,
    pub(crate) id: Value,
    /// The last command that the client started for it.
    pub(crate) terminal: Value,
    /// True if the answer is sent twice.
    pub(crate) twice: bool,
}

impl Turn {
    pub(crate) fn new(agent: Arc<Agent>, id: Value, params: &Value) -> Self {
        let session = params["sessionId"].as_str().expect("a session").to_owned();
        let blocks = params["prompt"].as_array().expect("a prompt").iter();
        let prompt: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        Self { agent, session, prompt: prompt.join("\n"), id, terminal: Value::Null, twice: false }
    }

    /// Carries out the prompt, and answers it. A prompt without a script gets a description of itself and
    /// this process.
    pub(crate) fn carry_out(mut self) {
        sessions::append(&self.session, &chunk("user_message_chunk", &self.prompt));
        let prompt = self.prompt.clone();
        let mut lines = prompt.lines().filter_map(|line| line.strip_prefix('!')).peekable();
        if lines.peek().is_none() {
            self.describe_itself();
        }
        let then = lines.find_map(|line| {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            match self.run_line(verb, rest) {
                LineOutcome::GoOn if self.agent.is_cancelled() => {
                    Some(LineOutcome::Stop("cancelled".to_owned()))
                }
                LineOutcome::GoOn => None,
                then => Some(then),
            }
        });
        self.answer(&then.unwrap_or(LineOutcome::Stop("end_turn".to_owned())));
    }

    pub(crate) fn answer(&self, then: &LineOutcome) {
        for _ in 0..=u8::from(self.twice) {
            match then {
                LineOutcome::GoOn | LineOutcome::Silence => {}
                LineOutcome::Stop(reason) => wire::answer(&self.id, &json!({"stopReason": reason})),
                LineOutcome::Fail(code, message) => wire::fail(&self.id, *code, message),
            }
        }
    }

    /// Describes the prompt and this process.
    pub(crate) fn describe_itself(&self) {
        let mut told = self.agent.description(&self.session);
        told["prompt"] = self.prompt.chars().take(200).collect::<String>().into();
        self.send_text(&told.to_string());
    }

    /// Sends a piece of a message.
    pub(crate) fn send_text(&self, text: &str) {
        self.send_update(&chunk("agent_message_chunk", text));
    }

    /// Sends an update, and stores it.
    pub(crate) fn send_update(&self, update: &Value) {
        sessions::append(&self.session, update);
        wire::update(&self.session, update);
    }

    /// Waits for a file, or until the turn is cancelled.
    pub(crate) fn wait_for_file(&self, file: &str) {
        eventually(&format!("{file}, or a cancel"), || {
            (Path::new(file).exists() || self.agent.is_cancelled()).then_some(())
        });
    }

    /// Waits until the turn is cancelled.
    pub(crate) fn wait_for_cancel(&self) {
        while !self.agent.is_cancelled() {
            std::thread::park_timeout(Duration::from_millis(3));
        }
    }
}

/// A piece of a message.
pub(crate) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}
