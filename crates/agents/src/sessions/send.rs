//! Sends messages to sessions, waits for turns, and cancels them.

use super::authorize::Asker;
use super::call::{SendCall, WaitCall};
use super::query;
use super::turn_spec;
use crate::Agents;
use crate::sessions::caller_env;
use crate::sessions::turn_loop;
use std::sync::Arc;
use tenure_core::ids::TurnId;
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_core::session::{Action, Backend, SessionKey, SessionRow};
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::sessions::{Delivery, Sent, SessionsReply, WhenBusy};
use tenure_os::{clock, random};
use tenure_store::{Failed, NewTask, NewTurn, Side, Turn, TurnState};
use tenure_supervisor::Refusal;
use tenure_supervisor::task::new_task;
use tokio::time::{Instant, timeout_at};

/// Maximum size of a text of a turn.
const TURN_TEXT: u64 = 1 << 20;

/// Sends a message to a session.
pub(crate) async fn send(
    agents: &Arc<Agents>,
    SendCall { session, text, when_busy }: SendCall,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.seen(&session, asker, Action::Send).await?;
    let sent = deliver(agents, &session.row, text, when_busy, asker).await?;
    Ok(SessionsReply { sent: Some(sent), ..SessionsReply::default() })
}

/// Begins a turn with a message, queues it, or passes it to the running turn.
pub(crate) async fn deliver(
    agents: &Arc<Agents>,
    row: &SessionRow,
    text: String,
    when_busy: WhenBusy,
    asker: &Asker,
) -> Result<Sent, Refusal> {
    turn_spec::check_takes_messages(&row.key, row.backend)?;
    if agents.supervisor.lifecycle.is_draining() {
        return Err(Refusal::draining("the daemon is shutting down: retry in a moment"));
    }
    let id = TurnId::from_random(random::bytes().map_err(Refusal::internal)?);
    let (asked_by, sent_at_ms) = (asker.about.clone(), clock::unix_ms());
    let new = NewTurn { id: id.clone(), session: row.key.clone(), message: text, asked_by, sent_at_ms };
    // Before the turn begins, because its start uses them.
    if let Some(env) = caller_env::caller_env(agents, row, asker) {
        agents.caller_envs.put(&id, &row.key, env);
    }
    let sent = begin_or_queue(agents, row, new, when_busy).await;
    let has_turn =
        sent.as_ref().is_ok_and(|sent| matches!(sent.delivery, Delivery::Started | Delivery::Queued));
    if !has_turn {
        agents.caller_envs.forget_message(&id);
    }
    sent
}

async fn begin_or_queue(
    agents: &Arc<Agents>,
    row: &SessionRow,
    new: NewTurn,
    when_busy: WhenBusy,
) -> Result<Sent, Refusal> {
    let (id, sent_at_ms) = (new.id.clone(), new.sent_at_ms);
    let task = new_task(NotifyPolicy::DoneOnly, true)?;
    let begun = agents.supervisor.registry.begin_turn(
        new.clone(),
        Some(task.clone()),
        agents.supervisor.instance.clone(),
        sent_at_ms,
    );
    match begun.await {
        Ok(turn) => {
            agents.supervisor.events.notify_followers();
            turn_loop::start_turns(agents, turn);
            return Ok(Sent { delivery: Delivery::Started, turn_id: id, ahead: 0, note: None });
        }
        Err(Failed::SessionBusy { .. } | Failed::MessagesWait { .. }) => {}
        Err(failed) => return Err(failed.into()),
    }
    match when_busy {
        WhenBusy::Refuse => Err(Refusal::wrong_state(format!(
            "session {} is busy: wait for the end of its turn, cancel it, or queue the message",
            row.key
        ))),
        WhenBusy::Queue => enqueue(agents, new, task, None).await,
        WhenBusy::Steer => steer(agents, row, new, task).await,
    }
}

/// Queues a message until the session is idle.
async fn enqueue(
    agents: &Arc<Agents>,
    new: NewTurn,
    task: NewTask,
    note: Option<String>,
) -> Result<Sent, Refusal> {
    let (key, turn_id) = (new.session.clone(), new.id.clone());
    let depth = usize::try_from(agents.supervisor.settings.sessions.queue).unwrap_or(usize::MAX);
    let ahead = agents.supervisor.registry.queue_message(new, Some(task), depth).await?;
    agents.supervisor.events.notify_followers();
    // The turn may have ended before the message was queued.
    turn_loop::start_next_turn(agents, &key).await;
    Ok(Sent { delivery: Delivery::Queued, turn_id, ahead, note })
}

/// Passes a message to the running turn if that takes input, else queues it.
async fn steer(agents: &Arc<Agents>, row: &SessionRow, new: NewTurn, task: NewTask) -> Result<Sent, Refusal> {
    if row.backend == Backend::Exec
        && let Some(turn) = agents.supervisor.registry.active_turn(row.key.clone()).await?
        && let Some(run) = &turn.run
        && let Some(run) = agents.supervisor.registry.run(run.clone()).await?
    {
        let line = format!("{}\n", new.message);
        agents.supervisor.type_into(&run, line.as_bytes(), None, false).await?;
        let turn_id = turn.asked.id;
        return Ok(Sent { delivery: Delivery::Steered, turn_id, ahead: 0, note: None });
    }
    let note = match row.backend {
        Backend::Exec => {
            "the command of the running turn has not started yet, so the message is queued for the next turn"
        }
        Backend::Run | Backend::Cli | Backend::Acp => {
            "an agent takes no input during a turn, so the message is queued for the next turn"
        }
    };
    enqueue(agents, new, task, Some(note.to_owned())).await
}

/// Waits for the end of a turn. If the owner of the session or the sender of the message waits, it needs no notice of
/// that end.
pub(crate) async fn await_turn(
    agents: &Arc<Agents>,
    WaitCall { session, turn: turn_id, timeout, is_caller }: WaitCall,
    asker: &Asker,
) -> Result<ToolReply<SessionsReply>, Refusal> {
    let action = if is_caller { Action::Send } else { Action::History };
    let session = agents.seen(&session, asker, action).await?;
    let is_owner = asker.key().is_some_and(|own| session.row.owner.as_ref() == Some(own));
    let deadline = Instant::now() + timeout;
    let mut changed = agents.turns.watch();
    let mut sight = None;
    loop {
        changed.borrow_and_update();
        let turn = requested_turn(agents, &session.row, turn_id.as_ref()).await?;
        if let (None, Some(turn)) = (&sight, &turn) {
            // A session that sent the message counts as the caller.
            let is_sender = asker.key().is_some() && turn.asked.asked_by == asker.about;
            let counts = is_owner || is_caller || is_sender;
            sight = Some(agents.supervisor.watch_turn_end(counts, &turn.asked.id).await);
        }
        let ended = turn.as_ref().is_some_and(|turn| turn.state != TurnState::Running);
        if ended || timeout_at(deadline, changed.changed()).await.is_err() {
            let receipt = sight.map_or(Receipt::default(), |sight| sight.of(ended));
            let turn = turn.map(|turn| query::shown(turn, TURN_TEXT));
            return Ok(ToolReply { reply: SessionsReply { turn, ..SessionsReply::default() }, receipt });
        }
    }
}

/// Returns this turn, or the last one that has begun; `None` while its message is queued.
async fn requested_turn(
    agents: &Agents,
    row: &SessionRow,
    asked: Option<&TurnId>,
) -> Result<Option<Turn>, Refusal> {
    let Some(id) = asked else {
        let newest = Side::Before(u64::MAX);
        let mut page = agents.supervisor.registry.turns(row.key.clone(), newest, 1, TURN_TEXT).await?;
        if page.turns.is_empty() {
            let why = format!("session {} has no turn yet: send a message", row.key);
            return Err(Refusal::wrong_state(why));
        }
        return Ok(page.turns.pop());
    };
    match agents.supervisor.registry.turn(id.clone()).await? {
        Some(turn) if turn.asked.session == row.key => Ok(Some(turn)),
        Some(_) => Err(Refusal::invalid(format!("session {} has no turn {id}", row.key))),
        None => {
            let waits = agents.supervisor.registry.messages(row.key.clone()).await?;
            if waits.iter().any(|message| message.turn.id == *id) {
                return Ok(None);
            }
            // The turn may have begun between the two queries.
            let turn = agents
                .supervisor
                .registry
                .turn(id.clone())
                .await?
                .filter(|turn| turn.asked.session == row.key);
            let gone = || {
                let why = format!("session {} has no turn {id}, or its message was withdrawn", row.key);
                Refusal::invalid(why)
            };
            turn.map(Some).ok_or_else(gone)
        }
    }
}

/// Cancels the running turn. Queued messages stay.
pub(crate) async fn cancel_turn(
    agents: &Arc<Agents>,
    key: &SessionKey,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    agents.owned(key, asker).await?;
    let Some(turn) = agents.supervisor.registry.active_turn(key.clone()).await? else {
        return Err(Refusal::wrong_state(format!(
            "session {key} has no running turn: there is nothing to cancel"
        )));
    };
    if turn.instance != agents.supervisor.instance {
        return Err(Refusal::held_elsewhere(format!(
            "the turn of session {key} belongs to another instance"
        )));
    }
    agents.turns.cancel(&turn.asked.id);
    Ok(SessionsReply { turn: Some(query::shown(turn, TURN_TEXT)), ..SessionsReply::default() })
}
