//! Drives one conversation: reads the adapter's output, records each step, and acts on it only after that. A driver can be
//! dropped at any moment; another one, made from the record, continues.

mod replay_wait;
mod requests;

use crate::abilities::Abilities;
use crate::conversation::{AgentRequest, Conversation, Incoming, ParsedRequest, Verb, cancel};
use crate::details;
use crate::handle::{Handle, Order};
use crate::history::{History, Kind};
use crate::host::{Answer, Host, Output, Over, Reply, answer_of, answer_text};
use crate::message::{Message, NoMessage, raw};
use crate::permission;
use crate::record::{id_text, recorded_params, recorded_request, write};
use crate::schema::{Error, ErrorCode, RequestId};
use crate::stream::{LONGEST, Stream, StreamItem};
use replay_wait::ReplayWait;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::TurnId;
use tenure_core::talk::{ConversationStep, HistoryChange, OpenConversation, RecordedRequest, SentRequest};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// Delay before a step is recorded, so that several messages share one transaction.
const RECORD_DELAY: Duration = Duration::from_millis(100);

/// A running conversation.
struct Driver<H> {
    host: Arc<H>,
    stream: Stream,
    conversation: Conversation,
    history: History,
    abilities: Abilities,
    /// The replay of a conversation that is loaded or was just loaded.
    replay: Option<ReplayWait>,
    turn: RunningTurn,
    /// The offset up to which the output was read. Messages that end before `pending.step.heard_to` are handled.
    read_to: u64,
    pending: PendingStep,
    our_requests: OurRequests,
    agent_requests: AgentRequests,
    writer: mpsc::UnboundedSender<(u64, String)>,
}

/// The turn whose prompt is open.
struct RunningTurn {
    id: Option<TurnId>,
    /// True while it is being cancelled: its permission requests are cancelled too.
    is_cancelled: bool,
}

/// The step to record next.
struct PendingStep {
    step: ConversationStep,
    /// The time at which the step is recorded; `None` if it is empty.
    due: Option<Instant>,
    /// The caller to wake once the step is recorded, because it ends the replay.
    replay_waiter: Option<oneshot::Sender<()>>,
}

/// Our requests to the agent, by their ids.
struct OurRequests {
    /// The parameters of the open ones, without prompts.
    params: HashMap<i64, Box<RawValue>>,
    /// The callers that wait for a response.
    callers: HashMap<i64, oneshot::Sender<Answer>>,
    /// Responses that came before any caller waited for them.
    unclaimed: HashMap<i64, String>,
}

/// The agent's open requests to us, by their ids.
#[derive(Default)]
struct AgentRequests {
    /// The running tasks of the host that answer them.
    tasks: HashMap<RequestId, AbortHandle>,
    /// The permission requests that wait for a person.
    questions: HashMap<RequestId, AgentRequest>,
    /// The replies of the tasks.
    replies: JoinSet<(RequestId, Reply)>,
}

/// Resumes a recorded conversation, with the history of its running turn. Returns a handle, and the driver to spawn.
pub fn resume<H: Host>(
    host: Arc<H>,
    open: &OpenConversation,
    history: History,
) -> (Handle, impl Future<Output = Over> + Send + use<H>) {
    let asked: Vec<AgentRequest> = open.asked.iter().filter_map(recorded_request).collect();
    let questions = open.questions.iter().filter_map(|line| line.asks.as_ref());
    let turn = questions.clone().find_map(|asks| asks.turn.clone());
    let verbs = questions.filter_map(|asks| Some((asks.id, Verb::of_word(&asks.verb)?)));
    let conversation = Conversation::resumed(open.talk.last_id, verbs, asked.iter().cloned());
    let (orders, receiver) = mpsc::unbounded_channel();
    let (writer, lines) = mpsc::unbounded_channel();
    let heard_to = open.talk.heard_to;
    let abilities = Abilities::recorded(open.talk.abilities.as_deref());
    let replays = abilities.is_replaying || conversation.waits_for(Verb::LoadSession);
    let mut driver = Driver {
        host,
        stream: Stream::default(),
        conversation,
        history,
        abilities,
        replay: replays.then(ReplayWait::default),
        turn: RunningTurn { id: turn, is_cancelled: false },
        read_to: heard_to,
        pending: PendingStep {
            step: ConversationStep { heard_to, ..ConversationStep::default() },
            due: None,
            replay_waiter: None,
        },
        our_requests: OurRequests {
            params: open.questions.iter().filter_map(recorded_params).collect(),
            callers: HashMap::new(),
            unclaimed: HashMap::new(),
        },
        agent_requests: AgentRequests::default(),
        writer,
    };
    let drive = async move {
        let mut writing = JoinSet::new();
        writing.spawn(write(Arc::clone(&driver.host), lines));
        for one in asked {
            if matches!(one.want(), ParsedRequest::Permission(_)) && driver.host.question(&one).is_some() {
                driver.agent_requests.questions.insert(one.id.clone(), one.clone());
            }
            driver.start_answer(one);
        }
        driver.drive(receiver).await
    };
    (Handle(orders), drive)
}

impl<H: Host> Driver<H> {
    async fn drive(mut self, mut orders: mpsc::UnboundedReceiver<Order>) -> Over {
        loop {
            let host = Arc::clone(&self.host);
            let due = self.pending.due.unwrap_or_else(Instant::now);
            let quiet = self.replay.as_ref().and_then(|wait| wait.quiet_at);
            tokio::select! {
                output = host.output(self.read_to) => match output {
                    Output::Bytes { at, bytes } => self.receive_bytes(at, &bytes),
                    Output::Until { at, is_lost } => {
                        if is_lost {
                            self.stream.gap();
                            self.note_loss(
                                "part of the agent's output was not kept: the messages in it are lost",
                            );
                            // The next driver does not report it again.
                            self.pending.step.heard_to = at;
                        }
                        self.read_to = at;
                    }
                    Output::Over => {
                        let _ = self.record().await;
                        return Over;
                    }
                },
                order = orders.recv() => {
                    let Some(order) = order else {
                        let _ = self.record().await;
                        return Over;
                    };
                    self.handle_order(order);
                }
                Some(found) = self.agent_requests.replies.join_next() => {
                    // An aborted task's request is answered already.
                    if let Ok((id, reply)) = found {
                        self.answer(&id, reply);
                    }
                }
                () = sleep_until(due), if self.pending.due.is_some() => {}
                () = sleep_until(quiet.unwrap_or(due)), if quiet.is_some() => self.end_replay(),
            }
            if self.pending.due.is_some_and(|due| due <= Instant::now()) && self.record().await.is_err() {
                return Over;
            }
        }
    }

    /// Schedules the recording of the step: at once, or after a short delay with later messages.
    fn schedule_record(&mut self, at_once: bool) {
        let now = Instant::now();
        let due = if at_once { now } else { now + RECORD_DELAY };
        self.pending.due = Some(self.pending.due.map_or(due, |before| before.min(due)));
    }

    fn receive_bytes(&mut self, at: u64, bytes: &[u8]) {
        self.read_to = at + bytes.len() as u64;
        let mut said = Vec::new();
        self.stream.feed(at, bytes, |one| said.push(one));
        for StreamItem { what, cut_bytes, end } in said {
            match what {
                Ok(messages) => {
                    messages.into_iter().for_each(|message| self.receive_message(message, cut_bytes));
                }
                Err(junk) if junk.why == NoMessage::TooLong => self.note_loss(&format!(
                    "a message of the agent is too long and was skipped: {} bytes",
                    junk.bytes
                )),
                Err(_) => {}
            }
            self.pending.step.heard_to = end;
        }
    }

    /// Handles a message, of which `cut_bytes` bytes were left out. An incomplete request is refused without any effect.
    fn receive_message(&mut self, message: Message, cut_bytes: u64) {
        if cut_bytes > 0 {
            self.note_loss(&format!("a message of the agent is too long: {cut_bytes} bytes were left out"));
            if let Message::Request { id, method, .. } = message {
                let why = format!("the request {method:?} is too long: the maximum is {LONGEST} bytes");
                let answer = Err(Error::invalid_request().data(Value::String(why)));
                self.pending.step.lines.push((Message::Response { id, answer }.line(), None));
                return self.schedule_record(true);
            }
        }
        let heard = self.conversation.receive(message, self.host.now_ms());
        self.handle_incoming(heard);
    }

    /// Adds a note to the history: part of the agent's output is lost.
    fn note_loss(&mut self, text: &str) {
        self.history.note(Kind::Note, json!({ "text": text, "lost": true }));
        self.schedule_record(false);
    }

    fn handle_incoming(&mut self, heard: Incoming) {
        match heard {
            Incoming::Update(update) => {
                if self.abilities.updated(&update.update) {
                    self.pending.step.abilities = Some(self.abilities.text());
                    self.schedule_record(false);
                }
                self.refuse_changed(&update.update);
                // The history has the replayed entries already.
                if self.is_replay(&update.update) {
                    return;
                }
                if self.history.take(update.update) {
                    self.schedule_record(false);
                }
            }
            Incoming::Request(mut asked) => {
                if let ParsedRequest::Permission(mut wanted) = asked.want() {
                    let call = self.history.call(&wanted.tool_call.tool_call_id);
                    if call.is_some_and(|call| details::complete(&mut wanted, call)) {
                        asked.params = Some(raw(&*wanted));
                    }
                    let question = self.host.question(&asked);
                    if question.is_some() {
                        self.agent_requests.questions.insert(asked.id.clone(), asked.clone());
                    }
                    self.history.asks(permission::history_body(
                        &id_text(&asked.id),
                        &wanted,
                        question.as_ref(),
                    ));
                }
                self.pending.step.asked.push(RecordedRequest {
                    id: id_text(&asked.id),
                    method: asked.method,
                    params: asked.params.map(|params| params.get().to_owned()),
                    at_ms: asked.at_ms,
                });
                self.schedule_record(true);
            }
            Incoming::Answered { id, answer, verb } => {
                self.turn.is_cancelled &= verb != Verb::Prompt;
                self.update_abilities(verb, id, &answer);
                self.pending.step.answers.push((id, answer_text(&answer)));
                self.schedule_record(true);
            }
            Incoming::IgnoreReason(_) => {}
        }
    }

    /// Updates the abilities and the session's id from a response.
    fn update_abilities(&mut self, verb: Verb, id: i64, answer: &Answer) {
        let asked = self.our_requests.params.remove(&id);
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                let is_load = matches!(verb, Verb::LoadSession | Verb::ResumeSession);
                if is_load && error.code != ErrorCode::AuthRequired {
                    self.note_bad_load();
                }
                self.replay.take_if(|_| is_load);
                return;
            }
        };
        if self.abilities.answered(verb, asked.as_deref(), result) {
            self.pending.step.abilities = Some(self.abilities.text());
        }
        let session_of = |json: &RawValue| {
            let value: Value = serde_json::from_str(json.get()).ok()?;
            value["sessionId"].as_str().map(str::to_owned)
        };
        match verb {
            Verb::NewSession => self.pending.step.agent_session = session_of(result),
            Verb::LoadSession | Verb::ResumeSession => {
                self.pending.step.agent_session = asked.as_deref().and_then(session_of);
            }
            _ => {}
        }
    }

    fn handle_order(&mut self, order: Order) {
        match order {
            Order::Ask { verb, params, turn, told, reply } => {
                if verb == Verb::LoadSession {
                    self.replay = Some(ReplayWait::default());
                }
                if turn.is_some() {
                    self.end_replay();
                    self.turn.id.clone_from(&turn);
                    self.history.next_turn();
                    if !self.abilities.is_set_up {
                        self.abilities.is_set_up = true;
                        self.pending.step.abilities = Some(self.abilities.text());
                    }
                }
                told.into_iter().for_each(|(kind, body)| self.history.note(kind, body));
                let question = self.conversation.ask(verb, &params);
                if verb != Verb::Prompt {
                    self.our_requests.params.insert(question.id, params);
                }
                let verb = verb.word();
                self.pending
                    .step
                    .lines
                    .push((question.line, Some(SentRequest { id: question.id, verb, turn })));
                self.our_requests.callers.insert(question.id, reply);
                self.schedule_record(true);
            }
            Order::Await { id, reply } => match self.our_requests.unclaimed.remove(&id) {
                Some(text) => drop(reply.send(answer_of(&text))),
                None => drop(self.our_requests.callers.insert(id, reply)),
            },
            Order::Cancel(session) => {
                self.pending.step.lines.push((cancel(&session), None));
                self.turn.is_cancelled = self.conversation.waits_for(Verb::Prompt);
                for id in self.agent_requests.tasks.keys().cloned().collect::<Vec<_>>() {
                    self.cancel_permission(&id);
                }
                self.schedule_record(true);
            }
            Order::AwaitReplay { recorded, reply } => self.await_replay(recorded, reply),
            Order::NoteBadLoad => self.note_bad_load(),
        }
    }

    /// Records the step, and then acts on it: writes its lines, answers new requests, and wakes callers.
    async fn record(&mut self) -> Result<(), Over> {
        self.pending.due = None;
        let changes = self.history.changes();
        let turn = &self.turn.id;
        self.pending.step.told = changes
            .into_iter()
            .map(|change| match change.number {
                Some(number) => HistoryChange::Again { number, body: change.body.to_string() },
                None => HistoryChange::New {
                    turn: turn.clone(),
                    kind: change.kind.word().to_owned(),
                    body: change.body.to_string(),
                },
            })
            .collect();
        let next = ConversationStep { heard_to: self.pending.step.heard_to, ..ConversationStep::default() };
        let step = std::mem::replace(&mut self.pending.step, next);
        let done = self.host.record(step.clone()).await?;
        self.history.recorded(done.numbers);
        for (at, (line, _)) in done.at.into_iter().zip(step.lines) {
            // The writer ends with the adapter, which `Host::output` reports.
            let _ = self.writer.send((at, line));
        }
        for asked in step.asked.iter().filter(|asked| !step.answered.contains(&asked.id)) {
            if let Some(asked) = recorded_request(asked) {
                self.start_answer(asked);
            }
        }
        if let Some(waiter) = self.pending.replay_waiter.take() {
            let _ = waiter.send(());
        }
        for (id, text) in step.answers {
            match self.our_requests.callers.remove(&id) {
                // A caller that has left finds the response in the record.
                Some(reply) => drop(reply.send(answer_of(&text))),
                None => drop(self.our_requests.unclaimed.insert(id, text)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
