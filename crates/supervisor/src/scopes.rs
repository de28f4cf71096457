//! One start at a time in each scope: a replacement waits for the one before it.

use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Whose turn it is in each scope.
#[derive(Debug, Default)]
pub struct Scopes {
    turns: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

impl Scopes {
    /// Waits for one's turn in a scope, in the order of asking.
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
