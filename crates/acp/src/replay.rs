//! The history that an agent replays when it loads a conversation. Some agents answer `session/load` first and
//! replay afterwards: their updates are dropped until the recorded history has been seen, or until the agent is quiet.

use crate::schema::{ContentBlock, ContentChunk, SessionUpdate};
use serde_json::Value;
use std::collections::VecDeque;

/// Maximum number of messages to compare.
const MAX_COMPARED: usize = 500;

/// A message of a conversation, without its whitespace: agents cut and pad texts in their own way.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    of_user: bool,
    text: String,
}

/// The last messages of a conversation. Consecutive texts of one side count as one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Messages(VecDeque<Message>);

impl Messages {
    /// Reads messages from recorded entries, the oldest first: their kinds and bodies.
    pub fn recorded<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut messages = Self::default();
        for (kind, body) in entries {
            let of_user = match kind {
                "user" => true,
                "agent" => false,
                _ => continue,
            };
            let body: Value = serde_json::from_str(body).unwrap_or_default();
            messages.add(of_user, body["text"].as_str().unwrap_or_default());
        }
        messages
    }

    fn add(&mut self, of_user: bool, text: &str) {
        let text = text.chars().filter(|c| !c.is_whitespace());
        match self.0.back_mut().filter(|last| last.of_user == of_user) {
            Some(last) => last.text.extend(text),
            None => self.0.push_back(Message { of_user, text: text.collect() }),
        }
        if self.0.len() > MAX_COMPARED {
            self.0.pop_front();
        }
    }

    /// Returns true if these messages end with those. The beginning of the first of those may not be recorded.
    fn end_with(&self, those: &Self) -> bool {
        let Some(skipped) = self.0.len().checked_sub(those.0.len()) else { return false };
        let mut pairs = self.0.iter().skip(skipped).zip(&those.0).rev();
        let is_end = |(this, that): (&Message, &Message)| {
            this.of_user == that.of_user && this.text.ends_with(&that.text)
        };
        let Some(last) = pairs.next() else { return false };
        let is_same = |(this, that): (&Message, &Message)| this == that;
        // The last is compared first: it differs until the replay ends.
        match pairs.next_back() {
            None => is_end(last),
            Some(first) => is_same(last) && pairs.all(is_same) && is_end(first),
        }
    }
}

/// A replay in progress.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    seen: Messages,
    /// The recorded messages, once the load was answered and a caller waits for the end of the replay.
    recorded: Option<Messages>,
    /// True if the agent replayed something after its answer.
    is_late: bool,
}

impl Replay {
    /// Adds an update; returns true if it is a part of a conversation.
    pub(crate) fn take(&mut self, update: &SessionUpdate, is_answered: bool) -> bool {
        let text = |chunk: &ContentChunk| match &chunk.content {
            ContentBlock::Text(text) => text.text.clone(),
            _ => String::new(),
        };
        match update {
            SessionUpdate::UserMessageChunk(chunk) => self.seen.add(true, &text(chunk)),
            SessionUpdate::AgentMessageChunk(chunk) => self.seen.add(false, &text(chunk)),
            SessionUpdate::AgentThoughtChunk(_)
            | SessionUpdate::ToolCall(_)
            | SessionUpdate::ToolCallUpdate(_)
            | SessionUpdate::Plan(_) => {}
            _ => return false,
        }
        self.is_late |= is_answered;
        true
    }

    /// Sets the recorded messages with which the replay will end.
    pub(crate) fn expect(&mut self, recorded: Messages) {
        self.recorded = Some(recorded);
    }

    /// Returns true if the agent has replayed all that is recorded.
    pub(crate) fn is_complete(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| self.seen.end_with(recorded))
    }

    /// Returns true if the agent replayed something after its answer. The end of such a replay is certain only once it is
    /// complete.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(texts: &[(&str, &str)]) -> Messages {
        let bodies: Vec<_> =
            texts.iter().map(|(kind, text)| (*kind, serde_json::json!({"text": text}).to_string())).collect();
        Messages::recorded(bodies.iter().map(|(kind, body)| (*kind, body.as_str())))
    }

    fn chunk(kind: &str, text: &str) -> SessionUpdate {
        let update = serde_json::json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        serde_json::from_value(update).unwrap()
    }

    #[test]
    fn a_replay_is_complete_when_the_last_recorded_answer_has_come() {
        let mut replay = Replay::default();
        let recorded = [
            ("user", "one"),
            ("agent", "OK"),
            ("tool", ""),
            ("user", "two"),
            ("agent", "O"),
            ("agent", "K\n"),
        ];
        replay.expect(messages(&recorded));
        for (kind, text, complete) in [
            ("user_message_chunk", "one", false),
            ("agent_message_chunk", "OK", false),
            ("agent_thought_chunk", "hm", false),
            ("user_message_chunk", "tw", false),
            ("user_message_chunk", "o", false),
            ("agent_message_chunk", "O", false),
            ("agent_message_chunk", " K", true),
        ] {
            assert!(replay.take(&chunk(kind, text), true));
            assert_eq!(replay.is_complete(), complete, "{kind} {text}");
        }
    }

    #[test]
    fn a_conversation_that_began_before_the_record_is_known_by_its_end() {
        let recorded = messages(&[("agent", "end of it"), ("user", "b"), ("agent", "c")]);
        let told = [("user", "a"), ("agent", "the end of it"), ("user", "b"), ("agent", "c")];
        assert!(messages(&told).end_with(&recorded));
        assert!(!messages(&told[..3]).end_with(&recorded));
        assert!(!messages(&told[1..]).end_with(&messages(&told)));
        assert!(!messages(&told).end_with(&Messages::default()), "nothing is recorded: nothing is certain");
    }

    #[test]
    fn updates_that_are_no_part_of_a_conversation_delay_nothing() {
        let mut replay = Replay::default();
        let commands =
            serde_json::json!({"sessionUpdate": "available_commands_update", "availableCommands": []});
        assert!(!replay.take(&serde_json::from_value(commands).unwrap(), true));
        assert!(!replay.is_late());
        assert!(replay.take(&chunk("agent_thought_chunk", "hm"), false) && !replay.is_late());
        assert!(replay.take(&chunk("agent_thought_chunk", "hm"), true) && replay.is_late());
    }
}
