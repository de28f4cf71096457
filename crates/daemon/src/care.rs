//! Housekeeping: removes ended runs by age, number and size, closed sessions by age and number, old events, and the
//! leftovers of killed nurseries and keepers. Rotates the daemon's own logs.

use crate::daemon::{Daemon, Phase, lock, until};
use crate::log;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::wall;
use tenure_keeper::sweep;
use tenure_os::clock;
use tenure_store::Retention;

/// How often at most.
const OFTEN: Duration = Duration::from_millis(100);
/// How soon after the start, at most: whoever waits for the daemon comes first.
const FIRST: Duration = Duration::from_secs(20);
/// How many runs go at a time.
const BATCH: usize = 100;
/// How many sessions go each time, at most, in batches: what is left goes the next time.
const SESSIONS: usize = 100 * BATCH;

/// Cleans up now and then, until the daemon leaves.
pub(crate) async fn forever(daemon: Arc<Daemon>) {
    let mut phase = daemon.phase.subscribe();
    let every = daemon.settings.retention.every.max(OFTEN);
    let mut pause = FIRST.min(every);
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
        }
        pause = every;
        daemon.tidy().await;
    }
}

fn millis(length: Option<Duration>) -> u64 {
    length.map_or(u64::MAX, |length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

impl Daemon {
    /// The retention time in milliseconds: unlimited while the wall clock cannot be trusted to tell ages.
    fn kept_ms(&self, age: Option<Duration>) -> u64 {
        millis(age.filter(|age| self.may_remove_by_age(*age)))
    }

    /// Returns true if the wall clock can be trusted to remove things of this age.
    pub(crate) fn may_remove_by_age(&self, age: Duration) -> bool {
        let agreed_for = lock(&self.wall).agreed_for(clock::since_boot(), clock::unix_ms());
        wall::may_remove_by_age(agreed_for, age)
    }

    /// Removes what has outlived its use.
    pub(crate) async fn tidy(self: &Arc<Self>) {
        // Read before the clocks are compared: if the wall clock is set ahead after that, nothing gets older by it.
        let now_ms = clock::unix_ms();
        let keep = self.settings.retention;
        let keep = Retention {
            age_ms: self.kept_ms(keep.age),
            count: keep.count.unwrap_or(u64::MAX),
            bytes: keep.bytes.unwrap_or(u64::MAX),
        };
        loop {
            match self.registry.outlived(self.instance.clone(), keep, now_ms, BATCH).await {
                Ok(rows) => {
                    let mut gone = 0;
                    for row in &rows {
                        gone += usize::from(self.discard(row).await);
                    }
                    // What could not go now comes again: it is tried next time, not at once.
                    if rows.len() < BATCH || gone == 0 {
                        break;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "ended runs cannot be looked through");
                    break;
                }
            }
        }
        self.go_on_closing().await;
        self.tidy_sessions(now_ms).await;
        self.tidy_tasks().await;
        let events = self.settings.events;
        let before = now_ms.saturating_sub(self.kept_ms(events.age));
        if let Err(error) = self.registry.trim_events(before, events.count.unwrap_or(u64::MAX)).await {
            tracing::error!(%error, "old events cannot be removed");
        }
        if let Err(refusal) = self.expire().await {
            tracing::error!(why = refusal.detail, "old questions cannot be closed");
        }
        if let Err(error) = self.registry.trim_approvals(before).await {
            tracing::error!(%error, "old questions cannot be removed");
        }
        let sweeping = Arc::clone(self);
        let swept = move || sweep::sweep(&sweeping.state, &sweeping.instance, sweep::OLD);
        // The next sweep tries again.
        let _ = tokio::task::spawn_blocking(swept).await;
        tokio::task::block_in_place(|| self.set_reserve());
        let limits = self.settings.log;
        log::rotate(&self.state.path().join("daemon.log"), limits.bytes, limits.files);
        // Every nursery and keeper has this one open for as long as it lives.
        log::rotate_shared(&self.state.path().join("nursery.log"), limits.bytes, limits.files);
    }

    /// Removes sessions that were closed long ago. The runs that belonged to them go by their own rules.
    async fn tidy_sessions(&self, now_ms: u64) {
        let keep = &self.settings.sessions;
        let before = now_ms.saturating_sub(self.kept_ms(keep.age));
        let most = keep.count.unwrap_or(u64::MAX);
        for _ in 0..SESSIONS / BATCH {
            match self.registry.trim_sessions(before, most, BATCH).await {
                Ok(gone) if gone.len() < BATCH => break,
                // Others write in between.
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "closed sessions cannot be looked through");
                    break;
                }
            }
        }
    }
}
