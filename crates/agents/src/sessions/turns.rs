//! The turns that are under way here: who wants one ended says so, and who waits for one hears of it.

use std::collections::HashMap;
use std::sync::Mutex;
use tenure_core::ids::TurnId;
use tenure_supervisor::sync::lock;
use tokio::sync::watch;

/// The turns that this daemon carries out.
#[derive(Debug)]
pub struct Turns {
    under_way: Mutex<HashMap<TurnId, UnderWay>>,
    /// Counts beginnings and ends, for whoever waits for one.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct UnderWay {
    cancel: watch::Sender<bool>,
    /// Whether somebody carries it out: it can be cancelled before.
    carried: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self { under_way: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Turns {
    /// From now on it is known when a turn begins or ends.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Tells that a turn begins or ends.
    pub fn something_changed(&self) {
        self.changed.send_modify(|n| *n += 1);
    }

    /// Has a turn end; one that has no run yet gets none. Says whether somebody carries it out.
    pub fn cancel(&self, turn: &TurnId) -> bool {
        let mut under_way = lock(&self.under_way);
        let it = under_way.entry(turn.clone()).or_default();
        it.cancel.send_replace(true);
        it.carried
    }

    pub(crate) fn take_on(&self, turn: &TurnId) -> watch::Receiver<bool> {
        let mut under_way = lock(&self.under_way);
        let it = under_way.entry(turn.clone()).or_default();
        it.carried = true;
        it.cancel.subscribe()
    }

    pub(crate) fn put_down(&self, turn: &TurnId) {
        lock(&self.under_way).remove(turn);
        self.something_changed();
    }
}
