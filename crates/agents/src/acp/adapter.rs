//! The adapters that this daemon speaks with.

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
use tenure_supervisor::scopes::Scopes;
use tenure_supervisor::sync::lock;
use tenure_supervisor::sync::until;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How long an adapter that dies may take to be gone.
const SOON: Duration = Duration::from_secs(2);

/// An adapter whose conversation is open.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) run: RunId,
    pub(crate) handle: Handle,
    /// What the agent calls the conversation.
    pub(crate) session: SessionId,
    /// Whether its driver has stopped.
    pub(crate) over: watch::Receiver<bool>,
    /// When it printed something last.
    pub(crate) spoke: Arc<Mutex<Instant>>,
    /// Since when nobody has wanted anything of it.
    pub(crate) idle_since: Mutex<Instant>,
    /// Whether it left a turn without an answer when nobody waited for it any more. It may have answered since.
    pub(crate) owes_an_answer: AtomicBool,
    /// What is otherwise than it was wanted: told with the next prompt.
    pub(crate) notes: Mutex<Vec<String>>,
    /// How long it is kept then.
    pub(crate) idle: Option<Duration>,
}

impl Adapter {
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    pub(crate) fn spoke_at(&self) -> Instant {
        *lock(&self.spoke)
    }

    /// Whether it has been idle for too long.
    pub(crate) fn is_overdue(&self) -> bool {
        self.idle.is_some_and(|limit| lock(&self.idle_since).elapsed() >= limit)
    }

    /// Whether it ends soon, by itself.
    pub(crate) async fn is_ending(&self) -> bool {
        timeout(SOON, until(&mut self.over.clone(), |is| *is)).await.is_ok()
    }

    pub(crate) fn was_used(&self) {
        *lock(&self.idle_since) = Instant::now();
    }
}

/// The adapters that this daemon speaks with, by their sessions.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    live: Mutex<HashMap<SessionKey, Arc<Adapter>>>,
    /// One at a time looks for a session's adapter, or lets go of it.
    pub(crate) gates: Scopes,
    pub(crate) updates: Updates,
    /// The agents whose conversations another process could not go on with, or not for certain.
    load_badly: Mutex<HashSet<AgentId>>,
    /// How they are described, once that was read.
    descriptions: OnceLock<Described<Description>>,
}

impl Adapters {
    /// How adapters are described: read once.
    pub(crate) fn described(&self, settings: &Settings) -> &Described<Description> {
        self.descriptions.get_or_init(|| {
            let file = settings.config().unwrap_or(Path::new("config.toml"));
            crate::adapters(file, settings.agents())
        })
    }

    pub(crate) fn note_bad_load(&self, agent: Option<&AgentId>) {
        lock(&self.load_badly).extend(agent.cloned());
    }

    /// Returns true if a conversation of this agent did not survive its process before.
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

    /// Forgets a session's adapter, if it is this one.
    pub(crate) fn forget(&self, key: &SessionKey, run: &RunId) {
        let mut live = lock(&self.live);
        if live.get(key).is_some_and(|known| known.run == *run) {
            live.remove(key);
        }
    }
}
