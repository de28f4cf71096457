//! A command that somebody waits for: if they stop waiting, it is ended. That holds from the moment at which it is
//! recorded, and until it is said to go on without them.

use crate::Refusal;
use crate::Requester;
use crate::RunHandle;
use crate::start_request::StartRequest;
use crate::supervisor::Supervisor;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// The one who waits. Dropped, it has stopped waiting.
pub struct Foreground {
    supervisor: Arc<Supervisor>,
    phase: Phase,
}

enum Phase {
    Starting(JoinHandle<Result<Arc<RunHandle>, Refusal>>),
    Started(Arc<RunHandle>),
    Over,
}

impl Foreground {
    /// Starts the command, and waits until it executes or could not be.
    pub async fn begin(
        supervisor: &Arc<Supervisor>,
        request: StartRequest,
        who: &Requester,
    ) -> Result<(Self, Arc<RunHandle>), Refusal> {
        let began = Instant::now();
        let admitted = supervisor.enter(&request).await?;
        let (starter, asked_by) = (Arc::clone(supervisor), who.to_string());
        let starting = tokio::spawn(async move { starter.begin(request, admitted, asked_by, None).await });
        let mut waiting = Self { supervisor: Arc::clone(supervisor), phase: Phase::Starting(starting) };
        let held = waiting.started().await?;
        supervisor.settle_in(&held, began).await;
        Ok((waiting, held))
    }

    /// Somebody waits again for a command that was started before.
    pub fn of(supervisor: &Arc<Supervisor>, held: Arc<RunHandle>) -> Self {
        Self { supervisor: Arc::clone(supervisor), phase: Phase::Started(held) }
    }

    async fn started(&mut self) -> Result<Arc<RunHandle>, Refusal> {
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
    pub fn release(mut self) {
        self.phase = Phase::Over;
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Starting(starting) => {
                let supervisor = Arc::clone(&self.supervisor);
                tokio::spawn(async move {
                    if let Ok(Ok(held)) = starting.await {
                        abort(&supervisor, &held);
                    }
                });
            }
            Phase::Started(held) => abort(&self.supervisor, &held),
            Phase::Over => {}
        }
    }
}

/// Ends a command whose caller is gone. One whose daemon goes is left to the next.
fn abort(supervisor: &Arc<Supervisor>, held: &RunHandle) {
    if supervisor.lifecycle.phase.borrow().leaves_runs() {
        return;
    }
    held.cancel(false);
    let telling = supervisor.registry.tell(supervisor.cancel_asked(
        &held.ticket,
        "its caller, who stopped waiting",
        false,
    ));
    let supervisor = Arc::clone(supervisor);
    tokio::spawn(async move { supervisor.told(telling.await) });
}
