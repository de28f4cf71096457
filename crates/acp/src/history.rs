//! What happened in a turn, as entries: the pieces of a message are one, a tool call is one from its beginning to its end, a
//! plan is one however often it changes. What was recorded is given back after a crash, and the same fold goes on.

use crate::schema::{
    ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCall, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::visible;

/// A text becomes another entry when it is as long as this: an entry that grows is written anew each time.
const TEXT: usize = 16 << 10;
/// How much of what a tool says is kept, piece by piece.
const PIECE: usize = 8 << 10;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What was said to the agent.
    User,
    /// What the agent said.
    Agent,
    /// What the agent thought.
    Thought,
    /// What the agent did.
    Tool,
    /// What the agent means to do.
    Plan,
    /// What the agent wanted to do, and what was answered.
    Permission,
    /// How the agent works from now on.
    Mode,
    /// How much of its memory the agent has used.
    Usage,
    /// Something else that somebody should know.
    Note,
}

impl Kind {
    /// Its frozen word.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Thought => "thought",
            Self::Tool => "tool",
            Self::Plan => "plan",
            Self::Permission => "permission",
            Self::Mode => "mode",
            Self::Usage => "usage",
            Self::Note => "note",
        }
    }
}

/// An entry that is new, or otherwise than it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The number that it was recorded under; none, if it is new.
    pub number: Option<u64>,
    /// What it is.
    pub kind: Kind,
    /// More of that.
    pub body: Value,
}

/// An entry that may change.
#[derive(Debug, Clone)]
struct Open {
    number: Option<u64>,
    changed: bool,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Text {
        kind: Kind,
        text: String,
        message: Option<MessageId>,
        grows: bool,
    },
    Tool(Box<ToolCall>),
    Plan(Value),
    Usage(Value),
    /// What the agent wants to do, by the id of its request.
    Permission(Value),
    Other {
        kind: Kind,
        body: Value,
    },
}

impl What {
    fn kind(&self) -> Kind {
        match self {
            Self::Text { kind, .. } | Self::Other { kind, .. } => *kind,
            Self::Tool(_) => Kind::Tool,
            Self::Plan(_) => Kind::Plan,
            Self::Usage(_) => Kind::Usage,
            Self::Permission(_) => Kind::Permission,
        }
    }

    fn body(&self) -> Value {
        match self {
            Self::Text { text, .. } => json!({ "text": text }),
            // The protocol's types are JSON.
            Self::Tool(call) => serde_json::to_value(call).unwrap_or_default(),
            Self::Plan(body) | Self::Usage(body) | Self::Permission(body) | Self::Other { body, .. } => {
                body.clone()
            }
        }
    }

    /// Whether nothing more can become of it.
    fn is_settled(&self) -> bool {
        match self {
            Self::Text { grows, .. } => !grows,
            Self::Tool(call) => matches!(call.status, ToolCallStatus::Completed | ToolCallStatus::Failed),
            Self::Plan(_) | Self::Usage(_) => false,
            Self::Permission(body) => body.get("outcome").is_some(),
            Self::Other { .. } => true,
        }
    }
}

/// The history of a turn, as far as it can still change.
#[derive(Debug, Default)]
pub struct History {
    open: Vec<Open>,
}

impl History {
    /// The history of a turn of which this was recorded. A text is not gone on with: what comes is another piece.
    pub fn resumed<'a>(recorded: impl IntoIterator<Item = (u64, &'a str, &'a str)>) -> Self {
        let open = recorded.into_iter().filter_map(|(number, kind, body)| {
            let what = match kind {
                "tool" => What::Tool(serde_json::from_str(body).ok()?),
                "plan" => What::Plan(serde_json::from_str(body).ok()?),
                "permission" => What::Permission(serde_json::from_str(body).ok()?),
                "usage" => What::Usage(serde_json::from_str(body).ok()?),
                _ => return None,
            };
            Some(Open { number: Some(number), changed: false, what })
        });
        Self { open: open.filter(|open| !open.what.is_settled()).collect() }
    }

    /// Takes an update of the agent; says whether anything came of it.
    pub fn take(&mut self, update: SessionUpdate) -> bool {
        match update {
            SessionUpdate::UserMessageChunk(chunk) => self.text(Kind::User, chunk),
            SessionUpdate::AgentMessageChunk(chunk) => self.text(Kind::Agent, chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => self.text(Kind::Thought, chunk),
            SessionUpdate::ToolCall(call) => self.tool(call),
            SessionUpdate::ToolCallUpdate(update) => self.tool_update(update),
            SessionUpdate::Plan(plan) => {
                let body = json!({ "entries": plan.entries });
                self.replace(|what| matches!(what, What::Plan(_)), What::Plan(body));
            }
            SessionUpdate::CurrentModeUpdate(mode) => {
                self.note(Kind::Mode, json!({ "mode": mode.current_mode_id }));
            }
            SessionUpdate::UsageUpdate(usage) => {
                let body = json!({ "used": usage.used, "size": usage.size, "cost": usage.cost });
                self.replace(|what| matches!(what, What::Usage(_)), What::Usage(body));
            }
            SessionUpdate::Notice(notice) => {
                let body =
                    json!({ "severity": notice.severity, "title": notice.title, "text": notice.description });
                self.note(Kind::Note, body);
            }
            // What can be typed, what a session is called and how its memory is tidied is no part of what happened.
            _ => return false,
        }
        true
    }

    /// Another turn begins: what the agent means to do and has used is told anew in it.
    pub fn next_turn(&mut self) {
        for open in &mut self.open {
            if matches!(open.what, What::Plan(_) | What::Usage(_)) {
                open.what = What::Other { kind: open.what.kind(), body: open.what.body() };
            }
        }
        self.settle_texts();
    }

    /// Something that does not change.
    pub fn note(&mut self, kind: Kind, body: Value) {
        self.settle_texts();
        self.open.push(Open { number: None, changed: true, what: What::Other { kind, body } });
    }

    /// The agent wants to do something: what is told of that, with the id of its request.
    pub fn asks(&mut self, body: Value) {
        self.settle_texts();
        self.open.push(Open { number: None, changed: true, what: What::Permission(body) });
    }

    /// It was answered so.
    pub fn permitted(&mut self, request: &str, how: Value) {
        let of_request =
            |open: &&mut Open| matches!(&open.what, What::Permission(body) if body["request"] == request);
        match (self.open.iter_mut().find(of_request), how) {
            (Some(Open { changed, what: What::Permission(body), .. }), Value::Object(how)) => {
                if let Some(body) = body.as_object_mut() {
                    body.extend(how);
                }
                *changed = true;
            }
            // It did not ask.
            (_, how) => self.note(Kind::Permission, how),
        }
    }

    /// Returns an unfinished tool call as it was last reported.
    pub fn call(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.open.iter().find_map(|open| match &open.what {
            What::Tool(call) if call.tool_call_id == *id => Some(&**call),
            _ => None,
        })
    }

    /// What is new or has changed since the last time, in the order of its beginning. A text that is interrupted by something
    /// else is over.
    pub fn changes(&self) -> Vec<Change> {
        let changed = self.open.iter().filter(|open| open.changed);
        changed
            .map(|open| Change { number: open.number, kind: open.what.kind(), body: open.what.body() })
            .collect()
    }

    /// The changes were recorded, the new ones under these numbers.
    pub fn recorded(&mut self, numbers: impl IntoIterator<Item = u64>) {
        let mut numbers = numbers.into_iter();
        for open in self.open.iter_mut().filter(|open| open.changed) {
            open.changed = false;
            open.number = open.number.or_else(|| numbers.next());
        }
        self.open.retain(|open| !open.what.is_settled());
    }

    fn text(&mut self, kind: Kind, chunk: ContentChunk) {
        let ContentBlock::Text(piece) = chunk.content else {
            return self.note(kind, json!({ "content": shortened(&chunk.content) }));
        };
        let id = chunk.message_id;
        if let Some(Open { changed, what: What::Text { kind: of, text, message, grows: true }, .. }) =
            self.open.iter_mut().find(|open| matches!(open.what, What::Text { grows: true, .. }))
            && *of == kind
            && *message == id
            && text.len() < TEXT
        {
            text.push_str(&piece.text);
            *changed = true;
            return;
        }
        self.settle_texts();
        let what = What::Text { kind, text: piece.text, message: id, grows: true };
        self.open.push(Open { number: None, changed: true, what });
    }

    fn tool(&mut self, call: ToolCall) {
        self.settle_texts();
        let id = call.tool_call_id.clone();
        let call = What::Tool(Box::new(cut(call)));
        self.replace(|what| matches!(what, What::Tool(call) if call.tool_call_id == id), call);
    }

    /// What becomes of a tool call; of one whose beginning nobody saw, this is the beginning.
    fn tool_update(&mut self, update: ToolCallUpdate) {
        self.settle_texts();
        let id = update.tool_call_id;
        for open in &mut self.open {
            if let What::Tool(call) = &mut open.what
                && call.tool_call_id == id
            {
                call.update(update.fields);
                **call = cut((**call).clone());
                open.changed = true;
                return;
            }
        }
        let mut call = ToolCall::new(id, String::new());
        call.update(update.fields);
        self.tool(call);
    }

    /// Puts this in the place of what it is the next state of.
    fn replace(&mut self, is_same: impl Fn(&What) -> bool, what: What) {
        match self.open.iter_mut().find(|open| is_same(&open.what)) {
            Some(open) => (open.what, open.changed) = (what, true),
            None => self.open.push(Open { number: None, changed: true, what }),
        }
    }

    fn settle_texts(&mut self) {
        for open in &mut self.open {
            if let What::Text { grows, .. } = &mut open.what {
                *grows = false;
            }
        }
        self.open.retain(|open| open.changed || !open.what.is_settled());
    }
}

/// A tool call of a bearable size: the agent has the rest.
fn cut(mut call: ToolCall) -> ToolCall {
    if call.raw_output.as_ref().is_some_and(|raw| raw.to_string().len() > PIECE) {
        call.raw_output = None;
    }
    // The cut is visible, so that a person who is asked about the call sees that there is more.
    match &mut call.raw_input {
        Some(Value::String(text)) => shorten(text),
        Some(raw) if raw.to_string().len() > PIECE => *raw = visible::cut(&raw.to_string(), PIECE).into(),
        _ => {}
    }
    for content in &mut call.content {
        match content {
            ToolCallContent::Content(content) => {
                if let ContentBlock::Text(text) = &mut content.content {
                    shorten(&mut text.text);
                }
            }
            ToolCallContent::Diff(diff) => {
                diff.old_text.iter_mut().for_each(shorten);
                shorten(&mut diff.new_text);
            }
            _ => {}
        }
    }
    call.content.retain(|content| serde_json::to_string(content).is_ok_and(|text| text.len() <= 4 * PIECE));
    call
}

fn shorten(text: &mut String) {
    // Every update cuts again: a text that is cut already is a little longer than `PIECE`.
    if text.len() > PIECE + 100 {
        *text = visible::cut(text, PIECE).into_owned();
    }
}

/// What a picture or a sound is, without its bytes.
fn shortened(content: &ContentBlock) -> Value {
    let mut value = serde_json::to_value(content).unwrap_or_default();
    if let Some(data) = value.get_mut("data") {
        *data = json!(format!("{} bytes of base64", data.as_str().map_or(0, str::len)));
    }
    value
}

#[cfg(test)]
mod tests;
