//! Who is about to see the end of a run or a turn: whoever waits for it or polls it as its owner, and the caller of a turn
//! in the foreground. The end is told only if none of them has seen it.

use crate::daemon::{Daemon, lock};
use crate::requester::Requester;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tenure_core::ids::TurnId;
use tenure_mcp::Written;
use tenure_os::{clock, pause};
use tenure_store::{Failed, RunRow, Tracked};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The witnesses of each run and turn.
#[derive(Debug, Default)]
pub(crate) struct Witnesses {
    of: Mutex<HashMap<Tracked, Weak<RwLock<()>>>>,
}

impl Witnesses {
    async fn enter(&self, what: &Tracked) -> OwnedRwLockReadGuard<()> {
        self.of(what).read_owned().await
    }

    /// Waits until all those have seen it, or have gone.
    pub(crate) async fn gone(&self, what: &Tracked) -> OwnedRwLockWriteGuard<()> {
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

/// Somebody who may see how a run or a turn ends, until this is dropped.
pub(crate) struct Sight {
    daemon: Arc<Daemon>,
    what: Tracked,
    /// Only what the owner or the caller sees need not be told.
    counts: Option<OwnedRwLockReadGuard<()>>,
}

impl Daemon {
    /// From now on this requester is about to see how the run ends.
    pub(crate) async fn about_to_see(self: &Arc<Self>, row: &RunRow, who: &Requester) -> Sight {
        self.about_to_see_if(who.owns(row), Tracked::Run(row.ticket.run_id.clone())).await
    }

    /// From now on somebody is about to see how the turn ends; whether that counts is the caller's to say.
    pub(crate) async fn about_to_see_turn(self: &Arc<Self>, counts: bool, turn: &TurnId) -> Sight {
        self.about_to_see_if(counts, Tracked::Turn(turn.clone())).await
    }

    async fn about_to_see_if(self: &Arc<Self>, counts: bool, what: Tracked) -> Sight {
        let counts = if counts { Some(self.witnesses.enter(&what).await) } else { None };
        Sight { daemon: Arc::clone(self), what, counts }
    }
}

impl Sight {
    /// What is done once an answer was written, which said how it ended, or did not.
    pub(crate) fn of(self, ended: bool) -> Written {
        if !ended {
            return Written::default();
        }
        Written::then(move || drop(tokio::spawn(self.seen())))
    }

    /// The owner or the caller has seen the end.
    pub(crate) async fn seen(self) {
        if self.counts.is_none() {
            return;
        }
        pause::point("daemon-before-seen");
        if let Err(error) = self.acknowledge().await {
            tracing::error!(what = ?self.what, %error, "that an end was seen is not recorded");
        }
        pause::point("daemon-after-seen");
    }

    async fn acknowledge(&self) -> Result<(), Failed> {
        let registry = &self.daemon.registry;
        if let Tracked::Run(run) = &self.what {
            registry.acknowledge(run.clone()).await?;
        }
        registry.acknowledge_task(self.what.clone(), clock::unix_ms()).await.map(drop)
    }
}
