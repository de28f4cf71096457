//! A fake adapter with its agent and its record, in memory.

use super::super::*;
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_core::talk::{AcpConversation, Entry, Line, RecordedStep};
use tokio::sync::Notify;

/// A fake host, which outlives its drivers.
pub(super) struct World {
    pub(super) state: Mutex<State>,
    pub(super) grown: Notify,
    /// True if the agent's requests are answered.
    answers: bool,
    /// The state of a random generator for delays: another seed is another order of events.
    pub(super) seed: AtomicU64,
    /// A lock that delays the recording of steps while a test holds it.
    pub(super) registry: tokio::sync::Mutex<()>,
}

pub(super) struct State {
    output: Vec<u8>,
    input: Vec<u8>,
    /// The offset up to which the agent has read its input.
    obeyed: usize,
    pub(super) talk: AcpConversation,
    lines: Vec<Line>,
    asked: Vec<RecordedRequest>,
    pub(super) entries: Vec<Entry>,
    pub(super) is_over: bool,
    /// The offset before which the output is not kept any more.
    pub(super) lost_to: usize,
}

pub(super) fn turn() -> TurnId {
    TurnId::from_random([1; 12])
}

impl World {
    pub(super) fn new(answers: bool) -> Arc<Self> {
        let key: SessionKey = "a".parse().unwrap();
        let talk = AcpConversation {
            run: RunId::from_random([1; 12]),
            session: key,
            began_at_ms: 0,
            over_at_ms: None,
            heard_to: 0,
            said_to: 0,
            last_id: 0,
            agent_session: None,
            abilities: None,
        };
        let state = State {
            output: Vec::new(),
            input: Vec::new(),
            obeyed: 0,
            talk,
            lines: Vec::new(),
            asked: Vec::new(),
            entries: Vec::new(),
            is_over: false,
            lost_to: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            grown: Notify::new(),
            answers,
            seed: AtomicU64::new(0),
            registry: tokio::sync::Mutex::default(),
        })
    }

    /// Yields a random number of times.
    async fn dawdle(&self) {
        let seed = self.seed.load(Ordering::Relaxed);
        self.seed.store(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1), Ordering::Relaxed);
        for _ in 0..(seed >> 33) % 4 {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn open(&self) -> (OpenConversation, Vec<Entry>) {
        let state = self.state.lock().unwrap();
        let is_open = |line: &&Line| line.asks.is_some() && line.answer.is_none();
        let questions = state.lines.iter().filter(is_open).cloned().collect();
        (
            OpenConversation { talk: state.talk.clone(), questions, asked: state.asked.clone() },
            state.entries.clone(),
        )
    }

    pub(super) fn resume(self: &Arc<Self>) -> (Handle, impl Future<Output = Over> + Send + use<>) {
        let (open, entries) = self.open();
        let entries = entries.iter().map(|entry| (entry.number, entry.kind.as_str(), entry.body.as_str()));
        resume(Arc::clone(self), &open, History::resumed(entries))
    }

    pub(super) fn print(&self, text: &str) {
        self.state.lock().unwrap().output.extend_from_slice(text.as_bytes());
        self.grown.notify_waiters();
    }

    pub(super) fn bodies(&self) -> Vec<(String, String)> {
        let state = self.state.lock().unwrap();
        state.entries.iter().map(|entry| (entry.kind.clone(), entry.body.clone())).collect()
    }

    pub(super) fn answer_to_the_first(&self) -> Option<String> {
        self.state.lock().unwrap().lines.first().and_then(|line| line.answer.clone())
    }

    /// The agent's whole input, line by line.
    pub(super) fn heard_by_agent(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let text = String::from_utf8(state.input.clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The agent's output after an input line: text and a permission request after a prompt, the end of the turn after the
/// answer.
fn reaction(line: &Value) -> String {
    let update = |update: Value| {
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
            .to_string()
            + "\n"
    };
    let says = |text: &str| {
        update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    };
    let tool = |kind: &str, status: &str| {
        update(json!({"sessionUpdate": kind, "toolCallId": "t", "title": "make", "status": status}))
    };
    if line["method"] == "session/prompt" {
        let asks = json!({"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params":
            {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}});
        return format!("junk\n{}{}{}{asks}\n", says("Hell"), says("o"), tool("tool_call", "pending"));
    }
    if line["id"] == "p" {
        let stop = if line["result"]["outcome"]["outcome"] == "cancelled" { "cancelled" } else { "end_turn" };
        let done = json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": stop}});
        return format!("{}{}{done}\n", tool("tool_call_update", "completed"), says("Done."));
    }
    String::new()
}

impl Host for World {
    async fn output(&self, from: u64) -> Output {
        self.dawdle().await;
        loop {
            let grown = self.grown.notified();
            {
                let state = self.state.lock().unwrap();
                let from = usize::try_from(from).unwrap();
                if from < state.lost_to {
                    return Output::Until { at: state.lost_to as u64, is_lost: true };
                }
                if state.output.len() > from {
                    // A few bytes at a time, so that reads end at every possible place.
                    let end = state.output.len().min(from + 50);
                    return Output::Bytes { at: from as u64, bytes: state.output[from..end].to_vec() };
                }
                if state.is_over {
                    return Output::Over;
                }
            }
            grown.await;
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        Ok(self.state.lock().unwrap().input.len() as u64)
    }

    async fn write_line(&self, at: u64, line: String) -> Result<(), Over> {
        self.dawdle().await;
        let mut printed = String::new();
        {
            let mut state = self.state.lock().unwrap();
            let has = state.input.len() - usize::try_from(at).unwrap();
            if let Some(rest) = line.as_bytes().get(has..) {
                state.input.extend_from_slice(rest);
            }
            while let Some(length) = state.input[state.obeyed..].iter().position(|&byte| byte == b'\n') {
                let line = &state.input[state.obeyed..state.obeyed + length];
                printed += &reaction(&serde_json::from_slice(line).unwrap());
                state.obeyed += length + 1;
            }
        }
        self.print(&printed);
        Ok(())
    }

    async fn lines_from(&self, at: u64) -> Result<Vec<Line>, Over> {
        let state = self.state.lock().unwrap();
        Ok(state.lines.iter().filter(|line| line.at + line.text.len() as u64 > at).cloned().collect())
    }

    async fn record(&self, step: ConversationStep) -> Result<RecordedStep, Over> {
        self.dawdle().await;
        let _registry = self.registry.lock().await;
        let mut done = RecordedStep::default();
        {
            let mut state = self.state.lock().unwrap();
            let state = &mut *state;
            state.talk.heard_to = step.heard_to;
            state.talk.agent_session = step.agent_session.or(state.talk.agent_session.take());
            state.talk.abilities = step.abilities.or(state.talk.abilities.take());
            for (id, answer) in step.answers {
                let of = |line: &&mut Line| line.asks.as_ref().is_some_and(|asks| asks.id == id);
                state.lines.iter_mut().find(of).unwrap().answer = Some(answer);
            }
            state.asked.extend(step.asked);
            state.asked.retain(|asked| !step.answered.contains(&asked.id));
            for (text, asks) in step.lines {
                done.at.push(state.talk.said_to);
                state.talk.last_id = state.talk.last_id.max(asks.as_ref().map_or(0, |asks| asks.id));
                let at = state.talk.said_to;
                state.talk.said_to += text.len() as u64;
                state.lines.push(Line { at, asks, text, answer: None });
            }
            for told in step.told {
                match told {
                    HistoryChange::New { turn, kind, body } => {
                        let number = state.entries.len() as u64 + 1;
                        done.numbers.push(number);
                        state.entries.push(Entry { number, turn, at_ms: 0, kind, body });
                    }
                    HistoryChange::Again { number, body } => {
                        let entry = state.entries.iter_mut().find(|entry| entry.number == number);
                        entry.unwrap().body = body;
                    }
                }
            }
        }
        self.dawdle().await;
        Ok(done)
    }

    async fn answer(&self, asked: AgentRequest) -> Reply {
        assert!(matches!(asked.want(), crate::conversation::ParsedRequest::Permission(_)));
        if !self.answers {
            std::future::pending::<()>().await;
        }
        self.dawdle().await;
        let answer = Ok(raw(&json!({"outcome": {"outcome": "selected", "optionId": "yes"}})));
        Reply { answer, told: Some(json!({"outcome": "yes", "by": "a test"})) }
    }

    fn question(&self, asked: &AgentRequest) -> Option<RunId> {
        Some(asked.consequence(&self.state.lock().unwrap().talk.run))
    }

    fn now_ms(&self) -> u64 {
        0
    }
}
