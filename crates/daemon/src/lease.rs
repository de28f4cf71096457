//! The heartbeat that keeps our leases, and the watch over the heartbeats of others who share the registry.

use crate::daemon::{Daemon, Phase, lock, until};
use std::collections::HashMap;
use std::sync::Arc;
use tenure_core::ids::InstanceId;
use tenure_core::lease::{Beat as Seen, Rhythm, Tenancy};
use tenure_os::clock;
use tenure_store::{Beat, Failed, Registry};

/// Until when the leases of an instance that was stopped on purpose hold: it comes back to them.
const WHEN_IT_COMES_BACK: u64 = u64::MAX;

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
        let mut handled = HashMap::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.settings.lease.heartbeat) => {}
                () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
            }
            match self.renew(last).await {
                Ok(beat) => last = beat,
                Err(error) => tracing::error!(%error, "our heartbeat was not taken"),
            }
            self.watch_others(&mut handled).await;
        }
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
        self.drop_what_was_stolen().await;
        Ok(beat)
    }

    /// Lets go of the runs that are another's by now.
    async fn drop_what_was_stolen(self: &Arc<Self>) {
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
        self.reconcile_all().await;
    }

    /// Looks at the heartbeats of the others; those who are gone lose their runs to whoever is first.
    async fn watch_others(self: &Arc<Self>, handled: &mut HashMap<InstanceId, Beat>) {
        let Ok(instances) = self.registry.instances().await else { return };
        let (now, wall) = (clock::awake(), clock::unix_ms());
        let mut gone = false;
        {
            let mut observer = lock(&self.observer);
            for row in instances.iter().filter(|row| row.instance != self.instance) {
                let Beat { number, incarnation } = row.beat;
                observer.see(
                    &row.instance,
                    Seen { number, incarnation, expires_at_ms: row.expires_at_ms },
                    now,
                );
                if observer.is_expired(&row.instance, wall, now) {
                    // Once for each heartbeat that stood still: what could not be settled is looked at anyway.
                    gone |= handled.insert(row.instance.clone(), row.beat) != Some(row.beat);
                }
            }
        }
        if gone && self.may_act() {
            self.reconcile_all().await;
        }
    }

    /// Leaves our seat on purpose: the leases wait for us.
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
