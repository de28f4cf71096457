//! Suppresses notices of ends that the owner has seen. Owners that poll or wait for a run, and callers that wait for
//! a turn, are witnesses of its end: the notifier waits for them, and sends the notice only if none has seen the end.

use crate::requester::Requester;
use crate::supervisor::Supervisor;
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tenure_core::ids::TurnId;
use tenure_core::receipt::Receipt;
use tenure_os::{clock, pause};
use tenure_store::{RunRow, Tracked};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The witnesses of each run and turn.
#[derive(Debug, Default)]
pub struct Witnesses {
    of: Mutex<HashMap<Tracked, Weak<RwLock<()>>>>,
}

impl Witnesses {
    async fn enter(&self, what: &Tracked) -> OwnedRwLockReadGuard<()> {
        self.of(what).read_owned().await
    }

    /// Waits until every witness has seen the end, or has gone.
    pub async fn gone(&self, what: &Tracked) -> OwnedRwLockWriteGuard<()> {
        self.of(what).write_owned().await
    }

    fn of(&self, what: &Tracked) -> Arc<RwLock<()>> {
        let mut all = lock(&self.of);
        all.retain(|_, known| known.strong_count() > 0);
        all.get(what).and_then(Weak::upgrade).unwrap_or_else(|| {
            let fresh = Arc::new(RwLock::new(()));
            all.insert(what.clone(), Arc::downgrade(&fresh));
            fresh
        })
    }
}

/// Marks the client as a witness of an end, until dropped.
pub struct SeenGuard {
    supervisor: Arc<Supervisor>,
    what: Tracked,
    /// `None` if the notice is sent anyway: an operator saw the end, not its owner.
    counts: Option<OwnedRwLockReadGuard<()>>,
}

impl Supervisor {
    /// Registers a witness of a run's end.
    pub async fn watch_run_end(self: &Arc<Self>, row: &RunRow, who: &Requester) -> SeenGuard {
        self.watch_end(who.owns(row), Tracked::Run(row.ticket.run_id.clone())).await
    }

    /// Registers a witness of a turn's end. The caller says whether it counts.
    pub async fn watch_turn_end(self: &Arc<Self>, counts: bool, turn: &TurnId) -> SeenGuard {
        self.watch_end(counts, Tracked::Turn(turn.clone())).await
    }

    async fn watch_end(self: &Arc<Self>, counts: bool, what: Tracked) -> SeenGuard {
        let counts = if counts { Some(self.witnesses.enter(&what).await) } else { None };
        SeenGuard { supervisor: Arc::clone(self), what, counts }
    }
}

impl SeenGuard {
    /// Returns the work for after the response is written: if the response contains the end, its notices are
    /// acknowledged.
    pub fn of(self, ended: bool) -> Receipt {
        if !ended {
            return Receipt::default();
        }
        Receipt::new(move || drop(tokio::spawn(self.seen())))
    }

    /// Acknowledges the notices of the end: the owner or the caller has seen it.
    pub async fn seen(self) {
        if self.counts.is_none() {
            return;
        }
        pause::point("daemon-before-seen");
        let acknowledged =
            self.supervisor.registry.acknowledge_task(self.what.clone(), clock::unix_ms()).await;
        if let Err(error) = acknowledged {
            tracing::error!(what = ?self.what, %error, "the end was seen, but its notice could not be acknowledged");
        }
        pause::point("daemon-after-seen");
    }
}
