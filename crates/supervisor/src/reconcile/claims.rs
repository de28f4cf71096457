//! Claims on runs: the right to judge a run, and the right to retry it until it is settled. At most one task of this
//! daemon has each, so two tasks never act on the same run. A start needs no claim: its run is held before it is
//! recorded.

use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use tenure_core::ids::RunId;

/// The claimed runs.
#[derive(Debug, Default)]
pub(crate) struct Claims(Arc<Mutex<HashSet<RunId>>>);

/// The right to work on a run, until dropped.
pub(crate) struct Claim {
    claimed: Arc<Mutex<HashSet<RunId>>>,
    run: RunId,
}

impl Claims {
    /// Claims a run; `None` if another task has it.
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
