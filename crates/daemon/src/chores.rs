//! Housekeeping of the daemon: goes on closing sessions, expires approval requests, and rotates the logs.

use crate::daemon::Daemon;
use crate::log;
use std::sync::Arc;
use tenure_supervisor::housekeeping::{Chore, ChoreRun};

/// The daemon's chores.
pub(crate) struct DaemonChores(pub(crate) Arc<Daemon>);

impl Chore for DaemonChores {
    fn run(&self) -> ChoreRun<'_> {
        Box::pin(async {
            let daemon = &self.0;
            daemon.agents.go_on_closing().await;
            if let Err(refusal) = daemon.approvals.expire().await {
                tracing::error!(why = refusal.detail, "old questions cannot be closed");
            }
            let (state, limits) = (daemon.supervisor.state.path(), daemon.supervisor.settings.log);
            log::rotate(&state.join("daemon.log"), limits.bytes, limits.files);
            // Every nursery and keeper has this one open for as long as it lives.
            log::rotate_shared(&state.join("nursery.log"), limits.bytes, limits.files);
        })
    }
}
