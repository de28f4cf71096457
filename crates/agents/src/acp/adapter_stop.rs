//! Stops adapters: when a session is closed, when they are idle for too long, and when they are unusable. Records the
//! end of adapters that exit by themselves. A turn's cancel does not stop its adapter.

use super::adapter::Adapter;
use crate::Agents;
use crate::acp::adapter_start;
use crate::acp::drain_ended;
use crate::sessions::last_words;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_acp::abilities::Abilities;
use tenure_acp::conversation::Verb;
use tenure_acp::schema::CloseSessionRequest;
use tenure_core::ending::Reason;
use tenure_core::ids::RunId;
use tenure_core::session::{SessionKey, SessionState};
use tenure_os::clock;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::sync::until;
use tokio::time::{Instant, sleep, timeout};

/// Time limit for the agent's answer to `session/close`.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// Interval of checks for idle adapters.
const IDLE_CHECK: Duration = Duration::from_secs(1);
/// Time limit for an adapter's end, beyond its grace.
const END_LIMIT: Duration = Duration::from_secs(30);

impl Agents {
    /// Reconnects to the adapters that an earlier daemon left, so that their requests are answered and idle ones end.
    pub async fn reconnect_adapters(self: &Arc<Self>) {
        let talks = match self.supervisor.registry.open_talks(self.supervisor.instance.clone()).await {
            Ok(talks) => talks,
            Err(error) => return tracing::error!(%error, "open conversations not readable"),
        };
        for talk in talks {
            let agents = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(refusal) = reconnect(&agents, &talk.session, &talk.run).await {
                    tracing::warn!(session = %talk.session, why = refusal.detail, "conversation not resumed");
                }
            });
        }
    }
}

/// Stops an adapter with its process tree, waits until its end is recorded, and ends its conversation.
pub(crate) async fn stop_adapter(
    agents: &Arc<Agents>,
    key: &SessionKey,
    run: &RunId,
    why: &str,
) -> Result<(), Refusal> {
    agents.adapters.forget(key, run);
    if let Some(row) = agents.supervisor.registry.run(run.clone()).await?.filter(|row| row.ending.is_none()) {
        let who = Requester::Operator { about: format!("the adapter of session {key}: {why}") };
        agents.supervisor.cancel_run(&row, false, &who).await?;
        let deadline = Instant::now() + agents.supervisor.settings.run.grace + END_LIMIT;
        if agents.supervisor.wait(run, Some(deadline)).await?.ending.is_none() {
            return Err(Refusal::wrong_state(format!(
                "the adapter {run} does not end: see `tenure why {run}`"
            )));
        }
    }
    agents.supervisor.registry.end_talk(run.clone(), clock::unix_ms()).await?;
    Ok(())
}

/// Forgets an adapter whose driver has stopped, and records the end of its conversation if the adapter has ended.
pub(crate) async fn after_driver_stop(agents: &Arc<Agents>, key: &SessionKey, run: &RunId) {
    agents.adapters.forget(key, run);
    if agents.supervisor.lifecycle.phase.borrow().leaves_runs() {
        return;
    }
    // A driver also stops when its last handle is dropped. Then the adapter lives, and its conversation stays open.
    if agents.supervisor.runs.get(run).is_some_and(|held| !held.status().is_over()) {
        return;
    }
    if agents.supervisor.wait(run, None).await.is_ok_and(|row| row.ending.is_none()) {
        return;
    }
    if let Err(error) = agents.supervisor.registry.end_talk(run.clone(), clock::unix_ms()).await {
        // The next use of the session finds the ended adapter and records it.
        tracing::warn!(%run, %error, "end of a conversation not recorded yet");
    }
}

/// Cancels a session's turn, and closes its conversation if the agent supports `session/close`. The caller stops the
/// adapter afterwards in any case.
pub(crate) async fn close_conversation(agents: &Agents, key: &SessionKey) {
    let Some(adapter) = agents.adapters.get(key).filter(|adapter| !adapter.is_over()) else { return };
    adapter.handle.cancel(adapter.session.clone());
    if abilities_of(agents, key).await.closes() {
        let close = CloseSessionRequest::new(adapter.session.clone());
        // The answer does not matter.
        let _ = timeout(CLOSE_LIMIT, adapter.handle.ask(Verb::CloseSession, &close)).await;
    }
}

/// Returns the recorded abilities of a session's agent.
pub(crate) async fn abilities_of(agents: &Agents, key: &SessionKey) -> Abilities {
    let talk = agents.supervisor.registry.last_talk(key.clone()).await.ok().flatten();
    Abilities::recorded(talk.and_then(|talk| talk.abilities).as_deref())
}

/// Ends the open conversation of a session whose runs have ended.
pub(crate) async fn end_talks(agents: &Agents, key: &SessionKey) -> Result<(), Refusal> {
    if let Some(open) = agents.supervisor.registry.open_talk(key.clone()).await? {
        agents.adapters.forget(key, &open.talk.run);
        agents.supervisor.registry.end_talk(open.talk.run, clock::unix_ms()).await?;
    }
    Ok(())
}

/// Stops idle adapters, until the daemon shuts down.
pub async fn watch_adapters(agents: Arc<Agents>) {
    let mut phase = agents.supervisor.lifecycle.phase.subscribe();
    loop {
        tokio::select! {
            () = sleep(IDLE_CHECK) => end_idle_adapters(&agents).await,
            () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
        }
    }
}

/// Stops the adapters that are idle for too long, if another process can resume their conversations.
async fn end_idle_adapters(agents: &Arc<Agents>) {
    for (key, adapter) in agents.adapters.all().into_iter().filter(|(_, adapter)| adapter.is_overdue()) {
        match end_if_idle(agents, &key, &adapter).await {
            Ok(()) => {}
            Err(refusal) => {
                tracing::warn!(session = %key, why = refusal.detail, "idle adapter not stopped");
            }
        }
    }
}

async fn end_if_idle(agents: &Arc<Agents>, key: &SessionKey, adapter: &Arc<Adapter>) -> Result<(), Refusal> {
    let _gate = agents.adapters.gates.turn(key.as_str()).await;
    let session = agents.find_session(key).await?;
    let is_idle = session.row.state == SessionState::Idle && session.queued == 0;
    let is_idle = is_idle && adapter.is_overdue() && !agents.adapters.loads_badly(session.row.agent.as_ref());
    if is_idle && abilities_of(agents, key).await.outlives_its_process() {
        tracing::info!(session = %key, run = %adapter.run, "stopping an idle adapter");
        stop_adapter(agents, key, &adapter.run, "it was idle for too long").await?;
    }
    Ok(())
}

async fn reconnect(agents: &Arc<Agents>, key: &SessionKey, run: &RunId) -> Result<(), Refusal> {
    let session = agents.find_session(key).await?;
    if !session.row.state.is_open() {
        return Ok(());
    }
    let row = agents.supervisor.registry.run(run.clone()).await?;
    if row.is_none_or(|row| row.ending.is_some()) {
        return drain_ended::drain_run(agents, key, run).await;
    }
    adapter_start::ensure_adapter(agents, session).await.map(drop)
}

/// Describes an adapter's end, with the last lines of its stderr.
pub(crate) async fn describe_end(agents: &Arc<Agents>, run: &RunId, name: &str) -> (Option<Reason>, String) {
    let Ok(row) = agents.supervisor.wait(run, Some(Instant::now() + END_LIMIT)).await else {
        return (None, format!("{name} has ended; its exit status is unknown"));
    };
    let Some(ending) = &row.ending else {
        return (None, format!("{name} has no recorded end: see `tenure why {run}`"));
    };
    let mut text = match ending.termination.reason {
        Reason::SpawnError => {
            let description =
                name.parse().ok().and_then(|name| adapter_start::adapter_of(agents, &name).ok());
            let get = description.and_then(|it| it.install).map_or_else(
                || format!("check agents.{name}.acp.command in config.toml"),
                |how| format!("to install it: {how}"),
            );
            format!("{name} could not be started ({}); {get}", ending.termination.sentence())
        }
        _ => format!("{name} ended: {}", ending.termination.sentence()),
    };
    let dir = Path::new(&row.directory).join("output");
    if let Ok(last) = tokio::task::spawn_blocking(move || last_words(&dir)).await
        && !last.is_empty()
    {
        text = format!("{text}; its last stderr output: {last}");
    }
    (Some(ending.termination.reason), text)
}
