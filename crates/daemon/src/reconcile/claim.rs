//! One at a time: while a run is being started or judged, nobody else in this daemon judges it. A run whose row is
//! written and whose directory is not looks like one that was never started.

use crate::daemon::{Daemon, lock};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use tenure_core::ids::RunId;

/// The runs that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<HashSet<RunId>>);

/// The right to work on a run, until dropped.
pub(crate) struct Claim {
    daemon: Arc<Daemon>,
    of: fn(&Daemon) -> &Claims,
    run: RunId,
}

impl Daemon {
    /// The right to start or judge a run; `None` if somebody does.
    pub(crate) fn claim(self: &Arc<Self>, run: &RunId) -> Option<Claim> {
        self.claim_in(|daemon| &daemon.claims, run)
    }

    /// The right to look at a run again and again; `None` if somebody does.
    pub(super) fn claim_watch(self: &Arc<Self>, run: &RunId) -> Option<Claim> {
        self.claim_in(|daemon| &daemon.watched, run)
    }

    fn claim_in(self: &Arc<Self>, of: fn(&Daemon) -> &Claims, run: &RunId) -> Option<Claim> {
        let first = lock(&of(self).0).insert(run.clone());
        first.then(|| Claim { daemon: Arc::clone(self), of, run: run.clone() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&(self.of)(&self.daemon).0).remove(&self.run);
    }
}
