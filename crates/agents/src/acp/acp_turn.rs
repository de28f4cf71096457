//! Runs a turn of an ACP agent. Its prompt is sent once, even if another daemon continues the turn, and the agent's answer
//! ends it. A cancel is a message to the agent and signals no process. A time limit sends the same message, and stops an
//! adapter that does not obey it.

use super::adapter::Adapter;
use super::turn_result::{EarlyEnd, End, early_end, end_of_response};
use super::updates::Update;
use crate::Agents;
use crate::acp::adapter_start;
use crate::acp::adapter_stop;
use crate::acp::drain_ended;
use crate::acp::silence;
use crate::acp::turn_result;
use crate::sessions::TurnStop;
use crate::sessions::cli_turn;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tenure_acp::history::Kind;
use tenure_acp::host::{Answer, Over, answer_of};
use tenure_acp::schema::{ContentBlock, PromptRequest};
use tenure_core::ending::Reason;
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_core::session::{AgentId, SessionKey, Stop};
use tenure_core::talk::{Line, SentRequest};
use tenure_os::clock;
use tenure_store::{Outcome, Session, Turn, TurnEnd};
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::sync::lock;
use tenure_supervisor::sync::until;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Time limit for the agent to confirm a cancelled turn.
const CONFIRM_LIMIT: Duration = Duration::from_secs(15);

/// Result of a prompt.
enum PromptOutcome {
    /// The agent answered.
    Answer(Answer),
    /// The agent did not confirm the cancel.
    Unconfirmed,
    /// The adapter has ended.
    Over,
}

/// Notifies followers of the session that a turn has begun or ended.
pub(crate) fn notify_turn_change(agents: &Agents, key: &SessionKey) {
    agents.adapters.updates.notify(key, Update::Turn);
}

/// Carries out a turn of an ACP agent, or continues one.
pub(crate) async fn run_acp_turn(
    agents: &Arc<Agents>,
    session: Session,
    turn: &Turn,
    cancelled: watch::Receiver<bool>,
) -> Result<TurnEnd, TurnStop> {
    let asks = adapter_start::asks_person(agents, &session.row);
    let end = wait_for_answer(agents, session, turn, cancelled).await?;
    if asks {
        agents.approvals.withdraw_permissions(&turn.asked.session).await;
    }
    Ok(end)
}

async fn wait_for_answer(
    agents: &Arc<Agents>,
    session: Session,
    turn: &Turn,
    mut cancelled: watch::Receiver<bool>,
) -> Result<TurnEnd, TurnStop> {
    notify_turn_change(agents, &turn.asked.session);
    let name = session.row.agent.as_ref().map_or("the agent", AgentId::as_str).to_owned();
    // A turn's prompt is recorded together with its run, so without a run there is none.
    let asked = if turn.run.is_some() { recorded_prompt(agents, turn).await? } else { None };
    if let Some(answer) = asked.as_ref().and_then(|asked| asked.answer.as_deref()) {
        let end = turn_result::end_by_agent(agents, turn, end_of_response(&answer_of(answer))).await;
        return Ok(agents.turn_end(turn, end, None).await);
    }
    let (limit, silence) = turn_limits(agents, &session, turn);
    let mut leaving = agents.supervisor.lifecycle.phase.subscribe();
    let ensuring = adapter_for_turn(agents, session, turn, asked.is_some());
    let ensured = tokio::select! {
        biased;
        () = until(&mut leaving, |phase: &Phase| phase.leaves_runs()) => return Err(TurnStop::DaemonExits),
        // Only for a prompt that was not sent: the agent must be told of the cancel of another.
        () = until(&mut cancelled, |is| *is), if asked.is_none() => return Ok(end_before_prompt(agents, turn).await),
        // Only for a prompt that was not sent: another may have been answered in time, while no daemon ran.
        () = time_is_up(limit), if asked.is_none() => {
            let why = format!("{name} was not ready before the turn's time limit");
            return Ok(agents.turn_end(turn, (Outcome::TimedOut, Stop::TimedOut, Some(why)), None).await);
        }
        ensured = ensuring => ensured,
    };
    let adapter = match ensured {
        Ok(Some(adapter)) => adapter,
        Ok(None) => return end_turn_after_adapter_exit(agents, turn, turn.run.as_ref(), &name).await,
        Err(refusal) if refusal.code == Code::Draining => return Err(TurnStop::DaemonExits),
        Err(refusal) => return Ok(end_without_adapter(agents, turn, &refusal).await),
    };
    if asked.is_none() && *cancelled.borrow() {
        return Ok(end_before_prompt(agents, turn).await);
    }
    let asking = prompt(turn, &adapter, asked.and_then(|line| line.asks));
    let answer = tokio::select! {
        biased;
        () = until(&mut leaving, |phase: &Phase| phase.leaves_runs()) => return Err(TurnStop::DaemonExits),
        answer = until_answered(&adapter, asking, &mut cancelled, async {
            tokio::select! {
                () = time_is_up(limit) => EarlyEnd::TimedOut,
                limit = silence::until_silent(agents, &turn.asked.session, &adapter, silence) => EarlyEnd::Silent(limit),
            }
        }) => answer,
    };
    adapter.touch();
    match answer {
        (PromptOutcome::Over, None) => {
            end_turn_after_adapter_exit(agents, turn, Some(&adapter.run), &name).await
        }
        answer => Ok(end_of_prompt(agents, turn, &adapter, answer, &name).await),
    }
}

/// Returns the adapter that carries out a turn. `None` if the prompt was sent to an adapter that has ended: no other one
/// can answer it.
async fn adapter_for_turn(
    agents: &Arc<Agents>,
    session: Session,
    turn: &Turn,
    was_asked: bool,
) -> Result<Option<Arc<Adapter>>, Refusal> {
    if was_asked
        && let Some(run) = &turn.run
        && adapter_start::adapter_run(agents, run).await?.is_none()
    {
        drain_ended::drain_run(agents, &session.row.key, run).await?;
        return Ok(None);
    }
    let adapter = loop {
        match adapter_start::ensure_adapter(agents, session.clone()).await {
            // A registry that is unavailable does not fail the turn.
            Err(refusal)
                if refusal.code == Code::RegistryUnavailable
                    && !agents.supervisor.lifecycle.is_draining() =>
            {
                sleep(RETRY_DELAY).await;
            }
            ensured => break ensured?,
        }
    };
    let is_another = was_asked && turn.run.as_ref() != Some(&adapter.run);
    Ok((!is_another).then_some(adapter))
}

/// Ends a turn whose adapter has ended. An answer that it gave before counts.
async fn end_turn_after_adapter_exit(
    agents: &Arc<Agents>,
    turn: &Turn,
    run: Option<&RunId>,
    name: &str,
) -> Result<TurnEnd, TurnStop> {
    let answer = recorded_prompt(agents, turn).await?.and_then(|asked| asked.answer);
    let end = match (answer, run) {
        (Some(answer), _) => {
            turn_result::end_by_agent(agents, turn, end_of_response(&answer_of(&answer))).await
        }
        (None, Some(run)) => end_of_adapter(agents, run, None, name).await,
        (None, None) => (Outcome::Lost, Stop::Crashed, Some(format!("{name} has ended; its run is unknown"))),
    };
    Ok(agents.turn_end(turn, end, None).await)
}

/// Returns the recorded prompt of a turn, if it was sent.
async fn recorded_prompt(agents: &Agents, turn: &Turn) -> Result<Option<Line>, TurnStop> {
    loop {
        match agents.supervisor.registry.question_of(turn.asked.id.clone()).await {
            Ok(prompt) => return Ok(prompt),
            Err(error) => cli_turn::try_again(agents, turn, &error).await?,
        }
    }
}

/// Returns the deadline of a turn, and its silence limit; `None` means no limit.
fn turn_limits(agents: &Agents, session: &Session, turn: &Turn) -> (Option<Instant>, Option<Duration>) {
    let row = &session.row;
    let agent = row.agent.as_ref().and_then(|name| adapter_start::adapter_of(agents, name).ok());
    let of_agent = || agent.as_ref().and_then(|agent| agent.timeout);
    let limit = row.work.timeout_ms.map(Duration::from_millis).or_else(of_agent);
    let since = Duration::from_millis(clock::unix_ms().saturating_sub(turn.began_at_ms));
    let end = limit.map(|limit| Instant::now() + limit.saturating_sub(since));
    (end, agent.and_then(|agent| agent.no_output(limit)))
}

/// Returns the end of a turn for the result of its prompt.
async fn end_of_prompt(
    agents: &Arc<Agents>,
    turn: &Turn,
    adapter: &Adapter,
    (outcome, early): (PromptOutcome, Option<EarlyEnd>),
    name: &str,
) -> TurnEnd {
    let end = match (outcome, early) {
        // Without a cancel: some agents report a turn as cancelled because they are exiting.
        (PromptOutcome::Answer(answer), None)
            if end_of_response(&answer).1 == Stop::Cancelled && adapter.is_ending().await =>
        {
            end_of_adapter(agents, &adapter.run, None, name).await
        }
        (PromptOutcome::Answer(answer), None) => {
            turn_result::end_by_agent(agents, turn, end_of_response(&answer)).await
        }
        (PromptOutcome::Answer(answer), Some(early)) => early_end(end_of_response(&answer), early, name),
        (PromptOutcome::Unconfirmed, Some(early @ (EarlyEnd::TimedOut | EarlyEnd::Silent(_)))) => {
            let key = &turn.asked.session;
            let why = "its turn timed out, and it did not stop";
            if let Err(refusal) = adapter_stop::stop_adapter(agents, key, &adapter.run, why).await {
                tracing::warn!(run = %adapter.run, why = refusal.detail, "adapter not stopped");
            }
            let (outcome, stop, why) = early.end(name);
            (outcome, stop, why.map(|why| format!("{why}; {name} did not stop, so its process was ended")))
        }
        (PromptOutcome::Unconfirmed, _) => {
            adapter.owes_an_answer.store(true, Ordering::Relaxed);
            let why = format!(
                "{name} was told to stop and has not confirmed it; its process runs until the next turn or the close"
            );
            (Outcome::Cancelled, Stop::Cancelled, Some(why))
        }
        (PromptOutcome::Over, early) => end_of_adapter(agents, &adapter.run, early, name).await,
    };
    agents.turn_end(turn, end, Some(adapter.session.0.to_string())).await
}

/// Returns the end of a turn for the exit of its adapter.
async fn end_of_adapter(agents: &Arc<Agents>, run: &RunId, early: Option<EarlyEnd>, name: &str) -> End {
    let (reason, why) = adapter_stop::describe_end(agents, run, name).await;
    let (outcome, stop) = match (early, reason) {
        (Some(EarlyEnd::TimedOut | EarlyEnd::Silent(_)), _) => (Outcome::TimedOut, Stop::TimedOut),
        (Some(EarlyEnd::Cancelled), _) | (None, Some(Reason::ManualCancel)) => {
            (Outcome::Cancelled, Stop::Cancelled)
        }
        (None, None | Some(Reason::OwnerLost | Reason::ReconciledStale)) => (Outcome::Lost, Stop::Crashed),
        (None, Some(_)) => (Outcome::Failed, Stop::Crashed),
    };
    (outcome, stop, Some(why))
}

/// Returns the end of a turn that was cancelled before its prompt was sent.
async fn end_before_prompt(agents: &Agents, turn: &Turn) -> TurnEnd {
    let why = "it was cancelled before the prompt was sent".to_owned();
    agents.turn_end(turn, (Outcome::Cancelled, Stop::Cancelled, Some(why)), None).await
}

/// Returns the end of a turn that has no adapter.
async fn end_without_adapter(agents: &Agents, turn: &Turn, refusal: &Refusal) -> TurnEnd {
    let outcome = if refusal.code == Code::SessionClosed { Outcome::Cancelled } else { Outcome::Failed };
    let stop = match failed_start(agents, turn).await {
        Some(Reason::Exit | Reason::Signal) => Stop::Crashed,
        Some(_) | None => Stop::Error,
    };
    agents.turn_end(turn, (outcome, stop, Some(refusal.detail.clone())), None).await
}

/// Returns the reason of the end of an adapter that was started for a turn and failed. An adapter that could not be
/// executed is recorded as the turn's run, because it has the details.
async fn failed_start(agents: &Agents, turn: &Turn) -> Option<Reason> {
    let talk = agents.supervisor.registry.last_talk(turn.asked.session.clone()).await.ok()??;
    let run = agents.supervisor.registry.run(talk.run).await.ok()??;
    let reason = run.ending?.termination.reason;
    if talk.began_at_ms < turn.began_at_ms {
        return None;
    }
    if reason == Reason::SpawnError
        && let Err(error) =
            agents.supervisor.registry.set_turn_run(turn.asked.id.clone(), run.ticket.run_id.clone()).await
    {
        tracing::warn!(turn = %turn.asked.id, %error, "adapter not recorded as the turn's run");
    }
    Some(reason)
}

/// Sends the prompt, unless it was sent before, and waits for the answer.
async fn prompt(turn: &Turn, adapter: &Adapter, asked: Option<SentRequest>) -> Result<Answer, Over> {
    if let Some(asks) = asked {
        return adapter.handle.answer_to(asks.id).await;
    }
    let text = turn.asked.message.clone();
    let notes = std::mem::take(&mut *lock(&adapter.notes))
        .into_iter()
        .map(|note| (Kind::Note, json!({ "text": note })));
    let told = notes.chain([(Kind::User, json!({ "text": text }))]).collect();
    let prompt = PromptRequest::new(adapter.session.clone(), vec![ContentBlock::from(text)]);
    adapter.handle.prompt(turn.asked.id.clone(), &prompt, told).await
}

/// Waits until the deadline; forever without one.
async fn time_is_up(limit: Option<Instant>) {
    match limit {
        Some(limit) => sleep_until(limit).await,
        None => std::future::pending().await,
    }
}

/// Waits for the answer to a prompt. After a cancel or a time limit, asks the agent to stop, and gives it some time to
/// answer.
async fn until_answered(
    adapter: &Adapter,
    asking: impl Future<Output = Result<Answer, Over>>,
    cancelled: &mut watch::Receiver<bool>,
    limits: impl Future<Output = EarlyEnd>,
) -> (PromptOutcome, Option<EarlyEnd>) {
    tokio::pin!(asking);
    let early = tokio::select! {
        biased;
        // First, so that the prompt is sent before its cancel.
        answer = &mut asking => return (answer.map_or(PromptOutcome::Over, PromptOutcome::Answer), None),
        () = until(cancelled, |is| *is) => EarlyEnd::Cancelled,
        early = limits => early,
    };
    adapter.handle.cancel(adapter.session.clone());
    let outcome = match timeout(CONFIRM_LIMIT, asking).await {
        Ok(Ok(answer)) => PromptOutcome::Answer(answer),
        Ok(Err(Over)) => PromptOutcome::Over,
        Err(_) => PromptOutcome::Unconfirmed,
    };
    (outcome, Some(early))
}
