//! `process`: finds the run, if the requester may see it, and executes the action.

use super::call::{ProcessCall, RunAction};
use super::{end, input, list, log, poll};
use crate::daemon::Daemon;
use std::sync::Arc;
use tenure_core::problem::Code;
use tenure_core::receipt::ToolReply;
use tenure_core::session::SessionKey;
use tenure_core::tools::{ProcessReply, ProcessRequest};
use tenure_policy::approval_text::{Pending, PendingAction};
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::session_key;

/// A run that the requester may see.
pub(super) struct FoundRun {
    pub(super) daemon: Arc<Daemon>,
    pub(super) row: RunRow,
    pub(super) who: Requester,
}

impl Daemon {
    /// Executes a request of the `process` tool.
    pub(crate) async fn process(
        self: &Arc<Self>,
        request: ProcessRequest,
        who: &Requester,
    ) -> Result<ToolReply<ProcessReply>, Refusal> {
        let named = request.session_key.clone();
        let call = ProcessCall::read(request)?;
        let session = session_key(named.as_ref())?;
        let who = who.acting_as(session.as_ref().map(SessionKey::as_str))?;
        let (id, action) = match call {
            ProcessCall::List { limit } => {
                return list::list(self, limit, &who).await.map(ToolReply::plain);
            }
            ProcessCall::OfRun { id, action } => (id, action),
        };
        let row = match self.supervisor.find(&id, &who).await {
            Err(refusal) if refusal.code == Code::NoSuchRun => {
                let effect = action.as_ref().map_or(PendingAction::Other, RunAction::on_pending);
                match self.approvals.process_pending(&id, effect, &who).await? {
                    Pending::Unknown => return Err(no_such_run(&id)),
                    Pending::Answer(reply) => return Ok(ToolReply::plain(*reply)),
                    Pending::Started => self.supervisor.find(&id, &who).await?,
                }
            }
            found => found?,
        };
        let run = FoundRun { daemon: Arc::clone(self), row, who };
        let done = match action? {
            RunAction::Poll { timeout_ms } => return poll::poll(run, timeout_ms).await,
            RunAction::Kill => return end::kill(run).await,
            RunAction::Log(part) => log::log(run, part).await,
            RunAction::Write { data, eof } => input::write(run, &data, eof).await,
            RunAction::SendKeys { literal, hex, keys } => {
                input::send_keys(run, literal.as_deref(), &hex, &keys).await
            }
            RunAction::Submit => input::submit(run).await,
            RunAction::Paste { text, bracketed } => input::paste(run, &text, bracketed).await,
            RunAction::Screen => input::screen(run).await,
            RunAction::Resize(size) => input::resize(run, size).await,
            RunAction::Clear => end::clear(run).await,
            RunAction::Remove => end::remove(run).await,
        };
        done.map(ToolReply::plain)
    }
}

fn no_such_run(id: &str) -> Refusal {
    let shown: String = id.chars().take(64).collect();
    Refusal::no_such_run(format!("no run has the id {shown:?}: list runs with process list"))
}
