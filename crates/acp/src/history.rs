//! The history of a turn, as entries: one for the chunks of a message, one for a tool call from its start to its end, one
//! for a plan with all its changes. After a crash the recorded entries are loaded, and later updates change them.

use crate::schema::{
    ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCall, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::visible;

/// Length at which a text continues in another entry: a growing entry is rewritten each time.
const TEXT: usize = 16 << 10;
/// Maximum length of each text of a tool call.
const PIECE: usize = 8 << 10;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message to the agent.
    User,
    /// A message of the agent.
    Agent,
    /// A thought of the agent.
    Thought,
    /// A tool call.
    Tool,
    /// The agent's plan.
    Plan,
    /// A permission request, with its answer.
    Permission,
    /// A change of the agent's mode.
    Mode,
    /// The part of the context window that is used.
    Usage,
    /// A notice of the agent, or of Tenure.
    Note,
}

impl Kind {
    /// Returns the frozen word.
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

/// A new entry, or a changed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The number of the recorded entry; `None` if the entry is new.
    pub number: Option<u64>,
    /// The kind.
    pub kind: Kind,
    /// The content.
    pub body: Value,
}

/// An entry that may change.
#[derive(Debug, Clone)]
struct OpenEntry {
    number: Option<u64>,
    changed: bool,
    what: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Text {
        kind: Kind,
        text: String,
        message: Option<MessageId>,
        grows: bool,
    },
    Tool(Box<ToolCall>),
    Plan(Value),
    Usage(Value),
    /// A permission request; `request` is its id.
    Permission(Value),
    Other {
        kind: Kind,
        body: Value,
    },
}

impl Content {
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
            // The protocol's types always serialize.
            Self::Tool(call) => serde_json::to_value(call).unwrap_or_default(),
            Self::Plan(body) | Self::Usage(body) | Self::Permission(body) | Self::Other { body, .. } => {
                body.clone()
            }
        }
    }

    /// Returns true if the entry cannot change any more.
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

/// The entries of a turn that can still change, or are not recorded yet.
#[derive(Debug, Default)]
pub struct History {
    open: Vec<OpenEntry>,
}

impl History {
    /// Loads the recorded entries of a turn: numbers, kinds and bodies. Later text begins a new entry.
    pub fn resumed<'a>(recorded: impl IntoIterator<Item = (u64, &'a str, &'a str)>) -> Self {
        let open = recorded.into_iter().filter_map(|(number, kind, body)| {
            let what = match kind {
                "tool" => Content::Tool(serde_json::from_str(body).ok()?),
                "plan" => Content::Plan(serde_json::from_str(body).ok()?),
                "permission" => Content::Permission(serde_json::from_str(body).ok()?),
                "usage" => Content::Usage(serde_json::from_str(body).ok()?),
                _ => return None,
            };
            Some(OpenEntry { number: Some(number), changed: false, what })
        });
        Self { open: open.filter(|open| !open.what.is_settled()).collect() }
    }

    /// Takes an update of the agent. Returns false if it is no part of the history.
    pub fn take(&mut self, update: SessionUpdate) -> bool {
        match update {
            SessionUpdate::UserMessageChunk(chunk) => self.text(Kind::User, chunk),
            SessionUpdate::AgentMessageChunk(chunk) => self.text(Kind::Agent, chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => self.text(Kind::Thought, chunk),
            SessionUpdate::ToolCall(call) => self.tool(call),
            SessionUpdate::ToolCallUpdate(update) => self.tool_update(update),
            SessionUpdate::Plan(plan) => {
                let body = json!({ "entries": plan.entries });
                self.replace(|what| matches!(what, Content::Plan(_)), Content::Plan(body));
            }
            SessionUpdate::CurrentModeUpdate(mode) => {
                self.note(Kind::Mode, json!({ "mode": mode.current_mode_id }));
            }
            SessionUpdate::UsageUpdate(usage) => {
                let body = json!({ "used": usage.used, "size": usage.size, "cost": usage.cost });
                self.replace(|what| matches!(what, Content::Usage(_)), Content::Usage(body));
            }
            SessionUpdate::Notice(notice) => {
                let body =
                    json!({ "severity": notice.severity, "title": notice.title, "text": notice.description });
                self.note(Kind::Note, body);
            }
            // Available commands, the session's title and the like are not events of a turn.
            _ => return false,
        }
        true
    }

    /// Begins another turn, with a plan and a usage entry of its own.
    pub fn next_turn(&mut self) {
        for open in &mut self.open {
            if matches!(open.what, Content::Plan(_) | Content::Usage(_)) {
                open.what = Content::Other { kind: open.what.kind(), body: open.what.body() };
            }
        }
        self.settle_texts();
    }

    /// Adds an entry that does not change.
    pub fn note(&mut self, kind: Kind, body: Value) {
        self.settle_texts();
        self.open.push(OpenEntry { number: None, changed: true, what: Content::Other { kind, body } });
    }

    /// Adds a permission request; `request` in its body is the request's id.
    pub fn asks(&mut self, body: Value) {
        self.settle_texts();
        self.open.push(OpenEntry { number: None, changed: true, what: Content::Permission(body) });
    }

    /// Adds the answer to a permission request.
    pub fn permitted(&mut self, request: &str, how: Value) {
        let of_request = |open: &&mut OpenEntry| matches!(&open.what, Content::Permission(body) if body["request"] == request);
        match (self.open.iter_mut().find(of_request), how) {
            (Some(OpenEntry { changed, what: Content::Permission(body), .. }), Value::Object(how)) => {
                if let Some(body) = body.as_object_mut() {
                    body.extend(how);
                }
                *changed = true;
            }
            // Not an answer to a permission request: a refused file access, for example.
            (_, how) => self.note(Kind::Permission, how),
        }
    }

    /// Returns the last report of an unfinished tool call.
    pub fn call(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.open.iter().find_map(|open| match &open.what {
            Content::Tool(call) if call.tool_call_id == *id => Some(&**call),
            _ => None,
        })
    }

    /// Returns the new and changed entries since the last record, in the order in which they began.
    pub fn changes(&self) -> Vec<Change> {
        let changed = self.open.iter().filter(|open| open.changed);
        changed
            .map(|open| Change { number: open.number, kind: open.what.kind(), body: open.what.body() })
            .collect()
    }

    /// Marks the changes as recorded, the new entries under these numbers.
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
        if let Some(OpenEntry {
            changed, what: Content::Text { kind: of, text, message, grows: true }, ..
        }) = self.open.iter_mut().find(|open| matches!(open.what, Content::Text { grows: true, .. }))
            && *of == kind
            && *message == id
            && text.len() < TEXT
        {
            text.push_str(&piece.text);
            *changed = true;
            return;
        }
        self.settle_texts();
        let what = Content::Text { kind, text: piece.text, message: id, grows: true };
        self.open.push(OpenEntry { number: None, changed: true, what });
    }

    fn tool(&mut self, call: ToolCall) {
        self.settle_texts();
        let id = call.tool_call_id.clone();
        let call = Content::Tool(Box::new(cut(call)));
        self.replace(|what| matches!(what, Content::Tool(call) if call.tool_call_id == id), call);
    }

    /// Updates a tool call. An unknown one begins with its update.
    fn tool_update(&mut self, update: ToolCallUpdate) {
        self.settle_texts();
        let id = update.tool_call_id;
        for open in &mut self.open {
            if let Content::Tool(call) = &mut open.what
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

    /// Replaces the entry for which `is_same` is true; adds one if there is none.
    fn replace(&mut self, is_same: impl Fn(&Content) -> bool, what: Content) {
        match self.open.iter_mut().find(|open| is_same(&open.what)) {
            Some(open) => (open.what, open.changed) = (what, true),
            None => self.open.push(OpenEntry { number: None, changed: true, what }),
        }
    }

    /// Ends the growing text: another entry follows it.
    fn settle_texts(&mut self) {
        for open in &mut self.open {
            if let Content::Text { grows, .. } = &mut open.what {
                *grows = false;
            }
        }
        self.open.retain(|open| open.changed || !open.what.is_settled());
    }
}

/// Cuts the texts of a tool call to the maximum length.
fn cut(mut call: ToolCall) -> ToolCall {
    if call.raw_output.as_ref().is_some_and(|raw| raw.to_string().len() > PIECE) {
        call.raw_output = None;
    }
    // The cut is visible: a person who approves the call must see that there is more.
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
    // A cut text is a little longer than `PIECE`; a later update must not cut it again.
    if text.len() > PIECE + 100 {
        *text = visible::cut(text, PIECE).into_owned();
    }
}

/// Returns the description of an image or a sound, without its data.
fn shortened(content: &ContentBlock) -> Value {
    let mut value = serde_json::to_value(content).unwrap_or_default();
    if let Some(data) = value.get_mut("data") {
        *data = json!(format!("{} bytes of base64 left out", data.as_str().map_or(0, str::len)));
    }
    value
}

#[cfg(test)]
mod tests;
