//! Commands with a waiting caller: if the caller stops waiting, the command is cancelled. That holds from the moment
//! the run is recorded until `release`.

use crate::Refusal;
use crate::Requester;
use crate::RunHandle;
use crate::start_request::StartRequest;
use crate::supervisor::Supervisor;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// The waiting caller. Dropping it cancels the command.
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
    /// Starts the command, and waits until it executes or has failed to.
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
        supervisor.wait_until_started(&held, began).await;
        Ok((waiting, held))
    }

    /// Waits again for a command that was started before.
    pub fn of(supervisor: &Arc<Supervisor>, held: Arc<RunHandle>) -> Self {
        Self { supervisor: Arc::clone(supervisor), phase: Phase::Started(held) }
    }

    async fn started(&mut self) -> Result<Arc<RunHandle>, Refusal> {
        let Phase::Starting(starting) = &mut self.phase else {
            return Err(Refusal::internal("the command was already started"));
        };
        let started = starting.await.map_err(Refusal::internal).flatten();
        self.phase = match &started {
            Ok(held) => Phase::Started(Arc::clone(held)),
            Err(_) => Phase::Over,
        };
        started
    }

    /// Lets the command continue without a caller, or notes that it has ended.
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

/// Cancels a command whose caller is gone. If the daemon shuts down, the next daemon takes the command.
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
