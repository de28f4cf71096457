//! The heartbeat that keeps our leases, and the watch over the heartbeats of others who share the registry. Nothing
//! here waits for a run: a heartbeat that comes late costs every lease.

use crate::daemon::{Daemon, Phase, lock, until};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tenure_core::ids::InstanceId;
use tenure_core::lease::{Beat as Seen, Rhythm, Tenancy};
use tenure_os::clock;
use tenure_store::{Beat, Failed, Registry};

/// Until when the leases of an instance that was stopped on purpose hold: it comes back to them.
const WHEN_IT_COMES_BACK: u64 = u64::MAX;

/// What is being done about the runs of instances that are gone.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    at_work: AtomicBool,
    /// The heartbeats that stood still and have no run left.
    settled: Mutex<HashMap<InstanceId, Beat>>,
    /// The heartbeats that owners were unseated at, before and after. Taken while one is being unseated.
    unseated: tokio::sync::Mutex<HashMap<InstanceId, (Beat, Beat)>>,
}

/// Takes our seat in the registry: from now on whoever acted as us before is superseded.
pub(crate) async fn enrol(
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

impl Daemon {
    /// Renews our leases and watches the others', until the daemon leaves.
    pub(crate) async fn beat(self: Arc<Self>, mut last: Beat) {
        let mut phase = self.phase.subscribe();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.settings.lease.heartbeat) => {}
                () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
            }
            self.check_root();
            match self.renew(last).await {
                Ok(beat) => last = beat,
                Err(error) => {
                    tracing::error!(%error, "our heartbeat was not taken");
                    self.give_up_reserve(&error);
                }
            }
            self.watch_others().await;
            let daemon = Arc::clone(&self);
            tokio::spawn(async move { daemon.adopt_marked().await });
        }
    }

    /// Leaves if the state root is not where it was; returns true if so. Runs of a moved root go on, and the next daemon
    /// finds them there. Runs of a deleted root are ended: nobody could find them.
    pub(crate) fn check_root(&self) -> bool {
        if !self.state.is_moved() {
            return false;
        }
        let deleted = self.state.is_deleted();
        if !self.is_draining() {
            let runs = if deleted { "ended" } else { "left to go on" };
            tracing::warn!(deleted, "the state root was moved or deleted: leaving, and runs are {runs}");
        }
        self.drain(deleted);
        true
    }

    async fn renew(self: &Arc<Self>, last: Beat) -> Result<Beat, Failed> {
        let begun = clock::awake();
        let next = self.tenancy().next(clock::unix_ms());
        let renewed = self.registry.beat(self.instance.clone(), last, next.expires_at_ms).await?;
        if let Some(beat) = renewed {
            let _ = self.tenancy().renewed(next, begun);
            return Ok(beat);
        }
        tracing::warn!("another instance took us for gone: our leases are looked at anew");
        let about = self.about();
        let (tenancy, beat) =
            enrol(&*self.registry, self.instance.clone(), about, self.settings.rhythm()).await?;
        *self.tenancy() = tenancy;
        let daemon = Arc::clone(self);
        tokio::spawn(async move {
            daemon.drop_what_was_stolen().await;
            // One that failed is logged; what was held before still is.
            let _ = daemon.reconcile_all().await;
        });
        Ok(beat)
    }

    /// Lets go of the runs that are another's by now.
    async fn drop_what_was_stolen(&self) {
        for held in self.all_held() {
            match self.registry.run(held.ticket.run_id.clone()).await {
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
    async fn watch_others(self: &Arc<Self>) {
        let Ok(instances) = self.registry.instances().await else { return };
        let (now, wall) = (clock::awake(), clock::unix_ms());
        {
            let mut observer = lock(&self.observer);
            for row in instances.iter().filter(|row| row.instance != self.instance) {
                let Beat { number, incarnation } = row.beat;
                let seen = Seen { number, incarnation, expires_at_ms: row.expires_at_ms };
                observer.see(&row.instance, seen, now);
            }
        }
        let mut gone = Vec::new();
        for row in instances.into_iter().filter(|row| row.instance != self.instance) {
            let settled = lock(&self.sweep.settled).get(&row.instance) == Some(&row.beat);
            if !settled && self.is_gone(&row.instance, wall).await {
                gone.push((row.instance, row.beat));
            }
        }
        if gone.is_empty() || !self.may_act() || self.is_draining() {
            return;
        }
        if !self.sweep.at_work.swap(true, Ordering::Relaxed) {
            let daemon = Arc::clone(self);
            tokio::spawn(async move {
                daemon.take_over(gone).await;
                daemon.sweep.at_work.store(false, Ordering::Relaxed);
            });
        }
    }

    /// Settles the runs of those who are gone. Whoever has none left is not looked at again.
    async fn take_over(self: &Arc<Self>, gone: Vec<(InstanceId, Beat)>) {
        let rows = match self.unfinished().await {
            Ok(rows) => rows,
            Err(error) => return tracing::error!(%error, "the recorded runs cannot be read"),
        };
        for (instance, beat) in &gone {
            if !rows.iter().any(|row| row.hold.instance == *instance) {
                lock(&self.sweep.settled).insert(instance.clone(), *beat);
            }
        }
        let lost = |owner: &InstanceId| gone.iter().any(|(instance, _)| instance == owner);
        self.settle_all(rows.into_iter().filter(|row| lost(&row.hold.instance)).collect()).await;
    }

    /// Whether an instance's leases may be taken: it was watched being gone, or we have unseated it and it is not back.
    pub(crate) async fn is_gone(&self, owner: &InstanceId, wall: u64) -> bool {
        lock(&self.observer).is_expired(owner, wall, clock::awake())
            || self.unseated_by_us(&*self.sweep.unseated.lock().await, owner).is_some()
    }

    fn unseated_by_us(
        &self,
        unseated: &HashMap<InstanceId, (Beat, Beat)>,
        owner: &InstanceId,
    ) -> Option<Beat> {
        let &(before, after) = unseated.get(owner)?;
        let seen = lock(&self.observer).last_seen(owner)?;
        let seen = Beat { incarnation: seen.incarnation, number: seen.number };
        (seen == before || seen == after).then_some(after)
    }

    /// Raises the incarnation of an owner that was watched being gone. One raise serves for all of its runs: that it
    /// has not come back is compared again with each of them.
    pub(crate) async fn unseat(&self, owner: &InstanceId) -> Option<Beat> {
        let mut unseated = self.sweep.unseated.lock().await;
        if let Some(after) = self.unseated_by_us(&unseated, owner) {
            return Some(after);
        }
        let (now, wall) = (clock::awake(), clock::unix_ms());
        let expired = lock(&self.observer).expired(owner, wall, now)?;
        let seen = Beat { incarnation: expired.beat().incarnation, number: expired.beat().number };
        let after = self.registry.unseat(owner.clone(), seen, wall).await.ok()??;
        unseated.insert(owner.clone(), (seen, after));
        Some(after)
    }

    /// Leaves our seat on purpose: the leases wait for us. Only when our heart has stopped: a later beat would undo it.
    pub(crate) async fn rest(&self) {
        let last = Beat { incarnation: self.tenancy().incarnation(), number: 0 };
        if let Err(error) = self.registry.beat(self.instance.clone(), last, WHEN_IT_COMES_BACK).await {
            tracing::error!(%error, "our leases could not be put to rest");
        }
    }

    /// Where this instance is, for people.
    pub(crate) fn about(&self) -> String {
        about(&self.state)
    }
}

/// Where an instance is, for people.
pub(crate) fn about(state: &tenure_keeper::state_root::StateRoot) -> String {
    format!("pid {} on {}", std::process::id(), state.path().display())
}
