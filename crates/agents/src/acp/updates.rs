//! Notifies followers of sessions: of new and changed entries, and of turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tenure_core::session::SessionKey;
use tenure_core::talk::{ConversationStep, HistoryChange, RecordedStep};
use tenure_supervisor::sync::lock;
use tokio::sync::broadcast;

/// Maximum number of undelivered updates per follower: a slower one reads the record itself.
const BACKLOG: usize = 256;

/// A recorded change of a session.
#[derive(Debug, Clone)]
pub enum Update {
    /// The entries with these numbers are new, or have changed.
    Entries(Arc<[u64]>),
    /// A turn has begun or ended.
    Turn,
}

/// The followers of each session.
#[derive(Debug, Default)]
pub(crate) struct Updates(Mutex<HashMap<SessionKey, broadcast::Sender<Update>>>);

/// The updates of a session from now on.
pub type UpdateReceiver = broadcast::Receiver<Update>;

impl Updates {
    /// Follows a session.
    pub(crate) fn follow(&self, key: &SessionKey) -> UpdateReceiver {
        let mut followed = lock(&self.0);
        followed.retain(|_, sender| sender.receiver_count() > 0);
        followed.entry(key.clone()).or_insert_with(|| broadcast::Sender::new(BACKLOG)).subscribe()
    }

    /// Notifies the followers of a session of a recorded step.
    pub(crate) fn notify_step(&self, key: &SessionKey, step: &ConversationStep, done: &RecordedStep) {
        let changed = step.told.iter().filter_map(|told| match told {
            HistoryChange::New { .. } => None,
            HistoryChange::Again { number, .. } => Some(*number),
        });
        let numbers: Arc<[u64]> = changed.chain(done.numbers.iter().copied()).collect();
        if !numbers.is_empty() {
            self.notify(key, Update::Entries(numbers));
        }
    }

    /// Notifies the followers of a session.
    pub(crate) fn notify(&self, key: &SessionKey, update: Update) {
        if let Some(sender) = lock(&self.0).get(key) {
            // The last follower may have left.
            let _ = sender.send(update);
        }
    }
}
