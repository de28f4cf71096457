//! Housekeeping: removes ended runs by age, number and size, closed sessions by age and number, old events, and the
//! leftovers of killed nurseries and keepers. The crates above add chores of their own.

use crate::disk_reserve;
use crate::lifecycle::Phase;
use crate::supervisor::Supervisor;
use crate::sync::until;
use crate::task;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_keeper::sweep;
use tenure_os::clock;
use tenure_store::Retention;

/// Minimum time between two rounds.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time from the start to the first round: waiting clients come first.
const FIRST_DELAY: Duration = Duration::from_secs(20);
/// Number of runs removed at a time.
const BATCH: usize = 100;
/// Maximum number of sessions removed in one round; the rest is removed in the next.
const MAX_SESSIONS: usize = 100 * BATCH;

/// An execution of a chore.
pub type ChoreRun<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Housekeeping of a crate above.
pub trait Chore: Send + Sync {
    /// Does the chore once, and logs its own failures.
    fn run(&self) -> ChoreRun<'_>;
}

/// Runs the housekeeping until the daemon shuts down.
pub async fn forever(supervisor: Arc<Supervisor>, chores: Vec<Box<dyn Chore>>) {
    let mut phase = supervisor.lifecycle.phase.subscribe();
    let every = supervisor.settings.retention.every.max(MIN_INTERVAL);
    let mut pause = FIRST_DELAY.min(every);
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
        }
        pause = every;
        for chore in &chores {
            chore.run().await;
        }
        tidy(&supervisor).await;
    }
}

fn millis(length: Option<Duration>) -> u64 {
    length.map_or(u64::MAX, |length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

/// The retention time in milliseconds: unlimited while the wall clock cannot be trusted to tell ages.
fn retention_ms(supervisor: &Supervisor, age: Option<Duration>) -> u64 {
    millis(age.filter(|age| supervisor.lifecycle.may_remove_by_age(*age)))
}

/// Removes everything past its retention.
pub(crate) async fn tidy(supervisor: &Arc<Supervisor>) {
    // Read before the clocks are compared: if the wall clock is set ahead after that, nothing gets older by it.
    let now_ms = clock::unix_ms();
    let keep = supervisor.settings.retention;
    let keep = Retention {
        age_ms: retention_ms(supervisor, keep.age),
        count: keep.count.unwrap_or(u64::MAX),
        bytes: keep.bytes.unwrap_or(u64::MAX),
    };
    loop {
        match supervisor.registry.outlived(supervisor.instance.clone(), keep, now_ms, BATCH).await {
            Ok(rows) => {
                let mut gone = 0;
                for row in &rows {
                    gone += usize::from(supervisor.discard(row).await);
                }
                // Rows that could not be removed are found again: retry in the next round, not at once.
                if rows.len() < BATCH || gone == 0 {
                    break;
                }
            }
            Err(error) => {
                tracing::error!(%error, "ended runs cannot be listed");
                break;
            }
        }
    }
    tidy_sessions(supervisor, now_ms).await;
    task::tidy_tasks(supervisor).await;
    let events = supervisor.settings.events;
    let before = now_ms.saturating_sub(retention_ms(supervisor, events.age));
    if let Err(error) = supervisor.registry.trim_events(before, events.count.unwrap_or(u64::MAX)).await {
        tracing::error!(%error, "old events cannot be removed");
    }
    if let Err(error) = supervisor.registry.trim_approvals(before).await {
        tracing::error!(%error, "old approval requests cannot be removed");
    }
    let sweeping = Arc::clone(supervisor);
    let swept = move || sweep::sweep(&sweeping.state, &sweeping.instance, sweep::OLD);
    // The next sweep tries again.
    let _ = tokio::task::spawn_blocking(swept).await;
    tokio::task::block_in_place(|| disk_reserve::create(supervisor));
}

/// Removes sessions that were closed long ago. The runs that belonged to them go by their own rules.
async fn tidy_sessions(supervisor: &Supervisor, now_ms: u64) {
    let keep = &supervisor.settings.sessions;
    let before = now_ms.saturating_sub(retention_ms(supervisor, keep.age));
    let most = keep.count.unwrap_or(u64::MAX);
    for _ in 0..MAX_SESSIONS / BATCH {
        match supervisor.registry.trim_sessions(before, most, BATCH).await {
            Ok(gone) if gone.len() < BATCH => break,
            // Each batch is a transaction of its own, so other writers get their turn.
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "closed sessions cannot be listed");
                break;
            }
        }
    }
}
