//! Asks a person about an agent's permission request: an approval request with the options that the agent offers. It is
//! recorded with its answer, so the next daemon continues to wait for it, or finds it answered.

use super::host::AdapterHost;
use super::requests::Operation;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tenure_acp::details::{APPROVAL_TEXT, details, headline};
use tenure_acp::permission::offered;
use tenure_acp::schema::RequestPermissionRequest;
use tenure_core::api::{PermissionJson, ToolDetails};
use tenure_core::ids::RunId;
use tenure_core::visible::cut;
use tenure_os::clock;
use tenure_policy::approvals::Permission;
use tenure_store::{ApprovalRow, ApprovalState, NewApproval, kind};
use tenure_supervisor::Refusal;
use tokio::time::{sleep, timeout};

/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Maximum length of a text in an event, in bytes.
const EVENT_TEXT: usize = 4 << 10;

/// The question to a person.
pub(crate) struct Question {
    title: String,
    details: ToolDetails,
    /// The working directory; the session's if there is none.
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    options: Vec<PermissionJson>,
}

impl Question {
    pub(crate) fn of_request(request: &RequestPermissionRequest) -> Self {
        let fields = &request.tool_call.fields;
        let title = fields.title.as_deref().unwrap_or("use an unnamed tool");
        let details = details(fields, APPROVAL_TEXT);
        Self {
            title: headline(title, &details),
            details,
            cwd: None,
            env: BTreeMap::new(),
            options: offered(request),
        }
    }

    /// Asks about an operation that the agent requests from Tenure without a permission request.
    pub(crate) fn of_operation(operation: &Operation) -> Self {
        let option = |id: &str, kind: &str| PermissionJson {
            id: id.to_owned(),
            name: id.to_owned(),
            kind: kind.to_owned(),
        };
        Self {
            title: cut(&operation.title, APPROVAL_TEXT).into_owned(),
            details: operation.details.cut(APPROVAL_TEXT),
            cwd: operation.cwd.clone(),
            env: operation.env.clone(),
            options: vec![option("allow", "allow_once"), option("reject", "reject_once")],
        }
    }
}

/// The answer of a person: one of the options, or none.
pub(crate) struct PersonAnswer {
    pub(crate) option: Option<String>,
    pub(crate) by: String,
}

impl AdapterHost {
    /// Asks a person, unless an earlier daemon did, and waits for the answer or the expiry.
    pub(crate) async fn ask_person(&self, id: RunId, question: &Question) -> PersonAnswer {
        let agents = &self.agents;
        loop {
            let mut changes = agents.supervisor.events.changes();
            match self.approval(&id, question).await {
                Ok(row) if row.state == ApprovalState::Pending => {
                    let left = row.approval.expires_at_ms.saturating_sub(clock::unix_ms()) + 1;
                    // Checks again after any event, or when it expires.
                    let _ = timeout(Duration::from_millis(left), changes.changed()).await;
                }
                Ok(row) => {
                    let option = Permission::read(&row).and_then(|it| it.chosen);
                    let by = match row.state {
                        ApprovalState::Expired => "nobody answered in time".to_owned(),
                        _ => row.answered_by.unwrap_or_else(|| "somebody".to_owned()),
                    };
                    return PersonAnswer { option, by };
                }
                Err(refusal) => {
                    tracing::warn!(question = %id, why = refusal.detail, "approval request not recorded, retrying");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Returns the approval request; records it if it is new.
    async fn approval(&self, id: &RunId, question: &Question) -> Result<ApprovalRow, Refusal> {
        let agents = &self.agents;
        agents.approvals.expire().await?;
        if let Some(row) = agents.supervisor.registry.approval(id.clone()).await? {
            return Ok(row);
        }
        let now = clock::unix_ms();
        let permission = Permission {
            title: question.title.clone(),
            cwd: question.cwd.clone().unwrap_or_else(|| self.bounds.root.display().to_string()),
            details: question.details.clone(),
            env: question.env.clone(),
            env_names: question.env.keys().cloned().collect(),
            options: question.options.clone(),
            chosen: None,
        };
        let time_limit_ms =
            u64::try_from(agents.supervisor.settings.exec.approval.as_millis()).unwrap_or(u64::MAX / 2);
        let approval = NewApproval {
            id: id.clone(),
            created_at_ms: now,
            expires_at_ms: now.saturating_add(time_limit_ms),
            instance: agents.supervisor.instance.clone(),
            session: Some(self.key.to_string()),
            asked: permission.recorded(),
        };
        agents.supervisor.registry.ask_person(approval).await?;
        let detail = json!({
            "command": cut(&question.title, EVENT_TEXT),
            "details": question.details.cut(EVENT_TEXT),
            "why": "the agent asks for permission",
        });
        agents.approvals.tell_of(id, Some(self.key.to_string()), kind::APPROVAL_ASKED, detail).await;
        let row = agents.supervisor.registry.approval(id.clone()).await?;
        row.ok_or_else(|| Refusal::internal("the approval request is gone"))
    }
}
