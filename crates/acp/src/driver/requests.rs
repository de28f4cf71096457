//! The agent's open requests: starting the search for an answer, sending it, and cancelling.

use super::Driver;
use crate::conversation::{AgentRequest, ParsedRequest};
use crate::details;
use crate::host::{Host, Reply};
use crate::message::raw;
use crate::permission;
use crate::record::id_text;
use crate::schema::{RequestId, RequestPermissionOutcome, RequestPermissionResponse, SessionUpdate};
use serde_json::json;
use std::sync::Arc;
use tenure_core::session::Permissions;

impl<H: Host> Driver<H> {
    /// Answers a permission request with "cancelled", because its turn is being cancelled. Other requests keep waiting for
    /// their answers.
    pub(super) fn cancel_permission(&mut self, id: &RequestId) {
        let is_permission = self.conversation.asked().any(|asked| {
            asked.id == *id && asked.method == crate::schema::CLIENT_METHOD_NAMES.session_request_permission
        });
        if is_permission {
            let cancelled = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
            let told = Some(json!({ "outcome": "cancelled", "by": "cancel" }));
            self.answer(id, Reply { answer: Ok(raw(&cancelled)), told });
        }
    }

    /// Refuses permission requests whose tool call the agent changed while a person is asked: an approval would allow
    /// something that the person was not shown.
    pub(super) fn refuse_changed(&mut self, update: &SessionUpdate) {
        let (call, input, content) = match update {
            SessionUpdate::ToolCall(call) => (&call.tool_call_id, call.raw_input.as_ref(), &call.content[..]),
            SessionUpdate::ToolCallUpdate(update) => {
                let fields = &update.fields;
                (
                    &update.tool_call_id,
                    fields.raw_input.as_ref(),
                    fields.content.as_deref().unwrap_or_default(),
                )
            }
            _ => return,
        };
        let changed = |asked: &&AgentRequest| match asked.want() {
            ParsedRequest::Permission(wanted) => {
                wanted.tool_call.tool_call_id == *call && details::differs(&wanted, input, content)
            }
            _ => false,
        };
        for asked in self.agent_requests.questions.values().filter(changed).cloned().collect::<Vec<_>>() {
            let ParsedRequest::Permission(wanted) = asked.want() else { continue };
            let refusal = permission::decide(Permissions::DenyAll, &wanted, false);
            let outcome = refusal.outcome().unwrap_or(RequestPermissionOutcome::Cancelled);
            let told = Some(json!({ "outcome": "reject", "by": "the agent changed it before the answer" }));
            self.answer(&asked.id, Reply { answer: Ok(raw(&RequestPermissionResponse::new(outcome))), told });
            self.host.withdraw(&asked);
        }
    }

    /// Starts the host's task that answers a request.
    pub(super) fn start_answer(&mut self, asked: AgentRequest) {
        let (host, id) = (Arc::clone(&self.host), asked.id.clone());
        let task =
            self.agent_requests.replies.spawn(async move { (asked.id.clone(), host.answer(asked).await) });
        self.agent_requests.tasks.insert(id.clone(), task);
        if self.turn.is_cancelled {
            self.cancel_permission(&id);
        }
    }

    /// Sends the answer to a request, unless it is answered already.
    pub(super) fn answer(&mut self, id: &RequestId, reply: Reply) {
        self.agent_requests.questions.remove(id);
        if let Some(task) = self.agent_requests.tasks.remove(id) {
            task.abort();
        }
        if let Some(line) = self.conversation.answer(id, reply.answer) {
            if let Some(how) = reply.told {
                self.history.permitted(&id_text(id), how);
            }
            self.pending.step.answered.push(id_text(id));
            self.pending.step.lines.push((line, None));
            self.schedule_record(true);
        }
    }
}
