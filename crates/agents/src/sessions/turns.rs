//! The running turns of this daemon: cancels them, and notifies waiters of beginnings and ends.

use std::collections::HashMap;
use std::sync::Mutex;
use tenure_core::ids::TurnId;
use tenure_supervisor::sync::lock;
use tokio::sync::watch;

/// The running turns of this daemon.
#[derive(Debug)]
pub struct Turns {
    under_way: Mutex<HashMap<TurnId, UnderWay>>,
    /// Counts beginnings and ends, for waiters.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct UnderWay {
    cancel: watch::Sender<bool>,
    /// True if a task carries it out: a turn can be cancelled before.
    carried: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self { under_way: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Turns {
    /// Subscribes to beginnings and ends of turns.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Notifies waiters that a turn begins or ends.
    pub fn notify_waiters(&self) {
        self.changed.send_modify(|n| *n += 1);
    }

    /// Cancels a turn, even before its run starts. Returns true if a task carries it out.
    pub fn cancel(&self, turn: &TurnId) -> bool {
        let mut under_way = lock(&self.under_way);
        let it = under_way.entry(turn.clone()).or_default();
        it.cancel.send_replace(true);
        it.carried
    }

    /// Registers a turn that a task carries out.
    pub(crate) fn register(&self, turn: &TurnId) -> watch::Receiver<bool> {
        let mut under_way = lock(&self.under_way);
        let it = under_way.entry(turn.clone()).or_default();
        it.carried = true;
        it.cancel.subscribe()
    }

    /// Removes a turn that has ended.
    pub(crate) fn remove(&self, turn: &TurnId) {
        lock(&self.under_way).remove(turn);
        self.notify_waiters();
    }
}
