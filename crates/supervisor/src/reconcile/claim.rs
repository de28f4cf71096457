//! Claims on runs: the right to start or judge a run, and the right to watch it, each held by at most one task of
//! this daemon. Without the first, a run whose row is written and whose directory is not would look like one that
//! was never started.

use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use tenure_core::ids::RunId;

/// The runs that somebody works on.
#[derive(Debug, Default)]
pub(crate) struct Claims(Arc<Mutex<HashSet<RunId>>>);

/// The right to work on a run, until dropped.
pub(crate) struct Claim {
    claimed: Arc<Mutex<HashSet<RunId>>>,
    run: RunId,
}

impl Claims {
    /// Claims a run; `None` if somebody else has claimed it.
    pub(crate) fn claim(&self, run: &RunId) -> Option<Claim> {
        let first = lock(&self.0).insert(run.clone());
        first.then(|| Claim { claimed: Arc::clone(&self.0), run: run.clone() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&self.claimed).remove(&self.run);
    }
}
