//! Letting go of adapters: at a session's close, after long idleness, when one is of no use, and when one has ended by
//! itself. A turn's cancel is not among these.

use super::adapter::Adapter;
use crate::daemon::{Daemon, Phase, until};
use crate::refusal::Refusal;
use crate::requester::Requester;
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
use tenure_os::{clock, pause};
use tokio::time::{Instant, sleep, timeout};

/// How long an agent may take to take leave of a conversation.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often it is looked for idle ones.
const LOOK: Duration = Duration::from_secs(1);
/// How much longer than its grace an adapter may take to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

impl Daemon {
    /// Ends an adapter and all that is below it, and waits until that is recorded. Its conversation is over.
    pub(super) async fn let_go_of(
        self: &Arc<Self>,
        key: &SessionKey,
        run: &RunId,
        why: &str,
    ) -> Result<(), Refusal> {
        self.adapters.forget(key, run);
        if let Some(row) = self.registry.run(run.clone()).await?.filter(|row| row.ending.is_none()) {
            let who = Requester::Operator { about: format!("the adapter of session {key}: {why}") };
            self.cancel_run(&row, false, &who).await?;
            let deadline = Instant::now() + self.settings.run.grace + PATIENCE;
            if self.wait(run, Some(deadline)).await?.ending.is_none() {
                return Err(Refusal::wrong_state(format!(
                    "the adapter {run} does not end: `tenure why {run}`"
                )));
            }
        }
        self.registry.end_talk(run.clone(), clock::unix_ms()).await?;
        Ok(())
    }

    /// An adapter's driver has stopped: because the adapter has ended, or this daemon leaves.
    pub(super) async fn adapter_is_over(self: &Arc<Self>, key: &SessionKey, run: &RunId) {
        self.adapters.forget(key, run);
        if self.phase.borrow().leaves_runs() {
            return;
        }
        // A driver stops also if nobody speaks to it: then its adapter goes on, and so does the record.
        if self.held(run).is_some_and(|held| !held.status().is_over()) {
            return;
        }
        if self.wait(run, None).await.is_ok_and(|row| row.ending.is_none()) {
            return;
        }
        if let Err(error) = self.registry.end_talk(run.clone(), clock::unix_ms()).await {
            // Whoever needs the session next finds that it has ended.
            tracing::warn!(%run, %error, "that a conversation is over is not recorded yet");
        }
    }

    /// Tells the agent of a session that is closed, if it wants to know. Its adapter is ended afterwards in any case.
    pub(crate) async fn say_farewell(&self, key: &SessionKey) {
        let Some(adapter) = self.adapters.get(key).filter(|adapter| !adapter.is_over()) else { return };
        adapter.handle.cancel(adapter.session.clone());
        if self.abilities_of(key).await.closes() {
            let farewell = CloseSessionRequest::new(adapter.session.clone());
            // Whatever it answers, or not.
            let _ = timeout(FAREWELL, adapter.handle.ask(Verb::CloseSession, &farewell)).await;
        }
        pause::point("daemon-acp-farewell-said");
    }

    /// What an agent said that it can do.
    pub(super) async fn abilities_of(&self, key: &SessionKey) -> Abilities {
        let talk = self.registry.last_talk(key.clone()).await.ok().flatten();
        Abilities::recorded(talk.and_then(|talk| talk.abilities).as_deref())
    }

    /// What is to be recorded of a session's conversations once its runs are gone.
    pub(crate) async fn end_talks(&self, key: &SessionKey) -> Result<(), Refusal> {
        if let Some(open) = self.registry.open_talk(key.clone()).await? {
            self.adapters.forget(key, &open.talk.run);
            self.registry.end_talk(open.talk.run, clock::unix_ms()).await?;
        }
        Ok(())
    }

    /// Ends idle adapters now and then, until the daemon leaves.
    pub(crate) async fn watch_adapters(self: Arc<Self>) {
        let mut phase = self.phase.subscribe();
        loop {
            tokio::select! {
                () = sleep(LOOK) => self.end_idle_adapters().await,
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
            }
        }
    }

    /// Ends the adapters that nobody has wanted anything of for long, if their conversations can be gone on with by others.
    async fn end_idle_adapters(self: &Arc<Self>) {
        for (key, adapter) in self.adapters.all().into_iter().filter(|(_, adapter)| adapter.is_overdue()) {
            match self.end_if_idle(&key, &adapter).await {
                Ok(()) => {}
                Err(refusal) => {
                    tracing::warn!(session = %key, why = refusal.detail, "an idle adapter goes on");
                }
            }
        }
    }

    async fn end_if_idle(self: &Arc<Self>, key: &SessionKey, adapter: &Arc<Adapter>) -> Result<(), Refusal> {
        let _gate = self.adapters.gates.turn(key.as_str()).await;
        let session = self.session_called(key).await?;
        let is_idle = session.row.state == SessionState::Idle && session.queued == 0;
        let is_idle =
            is_idle && adapter.is_overdue() && !self.adapters.loads_badly(session.row.agent.as_ref());
        if is_idle && self.abilities_of(key).await.outlives_its_process() {
            tracing::info!(session = %key, run = %adapter.run, "an idle adapter is ended");
            self.let_go_of(key, &adapter.run, "it was idle for long").await?;
        }
        Ok(())
    }

    /// Speaks again with the adapters that an earlier daemon left, so that what they ask is answered and idle ones are ended.
    pub(crate) async fn rejoin_adapters(self: &Arc<Self>) {
        let talks = match self.registry.open_talks(self.instance.clone()).await {
            Ok(talks) => talks,
            Err(error) => return tracing::error!(%error, "the conversations under way cannot be read"),
        };
        for talk in talks {
            let daemon = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(refusal) = daemon.rejoin(&talk.session, &talk.run).await {
                    tracing::warn!(session = %talk.session, why = refusal.detail, "a conversation is not gone on with");
                }
            });
        }
    }

    async fn rejoin(self: &Arc<Self>, key: &SessionKey, run: &RunId) -> Result<(), Refusal> {
        let session = self.session_called(key).await?;
        if !session.row.state.is_open() {
            return Ok(());
        }
        let row = self.registry.run(run.clone()).await?;
        if row.is_none_or(|row| row.ending.is_some()) {
            return self.hear_out_of(key, run).await;
        }
        self.ensure_adapter(session).await.map(drop)
    }

    /// How an adapter ended, in words, with what it said last.
    pub(super) async fn how_it_ended(self: &Arc<Self>, run: &RunId, name: &str) -> (Option<Reason>, String) {
        let Ok(row) = self.wait(run, Some(Instant::now() + PATIENCE)).await else {
            return (None, format!("{name} is gone, and how it ended is not known"));
        };
        let Some(ending) = &row.ending else { return (None, format!("{name} is not ours any more")) };
        let mut text = match ending.termination.reason {
            Reason::SpawnError => {
                let description = name.parse().ok().and_then(|name| self.adapter_of(&name).ok());
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
}
