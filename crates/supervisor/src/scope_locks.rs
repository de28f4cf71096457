//! Locks for scopes: one start at a time in each, so a replacement waits for the start before it.

use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The lock of each scope.
#[derive(Debug, Default)]
pub struct ScopeLocks {
    turns: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

impl ScopeLocks {
    /// Locks a scope, in the order of the calls.
    pub async fn turn(&self, scope: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = lock(&self.turns);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let known = turns.get(scope).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turn = Arc::new(Turn::new(()));
                turns.insert(scope.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }
}
