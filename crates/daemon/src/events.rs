//! Events that the daemon itself tells, and how rows become what clients read.

use crate::daemon::Daemon;
use serde_json::{Value, json};
use tenure_core::api::Event;
use tenure_os::clock;
use tenure_store::{EventRow, Failed, NewEvent, RunRow, kind};

impl Daemon {
    /// Tells of something about a run. What cannot be recorded is only an event lost.
    pub(crate) async fn tell_run(&self, row: &RunRow, kind: &str, detail: Value) {
        self.tell(NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind.to_owned(),
            instance: self.instance.clone(),
            run_id: Some(row.ticket.run_id.clone()),
            session: row.ticket.session_id.clone(),
            detail,
        })
        .await;
    }

    /// Tells that this daemon, with this pid, serves.
    pub(crate) async fn tell_started(&self, pid: u32) {
        self.tell_own(kind::DAEMON_STARTED, json!({"pid": pid, "version": crate::VERSION})).await;
    }

    /// Tells that this daemon leaves.
    pub(crate) async fn tell_stopped(&self, cancel_runs: bool) {
        let detail = json!({"cancelRuns": cancel_runs, "runsLeft": self.live_runs()});
        self.tell_own(kind::DAEMON_STOPPED, detail).await;
    }

    /// Tells of something about the daemon.
    async fn tell_own(&self, kind: &str, detail: Value) {
        self.tell(NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind.to_owned(),
            instance: self.instance.clone(),
            run_id: None,
            session: None,
            detail,
        })
        .await;
    }

    pub(crate) async fn tell(&self, event: NewEvent) {
        self.told(self.registry.tell(event).await);
    }

    /// An event is recorded, or lost.
    pub(crate) fn told(&self, told: Result<u64, Failed>) {
        if let Err(error) = told {
            tracing::error!(%error, "an event could not be recorded");
        }
        self.something_happened();
    }
}

/// An event as clients read it.
pub(crate) fn shown(row: EventRow) -> Event {
    let NewEvent { at_ms, kind, instance, run_id, session, detail } = row.event;
    Event { seq: Some(row.seq), at_ms, kind, run_id, session_id: session, instance_id: instance, detail }
}
