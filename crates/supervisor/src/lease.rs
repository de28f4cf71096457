//! The heartbeat that renews our leases, and the watch over the heartbeats of other instances in the registry.
//! Nothing here waits for a run: one late heartbeat costs all leases.

use crate::disk_reserve;
use crate::lifecycle::Phase;
use crate::reconcile;
use crate::register_existing;
use crate::supervisor::Supervisor;
use crate::sync::{lock, until};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tenure_core::ids::{InstanceId, RegistryId};
use tenure_core::lease::{Beat as ObservedBeat, Observer, Rhythm, Tenancy};
use tenure_os::clock;
use tenure_store::{Beat, Failed, Registry};

/// Expiry of the leases of an instance that shut down on purpose: it will come back to them.
const NEVER_EXPIRES: u64 = u64::MAX;

/// The takeover of runs of instances that are gone.
#[derive(Debug, Default)]
struct Sweep {
    at_work: AtomicBool,
    /// The stopped heartbeats of instances without a run.
    settled: Mutex<HashMap<InstanceId, Beat>>,
    /// The heartbeats of unseated owners, before and after. Locked while an owner is being unseated.
    unseated: tokio::sync::Mutex<HashMap<InstanceId, (Beat, Beat)>>,
}

/// Our leases, and the heartbeats of the other instances in the registry.
pub struct LeaseKeeper {
    /// The registry's id.
    pub(crate) registry_id: RegistryId,
    tenancy: Mutex<Tenancy>,
    observer: Mutex<Observer>,
    sweep: Sweep,
}

impl LeaseKeeper {
    /// Keeps the leases of this seat.
    pub fn new(registry_id: RegistryId, tenancy: Tenancy, rhythm: Rhythm) -> Self {
        Self {
            registry_id,
            tenancy: Mutex::new(tenancy),
            observer: Mutex::new(Observer::new(rhythm)),
            sweep: Sweep::default(),
        }
    }

    /// Returns our seat in the registry.
    pub fn tenancy(&self) -> MutexGuard<'_, Tenancy> {
        lock(&self.tenancy)
    }

    /// Returns true if our heartbeat is fresh enough to act on what we hold.
    pub fn may_act(&self) -> bool {
        self.tenancy().may_act(clock::awake(), clock::unix_ms())
    }
}

/// Takes our seat in the registry; from now on an earlier process of this instance is superseded.
pub async fn enrol(
    registry: &dyn Registry,
    instance: InstanceId,
    about: String,
    rhythm: Rhythm,
) -> Result<(Tenancy, Beat), Failed> {
    let begun = clock::awake();
    let wall = clock::unix_ms();
    let ttl = u64::try_from(rhythm.ttl.as_millis()).unwrap_or(u64::MAX);
    let beat = registry.enrol(instance, about, wall.saturating_add(ttl)).await?;
    let mut tenancy = Tenancy::begin(beat.incarnation, rhythm);
    let first = tenancy.next(wall);
    // The first renewal of a new tenancy cannot fail.
    let _ = tenancy.renewed(first, begun);
    Ok((tenancy, beat))
}

/// Renews our leases and watches the other instances, until the daemon is gone.
pub async fn beat(supervisor: Arc<Supervisor>, mut last: Beat) {
    let mut phase = supervisor.lifecycle.phase.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(supervisor.settings.lease.heartbeat) => {}
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        }
        check_root(&supervisor);
        match renew(&supervisor, last).await {
            Ok(beat) => last = beat,
            Err(error) => {
                tracing::error!(%error, "our heartbeat was not recorded");
                disk_reserve::release_after(&supervisor, &error);
            }
        }
        watch_others(&supervisor).await;
        let supervisor = Arc::clone(&supervisor);
        tokio::spawn(async move { register_existing::register_marked(&supervisor).await });
    }
}

/// Shuts down if the state root was moved or deleted; returns true if so. Runs of a moved root continue, and the next
/// daemon finds them there. Runs of a deleted root are cancelled, because nobody could find them.
pub(crate) fn check_root(supervisor: &Supervisor) -> bool {
    if !supervisor.state.is_moved() {
        return false;
    }
    let deleted = supervisor.state.is_deleted();
    if !supervisor.lifecycle.is_draining() {
        let runs = if deleted { "cancelled" } else { "left running" };
        tracing::warn!(deleted, "the state root was moved or deleted: shutting down, and runs are {runs}");
    }
    supervisor.lifecycle.drain(deleted);
    true
}

async fn renew(supervisor: &Arc<Supervisor>, last: Beat) -> Result<Beat, Failed> {
    let begun = clock::awake();
    let next = supervisor.leases.tenancy().next(clock::unix_ms());
    let renewed = supervisor.registry.beat(supervisor.instance.clone(), last, next.expires_at_ms).await?;
    if let Some(beat) = renewed {
        let _ = supervisor.leases.tenancy().renewed(next, begun);
        return Ok(beat);
    }
    tracing::warn!("another instance took over our leases: checking them again");
    let about = about(&supervisor.state);
    let (tenancy, beat) =
        enrol(&*supervisor.registry, supervisor.instance.clone(), about, supervisor.settings.rhythm())
            .await?;
    *supervisor.leases.tenancy() = tenancy;
    let supervisor = Arc::clone(supervisor);
    tokio::spawn(async move {
        drop_stolen_runs(&supervisor).await;
        // A failure is logged; the held runs are still held.
        let _ = reconcile::reconcile_all(&supervisor).await;
    });
    Ok(beat)
}

/// Lets go of the runs that another instance holds by now.
async fn drop_stolen_runs(supervisor: &Supervisor) {
    for held in supervisor.runs.all() {
        match supervisor.registry.run(held.ticket.run_id.clone()).await {
            Ok(Some(row)) if row.hold == held.hold => {}
            Ok(row) => {
                let whose = row.map_or("nobody".to_owned(), |row| row.hold.instance.to_string());
                held.let_go(format!("its lease is now held by {whose}"));
            }
            Err(error) => tracing::error!(%error, "a lease cannot be read"),
        }
    }
}

/// Checks the heartbeats of the other instances; the first to notice that one is gone takes its runs.
async fn watch_others(supervisor: &Arc<Supervisor>) {
    let Ok(instances) = supervisor.registry.instances().await else { return };
    let (now, wall) = (clock::awake(), clock::unix_ms());
    {
        let mut observer = lock(&supervisor.leases.observer);
        for row in instances.iter().filter(|row| row.instance != supervisor.instance) {
            let Beat { number, incarnation } = row.beat;
            let seen = ObservedBeat { number, incarnation, expires_at_ms: row.expires_at_ms };
            observer.see(&row.instance, seen, now);
        }
    }
    let mut gone = Vec::new();
    for row in instances.into_iter().filter(|row| row.instance != supervisor.instance) {
        let settled = lock(&supervisor.leases.sweep.settled).get(&row.instance) == Some(&row.beat);
        if !settled && is_gone(supervisor, &row.instance, wall).await {
            gone.push((row.instance, row.beat));
        }
    }
    if gone.is_empty() || !supervisor.leases.may_act() || supervisor.lifecycle.is_draining() {
        return;
    }
    if !supervisor.leases.sweep.at_work.swap(true, Ordering::Relaxed) {
        let supervisor = Arc::clone(supervisor);
        tokio::spawn(async move {
            take_over(&supervisor, gone).await;
            supervisor.leases.sweep.at_work.store(false, Ordering::Relaxed);
        });
    }
}

/// Settles the runs of the gone instances. An instance without runs is not checked again.
async fn take_over(supervisor: &Arc<Supervisor>, gone: Vec<(InstanceId, Beat)>) {
    let rows = match reconcile::unfinished(supervisor).await {
        Ok(rows) => rows,
        Err(error) => return tracing::error!(%error, "the recorded runs cannot be read"),
    };
    for (instance, beat) in &gone {
        if !rows.iter().any(|row| row.hold.instance == *instance) {
            lock(&supervisor.leases.sweep.settled).insert(instance.clone(), *beat);
        }
    }
    let lost = |owner: &InstanceId| gone.iter().any(|(instance, _)| instance == owner);
    reconcile::settle_all(supervisor, rows.into_iter().filter(|row| lost(&row.hold.instance)).collect())
        .await;
}

/// Returns true if an instance's leases may be taken: we saw its heartbeat stop, or we unseated it and it is not
/// back.
pub(crate) async fn is_gone(supervisor: &Supervisor, owner: &InstanceId, wall: u64) -> bool {
    lock(&supervisor.leases.observer).is_expired(owner, wall, clock::awake())
        || unseated_by_us(supervisor, &*supervisor.leases.sweep.unseated.lock().await, owner).is_some()
}

fn unseated_by_us(
    supervisor: &Supervisor,
    unseated: &HashMap<InstanceId, (Beat, Beat)>,
    owner: &InstanceId,
) -> Option<Beat> {
    let &(before, after) = unseated.get(owner)?;
    let seen = lock(&supervisor.leases.observer).last_seen(owner)?;
    let seen = Beat { incarnation: seen.incarnation, number: seen.number };
    (seen == before || seen == after).then_some(after)
}

/// Raises the incarnation of an owner whose heartbeat stopped. One raise serves all of its runs; each steal checks
/// again that the owner has not come back.
pub async fn unseat(supervisor: &Supervisor, owner: &InstanceId) -> Option<Beat> {
    let mut unseated = supervisor.leases.sweep.unseated.lock().await;
    if let Some(after) = unseated_by_us(supervisor, &unseated, owner) {
        return Some(after);
    }
    let (now, wall) = (clock::awake(), clock::unix_ms());
    let expired = lock(&supervisor.leases.observer).expired(owner, wall, now)?;
    let seen = Beat { incarnation: expired.beat().incarnation, number: expired.beat().number };
    let after = supervisor.registry.unseat(owner.clone(), seen, wall).await.ok()??;
    unseated.insert(owner.clone(), (seen, after));
    Some(after)
}

/// Leaves our seat on purpose, so that the leases wait for us. The heartbeat must have stopped: a later beat would
/// undo this.
pub async fn rest(supervisor: &Supervisor) {
    let last = Beat { incarnation: supervisor.leases.tenancy().incarnation(), number: 0 };
    if let Err(error) = supervisor.registry.beat(supervisor.instance.clone(), last, NEVER_EXPIRES).await {
        tracing::error!(%error, "our leases could not be left for the next start");
    }
}

/// Describes an instance for people.
pub fn about(state: &tenure_keeper::state_root::StateRoot) -> String {
    format!("pid {} on {}", std::process::id(), state.path().display())
}
