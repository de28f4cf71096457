//! Housekeeping of the daemon: retries unfinished closes of sessions, expires approval requests, and rotates the logs.

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
            daemon.agents.resume_closes().await;
            if let Err(refusal) = daemon.approvals.expire().await {
                tracing::error!(why = refusal.detail, "cannot expire approval requests");
            }
            let (state, limits) = (daemon.supervisor.state.path(), daemon.supervisor.settings.log);
            log::rotate(&state.join("daemon.log"), limits.bytes, limits.files);
            // Nurseries and keepers keep this file open for their whole life.
            log::rotate_shared(&state.join("nursery.log"), limits.bytes, limits.files);
        })
    }
}
