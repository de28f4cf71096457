//! Saying something to a session, waiting for what comes of it, and ending that.

use super::asker::Asker;
use super::job;
use super::looking;
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::tasks::new_task;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::TurnId;
use tenure_core::session::{Action, Backend, SessionRow};
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::TURN_WAIT_MS;
use tenure_core::tools::sessions::{Delivery, Sent, SessionsReply, SessionsRequest, WhenBusy};
use tenure_mcp::{Answered, Written};
use tenure_os::{clock, random};
use tenure_store::{Failed, NewTask, NewTurn, Side, Turn, TurnState};
use tokio::time::{Instant, timeout_at};

/// How long a message may be.
const MESSAGE_BYTES: usize = 1 << 20;
/// How many bytes of a turn's texts are shown.
const SHOWN: u64 = 1 << 20;

/// A message says something, and not too much, and can be given to a program.
pub(super) fn check_message(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid("the message is empty: say what is to be done"));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(
            "the message holds a NUL byte, which no program can be given: leave it out",
        ));
    }
    if text.len() > MESSAGE_BYTES {
        return Err(Refusal::too_large(format!(
            "the message has {} bytes, and {MESSAGE_BYTES} is the most: write it to a file and name that",
            text.len()
        )));
    }
    Ok(())
}

impl Daemon {
    /// Says something to a session.
    pub(super) async fn send(
        self: &Arc<Self>,
        request: SessionsRequest,
        asker: &Asker,
    ) -> Result<SessionsReply, Refusal> {
        let session = self.seen(&request, asker, Action::Send).await?;
        let Some(text) = request.text else {
            return Err(Refusal::invalid("text is missing: say what is to be done"));
        };
        check_message(&text)?;
        let sent = self.say(&session.row, text, request.when_busy, asker).await?;
        Ok(SessionsReply { sent: Some(sent), ..SessionsReply::default() })
    }

    /// Begins a turn with a message, or has it wait, or reaches the turn that is under way.
    pub(super) async fn say(
        self: &Arc<Self>,
        row: &SessionRow,
        text: String,
        when_busy: Option<WhenBusy>,
        asker: &Asker,
    ) -> Result<Sent, Refusal> {
        job::check_takes_messages(&row.key, row.backend)?;
        if self.is_draining() {
            return Err(Refusal::draining("the daemon is leaving: try again in a moment"));
        }
        let id = TurnId::from_random(random::bytes().map_err(Refusal::internal)?);
        let (asked_by, sent_at_ms) = (asker.about.clone(), clock::unix_ms());
        let new = NewTurn { id: id.clone(), session: row.key.clone(), message: text, asked_by, sent_at_ms };
        // Before there is a turn: whoever carries it out looks for them.
        if let Some(env) = self.caller_env(row, asker) {
            self.caller_envs.put(&id, &row.key, env);
        }
        let sent = self.begin_or_queue(row, new, when_busy).await;
        let has_turn =
            sent.as_ref().is_ok_and(|sent| matches!(sent.delivery, Delivery::Started | Delivery::Queued));
        if !has_turn {
            self.caller_envs.forget_message(&id);
        }
        sent
    }

    async fn begin_or_queue(
        self: &Arc<Self>,
        row: &SessionRow,
        new: NewTurn,
        when_busy: Option<WhenBusy>,
    ) -> Result<Sent, Refusal> {
        let (id, sent_at_ms) = (new.id.clone(), new.sent_at_ms);
        let task = new_task(NotifyPolicy::DoneOnly, true)?;
        let begun =
            self.registry.begin_turn(new.clone(), Some(task.clone()), self.instance.clone(), sent_at_ms);
        match begun.await {
            Ok(turn) => {
                self.something_happened();
                self.carry_on(turn);
                return Ok(Sent { delivery: Delivery::Started, turn_id: id, ahead: 0, note: None });
            }
            Err(Failed::SessionBusy { .. } | Failed::MessagesWait { .. }) => {}
            Err(failed) => return Err(failed.into()),
        }
        match when_busy.unwrap_or_default() {
            WhenBusy::Refuse => Err(Refusal::wrong_state(format!(
                "session {} is busy: wait for its turn to end, cancel it, or let the message wait with queue",
                row.key
            ))),
            WhenBusy::Queue => self.enqueue(new, task, None).await,
            WhenBusy::Steer => self.steer(row, new, task).await,
        }
    }

    /// Has a message wait until the session is idle.
    async fn enqueue(
        self: &Arc<Self>,
        new: NewTurn,
        task: NewTask,
        note: Option<String>,
    ) -> Result<Sent, Refusal> {
        let (key, turn_id) = (new.session.clone(), new.id.clone());
        let depth = usize::try_from(self.settings.sessions.queue).unwrap_or(usize::MAX);
        let ahead = self.registry.queue_message(new, Some(task), depth).await?;
        self.something_happened();
        // The turn may have ended before the message was there to be taken.
        self.take_up(&key).await;
        Ok(Sent { delivery: Delivery::Queued, turn_id, ahead, note })
    }

    /// Gives a message to the turn that is under way, if that takes input.
    async fn steer(self: &Arc<Self>, row: &SessionRow, new: NewTurn, task: NewTask) -> Result<Sent, Refusal> {
        if row.backend == Backend::Exec
            && let Some(turn) = self.registry.active_turn(row.key.clone()).await?
            && let Some(run) = &turn.run
            && let Some(run) = self.registry.run(run.clone()).await?
        {
            let line = format!("{}\n", new.message);
            self.type_into(&run, line.as_bytes(), None, false).await?;
            let turn_id = turn.asked.id;
            return Ok(Sent { delivery: Delivery::Steered, turn_id, ahead: 0, note: None });
        }
        let note = match row.backend {
            Backend::Exec => {
                "the command of the turn has not begun and takes no input, so the message waits for the next"
            }
            Backend::Run | Backend::Cli | Backend::Acp => {
                "an agent's command takes no input in the middle of a turn, so the message waits for the next"
            }
        };
        self.enqueue(new, task, Some(note.to_owned())).await
    }

    /// Waits for the end of a turn, for as long as is asked. The owner of the session and the caller of the turn have
    /// been told by that.
    pub(super) async fn await_turn(
        self: &Arc<Self>,
        request: &SessionsRequest,
        asker: &Asker,
    ) -> Result<Answered<SessionsReply>, Refusal> {
        let is_caller = request.foreground.unwrap_or(false);
        let action = if is_caller { Action::Send } else { Action::History };
        let session = self.seen(request, asker, action).await?;
        let is_owner = asker.key().is_some_and(|own| session.row.owner.as_ref() == Some(own));
        let wait = request.timeout_ms.unwrap_or(TURN_WAIT_MS).min(TURN_WAIT_MS);
        let deadline = Instant::now() + Duration::from_millis(wait);
        let turn_id: Option<TurnId> =
            request.turn_id.as_deref().map(str::parse).transpose().map_err(Refusal::invalid)?;
        let mut changed = self.turns.watch();
        let mut sight = None;
        loop {
            changed.borrow_and_update();
            let turn = self.turn_meant(&session.row, turn_id.as_ref()).await?;
            if let (None, Some(turn)) = (&sight, &turn) {
                // A session that sent the message need not say so.
                let is_sender = asker.key().is_some() && turn.asked.asked_by == asker.about;
                let counts = is_owner || is_caller || is_sender;
                sight = Some(self.about_to_see_turn(counts, &turn.asked.id).await);
            }
            let ended = turn.as_ref().is_some_and(|turn| turn.state != TurnState::Running);
            if ended || timeout_at(deadline, changed.changed()).await.is_err() {
                let written = sight.map_or(Written::default(), |sight| sight.of(ended));
                let turn = turn.map(|turn| looking::shown(turn, SHOWN));
                return Ok(Answered { reply: SessionsReply { turn, ..SessionsReply::default() }, written });
            }
        }
    }

    /// The turn that is meant: this one, or the last that has begun. `None` while it waits.
    async fn turn_meant(&self, row: &SessionRow, asked: Option<&TurnId>) -> Result<Option<Turn>, Refusal> {
        let Some(id) = asked else {
            let newest = Side::Before(u64::MAX);
            let mut page = self.registry.turns(row.key.clone(), newest, 1, SHOWN).await?;
            if page.turns.is_empty() {
                let why = format!("session {} has had no turn: send it something", row.key);
                return Err(Refusal::wrong_state(why));
            }
            return Ok(page.turns.pop());
        };
        match self.registry.turn(id.clone()).await? {
            Some(turn) if turn.asked.session == row.key => Ok(Some(turn)),
            Some(_) => Err(Refusal::invalid(format!("session {} has no turn {id}", row.key))),
            None => {
                let waits = self.registry.messages(row.key.clone()).await?;
                if waits.iter().any(|message| message.turn.id == *id) {
                    return Ok(None);
                }
                // It may have been taken between the two looks.
                let turn = self.registry.turn(id.clone()).await?.filter(|turn| turn.asked.session == row.key);
                let gone = || {
                    let why = format!("session {} has no turn {id}, or it was withdrawn", row.key);
                    Refusal::invalid(why)
                };
                turn.map(Some).ok_or_else(gone)
            }
        }
    }

    /// Ends the turn that is under way. What waits comes next.
    pub(super) async fn cancel_turn(
        self: &Arc<Self>,
        request: &SessionsRequest,
        asker: &Asker,
    ) -> Result<SessionsReply, Refusal> {
        let session = self.owned(request, asker).await?;
        let key = &session.row.key;
        let Some(turn) = self.registry.active_turn(key.clone()).await? else {
            return Err(Refusal::wrong_state(format!(
                "session {key} has no turn under way: there is nothing to cancel"
            )));
        };
        if turn.instance != self.instance {
            return Err(Refusal::held_elsewhere(format!("the turn of session {key} is another instance's")));
        }
        self.turns.cancel(&turn.asked.id);
        Ok(SessionsReply { turn: Some(looking::shown(turn, SHOWN)), ..SessionsReply::default() })
    }
}
