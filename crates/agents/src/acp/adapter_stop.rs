//! Letting go of adapters: at a session's close, after long idleness, when one is of no use, and when one has ended by
//! itself. A turn's cancel is not among these.

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

/// How long an agent may take to take leave of a conversation.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often it is looked for idle ones.
const LOOK: Duration = Duration::from_secs(1);
/// How much longer than its grace an adapter may take to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

impl Agents {
    /// Speaks again with the adapters that an earlier daemon left, so that what they ask is answered and idle ones are ended.
    pub async fn rejoin_adapters(self: &Arc<Self>) {
        let talks = match self.supervisor.registry.open_talks(self.supervisor.instance.clone()).await {
            Ok(talks) => talks,
            Err(error) => return tracing::error!(%error, "the conversations under way cannot be read"),
        };
        for talk in talks {
            let agents = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(refusal) = rejoin(&agents, &talk.session, &talk.run).await {
                    tracing::warn!(session = %talk.session, why = refusal.detail, "a conversation is not gone on with");
                }
            });
        }
    }
}

/// Ends an adapter and all that is below it, and waits until that is recorded. Its conversation is over.
pub(crate) async fn let_go_of(
    agents: &Arc<Agents>,
    key: &SessionKey,
    run: &RunId,
    why: &str,
) -> Result<(), Refusal> {
    agents.adapters.forget(key, run);
    if let Some(row) = agents.supervisor.registry.run(run.clone()).await?.filter(|row| row.ending.is_none()) {
        let who = Requester::Operator { about: format!("the adapter of session {key}: {why}") };
        agents.supervisor.cancel_run(&row, false, &who).await?;
        let deadline = Instant::now() + agents.supervisor.settings.run.grace + PATIENCE;
        if agents.supervisor.wait(run, Some(deadline)).await?.ending.is_none() {
            return Err(Refusal::wrong_state(format!("the adapter {run} does not end: `tenure why {run}`")));
        }
    }
    agents.supervisor.registry.end_talk(run.clone(), clock::unix_ms()).await?;
    Ok(())
}

/// An adapter's driver has stopped: because the adapter has ended, or this daemon leaves.
pub(crate) async fn adapter_is_over(agents: &Arc<Agents>, key: &SessionKey, run: &RunId) {
    agents.adapters.forget(key, run);
    if agents.supervisor.lifecycle.phase.borrow().leaves_runs() {
        return;
    }
    // A driver stops also if nobody speaks to it: then its adapter goes on, and so does the record.
    if agents.supervisor.runs.get(run).is_some_and(|held| !held.status().is_over()) {
        return;
    }
    if agents.supervisor.wait(run, None).await.is_ok_and(|row| row.ending.is_none()) {
        return;
    }
    if let Err(error) = agents.supervisor.registry.end_talk(run.clone(), clock::unix_ms()).await {
        // Whoever needs the session next finds that it has ended.
        tracing::warn!(%run, %error, "that a conversation is over is not recorded yet");
    }
}

/// Tells the agent of a session that is closed, if it wants to know. Its adapter is ended afterwards in any case.
pub(crate) async fn say_farewell(agents: &Agents, key: &SessionKey) {
    let Some(adapter) = agents.adapters.get(key).filter(|adapter| !adapter.is_over()) else { return };
    adapter.handle.cancel(adapter.session.clone());
    if abilities_of(agents, key).await.closes() {
        let farewell = CloseSessionRequest::new(adapter.session.clone());
        // Whatever it answers, or not.
        let _ = timeout(FAREWELL, adapter.handle.ask(Verb::CloseSession, &farewell)).await;
    }
}

/// What an agent said that it can do.
pub(crate) async fn abilities_of(agents: &Agents, key: &SessionKey) -> Abilities {
    let talk = agents.supervisor.registry.last_talk(key.clone()).await.ok().flatten();
    Abilities::recorded(talk.and_then(|talk| talk.abilities).as_deref())
}

/// What is to be recorded of a session's conversations once its runs are gone.
pub(crate) async fn end_talks(agents: &Agents, key: &SessionKey) -> Result<(), Refusal> {
    if let Some(open) = agents.supervisor.registry.open_talk(key.clone()).await? {
        agents.adapters.forget(key, &open.talk.run);
        agents.supervisor.registry.end_talk(open.talk.run, clock::unix_ms()).await?;
    }
    Ok(())
}

/// Ends idle adapters now and then, until the daemon leaves.
pub async fn watch_adapters(agents: Arc<Agents>) {
    let mut phase = agents.supervisor.lifecycle.phase.subscribe();
    loop {
        tokio::select! {
            () = sleep(LOOK) => end_idle_adapters(&agents).await,
            () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
        }
    }
}

/// Ends the adapters that nobody has wanted anything of for long, if their conversations can be gone on with by others.
async fn end_idle_adapters(agents: &Arc<Agents>) {
    for (key, adapter) in agents.adapters.all().into_iter().filter(|(_, adapter)| adapter.is_overdue()) {
        match end_if_idle(agents, &key, &adapter).await {
            Ok(()) => {}
            Err(refusal) => {
                tracing::warn!(session = %key, why = refusal.detail, "an idle adapter goes on");
            }
        }
    }
}

async fn end_if_idle(agents: &Arc<Agents>, key: &SessionKey, adapter: &Arc<Adapter>) -> Result<(), Refusal> {
    let _gate = agents.adapters.gates.turn(key.as_str()).await;
    let session = agents.session_called(key).await?;
    let is_idle = session.row.state == SessionState::Idle && session.queued == 0;
    let is_idle = is_idle && adapter.is_overdue() && !agents.adapters.loads_badly(session.row.agent.as_ref());
    if is_idle && abilities_of(agents, key).await.outlives_its_process() {
        tracing::info!(session = %key, run = %adapter.run, "an idle adapter is ended");
        let_go_of(agents, key, &adapter.run, "it was idle for long").await?;
    }
    Ok(())
}

async fn rejoin(agents: &Arc<Agents>, key: &SessionKey, run: &RunId) -> Result<(), Refusal> {
    let session = agents.session_called(key).await?;
    if !session.row.state.is_open() {
        return Ok(());
    }
    let row = agents.supervisor.registry.run(run.clone()).await?;
    if row.is_none_or(|row| row.ending.is_some()) {
        return drain_ended::hear_out_of(agents, key, run).await;
    }
    adapter_start::ensure_adapter(agents, session).await.map(drop)
}

/// How an adapter ended, in words, with what it said last.
pub(crate) async fn how_it_ended(agents: &Arc<Agents>, run: &RunId, name: &str) -> (Option<Reason>, String) {
    let Ok(row) = agents.supervisor.wait(run, Some(Instant::now() + PATIENCE)).await else {
        return (None, format!("{name} is gone, and how it ended is not known"));
    };
    let Some(ending) = &row.ending else { return (None, format!("{name} is not ours any more")) };
    let mut text = match ending.termination.reason {
        Reason::SpawnError => {
            let description =
                name.parse().ok().and_then(|name| adapter_start::adapter_of(agents, &name).ok());
            let get = description.and_then(|it| it.install).map_or_else(
                || format!("check agents.{name}.acp.command in config.toml"),
                |how| format!("to get it: {how}"),
            );
            format!("{name} could not be started ({}); {get}", ending.termination.sentence())
        }
        _ => format!("{name} ended: {}", ending.termination.sentence()),
    };
    let dir = Path::new(&row.directory).join("output");
    if let Ok(last) = tokio::task::spawn_blocking(move || last_words(&dir)).await
        && !last.is_empty()
    {
        text = format!("{text}; its last words: {last}");
    }
    (Some(ending.termination.reason), text)
}
