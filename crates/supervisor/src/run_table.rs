//! The runs that this daemon holds, and those that it settles.

use crate::reconcile::Claims;
use crate::run_handle::RunHandle;
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tenure_core::ids::RunId;

/// The table of runs.
#[derive(Default)]
pub struct RunTable {
    held: Mutex<HashMap<RunId, Arc<RunHandle>>>,
    /// Runs that a task judges now.
    pub(crate) claims: Claims,
    /// Runs that a task judges again and again until they are settled.
    pub(crate) watched: Claims,
    /// The last verdict on each run that is not held and has not ended.
    pub(crate) verdicts: Mutex<HashMap<RunId, String>>,
}

impl RunTable {
    /// Returns a run that this daemon holds.
    pub fn get(&self, run: &RunId) -> Option<Arc<RunHandle>> {
        lock(&self.held).get(run).cloned()
    }

    /// Returns every run that this daemon holds.
    pub fn all(&self) -> Vec<Arc<RunHandle>> {
        lock(&self.held).values().cloned().collect()
    }

    /// Returns the number of runs that this daemon holds.
    pub fn count(&self) -> usize {
        lock(&self.held).len()
    }

    /// Adds a run, even before its keeper exists.
    pub fn insert(&self, run: &Arc<RunHandle>) {
        lock(&self.held).insert(run.ticket.run_id.clone(), Arc::clone(run));
    }

    /// Removes a run that is over, or that another instance holds.
    pub fn remove(&self, run: &Arc<RunHandle>) {
        let mut all = lock(&self.held);
        if all.get(&run.ticket.run_id).is_some_and(|known| Arc::ptr_eq(known, run)) {
            all.remove(&run.ticket.run_id);
        }
    }
}
