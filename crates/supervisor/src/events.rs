//! The daemon's own events, and the conversion of rows to events for clients.

use crate::heartbeats::Heartbeats;
use crate::refusal::Refusal;
use crate::supervisor::Supervisor;
use serde_json::{Value, json};
use std::sync::Arc;
use tenure_core::api::Event;
use tenure_core::defaults;
use tenure_os::clock;
use tenure_store::{EventRow, Failed, NewEvent, RunRow, kind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

/// Number of events queued for a slow client.
const EVENTS: usize = 256;

/// The fan-out of events to the clients that follow them.
pub struct Events {
    changes: watch::Sender<u64>,
    /// Growth of output.
    pub heartbeats: Heartbeats,
    /// The `exec-ended` events, for clients that listen.
    pub ended_execs: broadcast::Sender<NewEvent>,
    /// Permits for clients that follow events, output, sessions or a terminal.
    followers: Arc<Semaphore>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            changes: watch::Sender::new(0),
            heartbeats: Heartbeats::default(),
            ended_execs: broadcast::Sender::new(EVENTS),
            followers: Arc::new(Semaphore::new(defaults::FOLLOWERS)),
        }
    }
}

impl Events {
    /// Wakes the followers after events were recorded.
    pub fn notify_followers(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// Returns a watch that changes whenever events were recorded.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes a follower's permit, until it is dropped.
    pub fn follow(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.followers).try_acquire_owned().map_err(|_| {
            Refusal::too_many_followers(format!(
                "{} clients already follow events, output or sessions: stop some of them",
                defaults::FOLLOWERS
            ))
        })
    }
}

impl Supervisor {
    /// Records an event about a run. If that fails, only the event is lost.
    pub(crate) async fn tell_run(&self, row: &RunRow, kind: &str, detail: Value) {
        self.tell(NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind.to_owned(),
            instance: self.instance.clone(),
            run_id: Some(row.ticket.run_id.clone()),
            session: row.ticket.options.session_id.clone(),
            detail,
        })
        .await;
    }

    /// Records an event. If that fails, only the event is lost.
    pub async fn tell(&self, event: NewEvent) {
        self.told(self.registry.tell(event).await);
    }

    /// Logs a lost event, and wakes the followers.
    pub fn told(&self, told: Result<u64, Failed>) {
        if let Err(error) = told {
            tracing::error!(%error, "an event could not be recorded");
        }
        self.events.notify_followers();
    }
}

/// Records that this daemon serves, with its pid.
pub async fn tell_started(supervisor: &Supervisor, pid: u32) {
    tell_own(supervisor, kind::DAEMON_STARTED, json!({"pid": pid, "version": crate::VERSION})).await;
}

/// Records that this daemon shuts down.
pub async fn tell_stopped(supervisor: &Supervisor, cancel_runs: bool) {
    let detail = json!({"cancelRuns": cancel_runs, "runsLeft": supervisor.runs.count()});
    tell_own(supervisor, kind::DAEMON_STOPPED, detail).await;
}

/// Records an event about the daemon.
async fn tell_own(supervisor: &Supervisor, kind: &str, detail: Value) {
    supervisor
        .tell(NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind.to_owned(),
            instance: supervisor.instance.clone(),
            run_id: None,
            session: None,
            detail,
        })
        .await;
}

/// Converts a row to an event for clients.
pub fn shown(row: EventRow) -> Event {
    let NewEvent { at_ms, kind, instance, run_id, session, detail } = row.event;
    Event { seq: Some(row.seq), at_ms, kind, run_id, session_id: session, instance_id: instance, detail }
}
