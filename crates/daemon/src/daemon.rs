//! What every part of the daemon shares: its identity, its registry, the runs it holds, and whether it may act.

use crate::acp::Adapters;
use crate::admission::{Admission, Place};
use crate::answers;
use crate::heartbeats::Heartbeats;
use crate::held::{self, Held, Keeping, Orders};
use crate::latency::Latency;
use crate::lease::Sweep;
use crate::link::Link;
use crate::mcp::Clients;
use crate::reconcile::Claims;
use crate::refusal::Refusal;
use crate::scopes::Scopes;
use crate::sessions::{CallerEnvs, Turns};
use crate::tools::{Indexes, Noticed, Waiting, Witnesses};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_core::defaults;
use tenure_core::ids::{InstanceId, RegistryId, RunId};
use tenure_core::lease::{Observer, Tenancy};
use tenure_core::wall::WallClock;
use tenure_core::wire::Holder;
use tenure_keeper::launch::Nursery;
use tenure_keeper::state_root::StateRoot;
use tenure_os::{clock, reaper};
use tenure_settings::Settings;
use tenure_store::Registry;
use tokio::sync::{OwnedSemaphorePermit, RwLock, Semaphore, broadcast, watch};

/// How many notices wait for a client that is slow to hear them.
const NOTICES: usize = 256;

/// The daemon.
pub(crate) struct Daemon {
    pub(crate) settings: Settings,
    pub(crate) state: StateRoot,
    pub(crate) instance: InstanceId,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) registry_id: RegistryId,
    pub(crate) started_at_ms: u64,
    /// Tells if the time of day can be trusted for removal by age.
    pub(crate) wall: Mutex<WallClock>,
    pub(crate) admission: Admission,
    pub(crate) scopes: Scopes,
    pub(crate) latency: Latency,
    /// Whose turn it is to read what is unread of each run.
    pub(crate) readers: Scopes,
    pub(crate) witnesses: Witnesses,
    pub(crate) indexes: Indexes,
    pub(crate) waiting: Waiting,
    pub(crate) turns: Turns,
    pub(crate) caller_envs: CallerEnvs,
    pub(crate) adapters: Adapters,
    /// That runs in the background have ended, for clients that listen.
    pub(crate) noticed: broadcast::Sender<Noticed>,
    pub(crate) phase: watch::Sender<Phase>,
    /// Read by each start until its run is held; whoever leaves waits for them.
    pub(crate) starting: RwLock<()>,
    tenancy: Mutex<Tenancy>,
    pub(crate) nursery: Mutex<Option<Nursery>>,
    held: Mutex<HashMap<RunId, Arc<Held>>>,
    changes: watch::Sender<u64>,
    pub(crate) heartbeats: Heartbeats,
    /// What is known of the heartbeats of others who share the registry.
    pub(crate) observer: Mutex<Observer>,
    pub(crate) sweep: Sweep,
    pub(crate) clients: Clients,
    /// True if every process below this one belongs to a run. The daemon is then the subreaper for orphans of runs that
    /// lost their keeper and nursery.
    pub(crate) adopts_orphans: bool,
    /// The reason for not listening on the loopback address.
    pub(crate) listen_error: Mutex<Option<String>>,
    /// Permits for clients that follow events, output, sessions or a terminal.
    followers: Arc<Semaphore>,
    /// The runs that are being started or judged.
    pub(crate) claims: Claims,
    /// The runs that are looked at again and again.
    pub(crate) watched: Claims,
    /// The last verdict on each run that is not held and has not ended.
    pub(crate) verdicts: Mutex<HashMap<RunId, String>>,
}

/// Where the daemon is in its own life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It serves.
    Serving,
    /// It takes no more runs, and leaves.
    Draining {
        /// Whether its runs are ended first.
        cancel_runs: bool,
    },
    /// It has left.
    Gone,
}

impl Phase {
    /// Whether it leaves, or has left, and runs go on.
    pub(crate) fn leaves_runs(self) -> bool {
        matches!(self, Phase::Draining { cancel_runs: false } | Phase::Gone)
    }
}

impl Daemon {
    pub(crate) fn new(
        settings: Settings,
        state: StateRoot,
        instance: InstanceId,
        registry: Arc<dyn Registry>,
        tenancy: Tenancy,
    ) -> Self {
        let observer = Mutex::new(Observer::new(settings.rhythm()));
        Self {
            admission: Admission::new(settings.runs.max, settings.runs.queue),
            settings,
            state,
            instance,
            registry_id: registry.id(),
            registry,
            started_at_ms: clock::unix_ms(),
            wall: Mutex::new(WallClock::new(clock::since_boot(), clock::unix_ms())),
            scopes: Scopes::default(),
            latency: Latency::default(),
            readers: Scopes::default(),
            witnesses: Witnesses::default(),
            indexes: Indexes::default(),
            waiting: Waiting::default(),
            turns: Turns::default(),
            caller_envs: CallerEnvs::default(),
            adapters: Adapters::default(),
            noticed: broadcast::Sender::new(NOTICES),
            phase: watch::Sender::new(Phase::Serving),
            starting: RwLock::new(()),
            tenancy: Mutex::new(tenancy),
            nursery: Mutex::new(None),
            // The program that executed us may have left us children. These belong to no run, nor do their orphans.
            adopts_orphans: reaper::childless() && reaper::become_subreaper().is_ok(),
            held: Mutex::new(HashMap::new()),
            changes: watch::Sender::new(0),
            heartbeats: Heartbeats::default(),
            observer,
            sweep: Sweep::default(),
            clients: Clients::default(),
            listen_error: Mutex::default(),
            followers: Arc::new(Semaphore::new(defaults::FOLLOWERS)),
            claims: Claims::default(),
            watched: Claims::default(),
            verdicts: Mutex::default(),
        }
    }

    pub(crate) fn tenancy(&self) -> MutexGuard<'_, Tenancy> {
        lock(&self.tenancy)
    }

    /// Our identity for a keeper whose run we ask for.
    pub(crate) fn as_holder(&self) -> Holder {
        Holder {
            instance_id: self.instance.clone(),
            registry_id: self.registry_id.clone(),
            lease_ttl_ms: u64::try_from(self.settings.lease.ttl.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The state root's path, for people and environments.
    pub(crate) fn state_text(&self) -> String {
        self.state.path().to_string_lossy().into_owned()
    }

    /// Whether our heartbeat is fresh enough to act on what we hold.
    pub(crate) fn may_act(&self) -> bool {
        self.tenancy().may_act(clock::awake(), clock::unix_ms())
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Events were recorded; whoever follows them looks.
    pub(crate) fn something_happened(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes a follower's permit, until it is dropped.
    pub(crate) fn follow(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.followers).try_acquire_owned().map_err(|_| {
            Refusal::too_many_followers(format!(
                "{} clients follow events, output or sessions already: end some of them",
                defaults::FOLLOWERS
            ))
        })
    }

    /// A run that this daemon holds.
    pub(crate) fn held(&self, run: &RunId) -> Option<Arc<Held>> {
        lock(&self.held).get(run).cloned()
    }

    /// Every run that this daemon holds.
    pub(crate) fn all_held(&self) -> Vec<Arc<Held>> {
        lock(&self.held).values().cloned().collect()
    }

    pub(crate) fn live_runs(&self) -> usize {
        lock(&self.held).len()
    }

    /// A run is about to be: it is known as held before its keeper is there.
    pub(crate) fn announce(&self, run: &Arc<Held>) {
        lock(&self.held).insert(run.ticket.run_id.clone(), Arc::clone(run));
    }

    /// From now on this daemon holds a run, over this connection to its keeper.
    pub(crate) fn take_on(
        self: &Arc<Self>,
        (run, orders): (Arc<Held>, Orders),
        link: Link,
        place: Option<Place>,
    ) -> Arc<Held> {
        self.announce(&run);
        let keeping = Keeping { held: Arc::clone(&run), link, orders, place };
        tokio::spawn(held::keep(Arc::clone(self), keeping));
        if run.ticket.pty_size.is_some() {
            tokio::spawn(answers::give(Arc::clone(self), Arc::clone(&run)));
        }
        run
    }

    /// The run is over, or another's.
    pub(crate) fn release(&self, held: &Arc<Held>) {
        let mut all = lock(&self.held);
        if all.get(&held.ticket.run_id).is_some_and(|known| Arc::ptr_eq(known, held)) {
            all.remove(&held.ticket.run_id);
        }
    }
}

/// Waits until what is watched is so; nothing of it is held then.
pub(crate) async fn until<T>(watched: &mut watch::Receiver<T>, is: impl FnMut(&T) -> bool) {
    // If nobody can change it any more, there is nothing to wait for.
    let _ = watched.wait_for(is).await;
}

/// A lock whose holder panicked guards data that is whole: nothing here is changed in two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
