//! `process`: finds the run that is meant, as the one who asks may see it, and does what is asked.

use super::{end, input, list, log, poll};
use crate::daemon::Daemon;
use std::sync::Arc;
use tenure_core::ids::check_prefix;
use tenure_core::problem::Code;
use tenure_core::receipt::ToolReply;
use tenure_core::session::SessionKey;
use tenure_core::tools::{Action, ProcessReply, ProcessRequest};
use tenure_policy::approval_text::Pending;
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::session_key;

/// One call: which run, what is asked of it, and by whom.
pub(super) struct Call {
    pub(super) daemon: Arc<Daemon>,
    pub(super) row: RunRow,
    pub(super) request: ProcessRequest,
    pub(super) who: Requester,
}

impl Daemon {
    /// Does something with commands that were started.
    pub(crate) async fn process(
        self: &Arc<Self>,
        request: ProcessRequest,
        who: &Requester,
    ) -> Result<ToolReply<ProcessReply>, Refusal> {
        check_fields(&request)?;
        let session = session_key(request.session_key.as_ref())?;
        let who = who.acting_as(session.as_ref().map(SessionKey::as_str))?;
        if request.action == Action::List {
            return list::list(self, &request, &who).await.map(ToolReply::plain);
        }
        let Some(id) = &request.run_id else {
            return Err(Refusal::invalid("say which run: runId, as exec gave it or process list shows it"));
        };
        if matches!(request.action, Action::Kill | Action::Clear | Action::Remove) {
            check_prefix(id).map_err(Refusal::short_id)?;
        }
        let row = match self.supervisor.find(id, &who).await {
            Err(refusal) if refusal.code == Code::NoSuchRun => {
                match self.approvals.about_question(id, &request, &who).await? {
                    Pending::Unknown => return Err(no_such_run(id)),
                    Pending::Answer(reply) => return Ok(ToolReply::plain(*reply)),
                    Pending::Started => self.supervisor.find(id, &who).await?,
                }
            }
            found => found?,
        };
        let call = Call { daemon: Arc::clone(self), row, request, who };
        match call.request.action {
            Action::List => Err(Refusal::internal("list is about no run")),
            Action::Poll => poll::poll(call).await,
            Action::Log => log::log(call).await.map(ToolReply::plain),
            Action::Write => input::write(call).await.map(ToolReply::plain),
            Action::SendKeys => input::send_keys(call).await.map(ToolReply::plain),
            Action::Submit => input::submit(call).await.map(ToolReply::plain),
            Action::Paste => input::paste(call).await.map(ToolReply::plain),
            Action::Screen => input::screen(call).await.map(ToolReply::plain),
            Action::Resize => input::resize(call).await.map(ToolReply::plain),
            Action::Kill => end::kill(call).await,
            Action::Clear => end::clear(call).await.map(ToolReply::plain),
            Action::Remove => end::remove(call).await.map(ToolReply::plain),
        }
    }
}

fn no_such_run(id: &str) -> Refusal {
    let shown: String = id.chars().take(64).collect();
    Refusal::no_such_run(format!("no run has the id {shown:?}: process list shows those there are"))
}

/// A field that has no meaning for the action is a misunderstanding, and is named.
fn check_fields(request: &ProcessRequest) -> Result<(), Refusal> {
    use Action::{List, Log, Paste, Poll, Resize, SendKeys, Write};
    if request.limit == Some(0) {
        return Err(Refusal::invalid("limit is how many are shown: give 1 or more, or leave it out"));
    }
    let given: [(&str, bool, &[Action]); 13] = [
        ("data", request.data.is_some(), &[Write]),
        ("eof", request.eof.is_some(), &[Write]),
        ("keys", !request.keys.is_empty(), &[SendKeys]),
        ("hex", !request.hex.is_empty(), &[SendKeys]),
        ("literal", request.literal.is_some(), &[SendKeys]),
        ("text", request.text.is_some(), &[Paste]),
        ("bracketed", request.bracketed.is_some(), &[Paste]),
        ("offset", request.offset.is_some(), &[Log]),
        ("byteOffset", request.byte_offset.is_some(), &[Log]),
        ("limit", request.limit.is_some(), &[Log, List]),
        ("timeoutMs", request.timeout_ms.is_some(), &[Poll]),
        ("cols", request.cols.is_some(), &[Resize]),
        ("rows", request.rows.is_some(), &[Resize]),
    ];
    let name =
        |action: &Action| serde_json::to_value(action).ok().and_then(|it| it.as_str().map(str::to_owned));
    match given.into_iter().find(|(_, is_given, of)| *is_given && !of.contains(&request.action)) {
        None => Ok(()),
        Some((field, _, of)) => {
            let of: Vec<String> = of.iter().filter_map(name).collect();
            let action = name(&request.action).unwrap_or_default();
            Err(Refusal::invalid(format!("{field} is not for {action}: it is for {}", of.join(" and "))))
        }
    }
}
