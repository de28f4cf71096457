//! The heartbeat that keeps our leases, and the watch over the heartbeats of others who share the registry. Nothing
//! here waits for a run: a heartbeat that comes late costs every lease.

use crate::lifecycle::Phase;
use crate::reconcile;
use crate::register_existing;
use crate::reserve;
use crate::supervisor::Supervisor;
use crate::sync::{lock, until};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tenure_core::ids::{InstanceId, RegistryId};
use tenure_core::lease::{Beat as Seen, Observer, Rhythm, Tenancy};
use tenure_os::clock;
use tenure_store::{Beat, Failed, Registry};

/// Until when the leases of an instance that was stopped on purpose hold: it comes back to them.
const WHEN_IT_COMES_BACK: u64 = u64::MAX;

/// What is being done about the runs of instances that are gone.
#[derive(Debug, Default)]
struct Sweep {
    at_work: AtomicBool,
    /// The heartbeats that stood still and have no run left.
    settled: Mutex<HashMap<InstanceId, Beat>>,
    /// The heartbeats that owners were unseated at, before and after. Taken while one is being unseated.
    unseated: tokio::sync::Mutex<HashMap<InstanceId, (Beat, Beat)>>,
}

/// Our leases, and the heartbeats of others who share the registry.
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

    /// Our seat in the registry.
    pub fn tenancy(&self) -> MutexGuard<'_, Tenancy> {
        lock(&self.tenancy)
    }

    /// Returns true if our heartbeat is fresh enough to act on what we hold.
    pub fn may_act(&self) -> bool {
        self.tenancy().may_act(clock::awake(), clock::unix_ms())
    }
}

/// Takes our seat in the registry: from now on whoever acted as us before is superseded.
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
    // It is the first of a tenancy that was just begun.
    let _ = tenancy.renewed(first, begun);
    Ok((tenancy, beat))
}

/// Renews our leases and watches the others', until the daemon leaves.
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
                tracing::error!(%error, "our heartbeat was not taken");
                reserve::give_up_reserve(&supervisor, &error);
            }
        }
        watch_others(&supervisor).await;
        let supervisor = Arc::clone(&supervisor);
        tokio::spawn(async move { register_existing::adopt_marked(&supervisor).await });
    }
}

/// Leaves if the state root is not where it was; returns true if so. Runs of a moved root go on, and the next daemon
/// finds them there. Runs of a deleted root are ended: nobody could find them.
pub(crate) fn check_root(supervisor: &Supervisor) -> bool {
    if !supervisor.state.is_moved() {
        return false;
    }
    let deleted = supervisor.state.is_deleted();
    if !supervisor.lifecycle.is_draining() {
        let runs = if deleted { "ended" } else { "left to go on" };
        tracing::warn!(deleted, "the state root was moved or deleted: leaving, and runs are {runs}");
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
    tracing::warn!("another instance took us for gone: our leases are looked at anew");
    let about = about(&supervisor.state);
    let (tenancy, beat) =
        enrol(&*supervisor.registry, supervisor.instance.clone(), about, supervisor.settings.rhythm())
            .await?;
    *supervisor.leases.tenancy() = tenancy;
    let supervisor = Arc::clone(supervisor);
    tokio::spawn(async move {
        drop_what_was_stolen(&supervisor).await;
        // One that failed is logged; what was held before still is.
        let _ = reconcile::reconcile_all(&supervisor).await;
    });
    Ok(beat)
}

/// Lets go of the runs that are another's by now.
async fn drop_what_was_stolen(supervisor: &Supervisor) {
    for held in supervisor.runs.all() {
        match supervisor.registry.run(held.ticket.run_id.clone()).await {
            Ok(Some(row)) if row.hold == held.hold => {}
            Ok(row) => {
                let whose = row.map_or("nobody".to_owned(), |row| row.hold.instance.to_string());
                held.let_go(format!("its lease is held by {whose} now"));
            }
            Err(error) => tracing::error!(%error, "a lease cannot be looked at"),
        }
    }
}

/// Looks at the heartbeats of the others; those who are gone lose their runs to whoever is first.
async fn watch_others(supervisor: &Arc<Supervisor>) {
    let Ok(instances) = supervisor.registry.instances().await else { return };
    let (now, wall) = (clock::awake(), clock::unix_ms());
    {
        let mut observer = lock(&supervisor.leases.observer);
        for row in instances.iter().filter(|row| row.instance != supervisor.instance) {
            let Beat { number, incarnation } = row.beat;
            let seen = Seen { number, incarnation, expires_at_ms: row.expires_at_ms };
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

/// Settles the runs of those who are gone. Whoever has none left is not looked at again.
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

/// Whether an instance's leases may be taken: it was watched being gone, or we have unseated it and it is not back.
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

/// Raises the incarnation of an owner that was watched being gone. One raise serves for all of its runs: that it
/// has not come back is compared again with each of them.
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

/// Leaves our seat on purpose: the leases wait for us. Only when our heart has stopped: a later beat would undo it.
pub async fn rest(supervisor: &Supervisor) {
    let last = Beat { incarnation: supervisor.leases.tenancy().incarnation(), number: 0 };
    if let Err(error) = supervisor.registry.beat(supervisor.instance.clone(), last, WHEN_IT_COMES_BACK).await
    {
        tracing::error!(%error, "our leases could not be put to rest");
    }
}

/// Where an instance is, for people.
pub fn about(state: &tenure_keeper::state_root::StateRoot) -> String {
    format!("pid {} on {}", std::process::id(), state.path().display())
}
