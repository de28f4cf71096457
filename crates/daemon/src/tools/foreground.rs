//! A command that somebody waits for: if they stop waiting, it is ended. That holds from the moment at which it is
//! recorded, and until it is said to go on without them.

use crate::asked::Asked;
use crate::daemon::Daemon;
use crate::held::Held;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// The one who waits. Dropped, it has stopped waiting.
pub(super) struct Foreground {
    daemon: Arc<Daemon>,
    phase: Phase,
}

enum Phase {
    Starting(JoinHandle<Result<Arc<Held>, Refusal>>),
    Started(Arc<Held>),
    Over,
}

impl Foreground {
    /// Starts the command, and waits until it executes or could not be.
    pub(super) async fn begin(
        daemon: &Arc<Daemon>,
        asked: Asked,
        who: &Requester,
    ) -> Result<(Self, Arc<Held>), Refusal> {
        let began = Instant::now();
        let entry = daemon.enter(&asked).await?;
        let (starter, asked_by) = (Arc::clone(daemon), who.to_string());
        let starting = tokio::spawn(async move { starter.begin(asked, entry, asked_by, None).await });
        let mut waiting = Self { daemon: Arc::clone(daemon), phase: Phase::Starting(starting) };
        let held = waiting.started().await?;
        daemon.settle_in(&held, began).await;
        Ok((waiting, held))
    }

    /// Somebody waits again for a command that was started before.
    pub(super) fn of(daemon: &Arc<Daemon>, held: Arc<Held>) -> Self {
        Self { daemon: Arc::clone(daemon), phase: Phase::Started(held) }
    }

    async fn started(&mut self) -> Result<Arc<Held>, Refusal> {
        let Phase::Starting(starting) = &mut self.phase else {
            return Err(Refusal::internal("it was started before"));
        };
        let started = starting.await.map_err(Refusal::internal).flatten();
        self.phase = match &started {
            Ok(held) => Phase::Started(Arc::clone(held)),
            Err(_) => Phase::Over,
        };
        started
    }

    /// It goes on without anybody who waits, or has ended.
    pub(super) fn release(mut self) {
        self.phase = Phase::Over;
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Starting(starting) => {
                let daemon = Arc::clone(&self.daemon);
                tokio::spawn(async move {
                    if let Ok(Ok(held)) = starting.await {
                        daemon.abort(&held);
                    }
                });
            }
            Phase::Started(held) => self.daemon.abort(&held),
            Phase::Over => {}
        }
    }
}

impl Daemon {
    /// Ends a command whose caller is gone. One whose daemon goes is left to the next.
    fn abort(self: &Arc<Self>, held: &Held) {
        if self.phase.borrow().leaves_runs() {
            return;
        }
        held.cancel(false);
        let telling =
            self.registry.tell(self.cancel_asked(&held.ticket, "its caller, who stopped waiting", false));
        let daemon = Arc::clone(self);
        tokio::spawn(async move { daemon.told(telling.await) });
    }
}
