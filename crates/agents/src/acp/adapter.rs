//! Live adapters of this daemon.

use super::updates::Updates;
use crate::{Adapter as Description, Described};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tenure_acp::handle::Handle;
use tenure_acp::schema::SessionId;
use tenure_core::ids::RunId;
use tenure_core::session::{AgentId, SessionKey};
use tenure_settings::Settings;
use tenure_supervisor::scope_locks::ScopeLocks;
use tenure_supervisor::sync::lock;
use tenure_supervisor::sync::until;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Time limit for the exit of an adapter that seems to be exiting.
const EXIT_WAIT: Duration = Duration::from_secs(2);

/// Adapter with an open conversation.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) run: RunId,
    pub(crate) handle: Handle,
    /// Session id of the agent.
    pub(crate) session: SessionId,
    /// True once the driver has stopped.
    pub(crate) over: watch::Receiver<bool>,
    /// Time of its last output.
    pub(crate) last_output: Arc<Mutex<Instant>>,
    /// Time of its last use.
    pub(crate) idle_since: Mutex<Instant>,
    /// True if it did not answer a cancelled turn in time. It may have answered since.
    pub(crate) owes_an_answer: AtomicBool,
    /// Differences from the requested setup, for the history before the next prompt.
    pub(crate) notes: Mutex<Vec<String>>,
    /// Time after which it is ended if unused; `None` keeps it.
    pub(crate) idle: Option<Duration>,
}

impl Adapter {
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    pub(crate) fn last_output_at(&self) -> Instant {
        *lock(&self.last_output)
    }

    /// Returns true if it has been idle for too long.
    pub(crate) fn is_overdue(&self) -> bool {
        self.idle.is_some_and(|limit| lock(&self.idle_since).elapsed() >= limit)
    }

    /// Waits a moment for its exit; returns true if it exits.
    pub(crate) async fn is_ending(&self) -> bool {
        timeout(EXIT_WAIT, until(&mut self.over.clone(), |is| *is)).await.is_ok()
    }

    pub(crate) fn touch(&self) {
        *lock(&self.idle_since) = Instant::now();
    }
}

/// Live adapters of this daemon, by session.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    live: Mutex<HashMap<SessionKey, Arc<Adapter>>>,
    /// Locks per session: only one caller at a time starts, joins or stops its adapter.
    pub(crate) gates: ScopeLocks,
    pub(crate) updates: Updates,
    /// Agents with a conversation that another process could not resume, or not for certain.
    load_badly: Mutex<HashSet<AgentId>>,
    /// Descriptions of all adapters, read on first use.
    descriptions: OnceLock<Described<Description>>,
}

impl Adapters {
    /// Returns the descriptions of all adapters. They are read once.
    pub(crate) fn described(&self, settings: &Settings) -> &Described<Description> {
        self.descriptions.get_or_init(|| {
            let file = settings.config().unwrap_or(Path::new("config.toml"));
            crate::adapters(file, settings.agents())
        })
    }

    pub(crate) fn note_bad_load(&self, agent: Option<&AgentId>) {
        lock(&self.load_badly).extend(agent.cloned());
    }

    /// Returns true if another process of this agent failed to resume a conversation before.
    pub(crate) fn loads_badly(&self, agent: Option<&AgentId>) -> bool {
        agent.is_some_and(|agent| lock(&self.load_badly).contains(agent))
    }

    pub(crate) fn get(&self, key: &SessionKey) -> Option<Arc<Adapter>> {
        lock(&self.live).get(key).cloned()
    }

    pub(crate) fn all(&self) -> Vec<(SessionKey, Arc<Adapter>)> {
        lock(&self.live).iter().map(|(key, adapter)| (key.clone(), Arc::clone(adapter))).collect()
    }

    pub(crate) fn put(&self, key: SessionKey, adapter: Arc<Adapter>) {
        lock(&self.live).insert(key, adapter);
    }

    /// Removes a session's adapter, if this is its run.
    pub(crate) fn forget(&self, key: &SessionKey, run: &RunId) {
        let mut live = lock(&self.live);
        if live.get(key).is_some_and(|known| known.run == *run) {
            live.remove(key);
        }
    }
}
