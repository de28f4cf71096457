//! Who is about to see the end of a run: whoever waits for it or polls it as its owner. That it has ended is told only
//! if none of them has seen it.

use crate::daemon::{Daemon, lock};
use crate::requester::Requester;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tenure_core::ids::RunId;
use tenure_mcp::Written;
use tenure_os::{clock, pause};
use tenure_store::{RunRow, Tracked};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The witnesses of each run.
#[derive(Debug, Default)]
pub(crate) struct Witnesses {
    runs: Mutex<HashMap<RunId, Weak<RwLock<()>>>>,
}

impl Witnesses {
    async fn enter(&self, run: &RunId) -> OwnedRwLockReadGuard<()> {
        self.of(run).read_owned().await
    }

    /// Waits until all those have seen it, or have gone.
    pub(crate) async fn gone(&self, run: &RunId) -> OwnedRwLockWriteGuard<()> {
        self.of(run).write_owned().await
    }

    fn of(&self, run: &RunId) -> Arc<RwLock<()>> {
        let mut runs = lock(&self.runs);
        runs.retain(|_, known| known.strong_count() > 0);
        runs.get(run).and_then(Weak::upgrade).unwrap_or_else(|| {
            let fresh = Arc::new(RwLock::new(()));
            runs.insert(run.clone(), Arc::downgrade(&fresh));
            fresh
        })
    }
}

/// Somebody who may see how a run ends, until this is dropped.
pub(crate) struct Sight {
    daemon: Arc<Daemon>,
    run: RunId,
    /// Only what the owner sees need not be told.
    as_owner: Option<OwnedRwLockReadGuard<()>>,
}

impl Daemon {
    /// From now on this requester is about to see how the run ends.
    pub(crate) async fn about_to_see(self: &Arc<Self>, row: &RunRow, who: &Requester) -> Sight {
        let run = row.ticket.run_id.clone();
        let as_owner = if who.owns(row) { Some(self.witnesses.enter(&run).await) } else { None };
        Sight { daemon: Arc::clone(self), run, as_owner }
    }
}

impl Sight {
    /// What is done once an answer was written, which said how the run ended, or did not.
    pub(crate) fn of(self, ended: bool) -> Written {
        if !ended {
            return Written::default();
        }
        Written::then(move || drop(tokio::spawn(self.seen())))
    }

    /// The owner has seen the end.
    pub(crate) async fn seen(self) {
        let Self { daemon, run, as_owner } = self;
        if as_owner.is_some() {
            pause::point("daemon-before-seen");
            let seen = match daemon.registry.acknowledge(run.clone()).await {
                Ok(_) => daemon.registry.acknowledge_task(Tracked::Run(run.clone()), clock::unix_ms()).await,
                Err(error) => Err(error),
            };
            if let Err(error) = seen {
                tracing::error!(%run, %error, "that a run's end was seen is not recorded");
            }
            pause::point("daemon-after-seen");
        }
        drop(as_owner);
    }
}
