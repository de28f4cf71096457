//! What happens in sessions, for whoever looks on: entries as they are recorded, and again when they change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advance, Advanced, Told};
use tenure_supervisor::sync::lock;
use tokio::sync::broadcast;

/// How many updates wait for somebody who is slow to take them: after that they look themselves.
const WAIT: usize = 256;

/// Something that was recorded.
#[derive(Debug, Clone)]
pub enum Update {
    /// The entries with these numbers are new, or have changed.
    Entries(Arc<[u64]>),
    /// A turn has begun or ended.
    Turn,
}

/// Who follows which session.
#[derive(Debug, Default)]
pub(crate) struct Updates(Mutex<HashMap<SessionKey, broadcast::Sender<Update>>>);

/// What comes of a session from now on.
pub type Followed = broadcast::Receiver<Update>;

impl Updates {
    /// Follows a session.
    pub(crate) fn follow(&self, key: &SessionKey) -> Followed {
        let mut followed = lock(&self.0);
        followed.retain(|_, sender| sender.receiver_count() > 0);
        followed.entry(key.clone()).or_insert_with(|| broadcast::Sender::new(WAIT)).subscribe()
    }

    /// Tells whoever follows a session of a step that was recorded.
    pub(crate) fn tell_of(&self, key: &SessionKey, step: &Advance, done: &Advanced) {
        let changed = step.told.iter().filter_map(|told| match told {
            Told::New { .. } => None,
            Told::Again { number, .. } => Some(*number),
        });
        let numbers: Arc<[u64]> = changed.chain(done.numbers.iter().copied()).collect();
        if !numbers.is_empty() {
            self.tell(key, Update::Entries(numbers));
        }
    }

    /// Tells whoever follows a session.
    pub(crate) fn tell(&self, key: &SessionKey, update: Update) {
        if let Some(sender) = lock(&self.0).get(key) {
            // Nobody may be there any more.
            let _ = sender.send(update);
        }
    }
}
