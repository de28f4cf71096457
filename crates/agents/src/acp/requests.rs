//! Answers an agent's requests: permission, files below its session's directory, commands in terminals.

use super::host::AdapterHost;
use super::permission::Question;
use crate::Adapter as Description;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tenure_acp::conversation::{AgentRequest, ParsedRequest};
use tenure_acp::details::HISTORY_TEXT;
use tenure_acp::host::{Answer, Reply};
use tenure_acp::message::raw;
use tenure_acp::permission::{self, Decision};
use tenure_acp::schema::{
    Error, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    WriteTextFileRequest,
};
use tenure_core::api::ToolDetails;
use tenure_core::session::Permissions;
use tenure_core::visible;
use tenure_os::file;
use tenure_supervisor::sync::lock;

/// Permissions of an agent, and their directory.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) permissions: Permissions,
    /// Directory that contains the agent's files.
    pub(crate) root: PathBuf,
    /// Description of the adapter. Its terminals get the same environment.
    pub(crate) description: Description,
}

impl Bounds {
    pub(crate) fn asks_person(&self) -> bool {
        self.permissions == Permissions::Ask
    }
}

/// Operation that an agent requests from Tenure without a permission request.
pub(crate) struct Operation {
    /// Description in words.
    pub(crate) title: String,
    /// Details for the person who decides.
    pub(crate) details: ToolDetails,
    /// Working directory; `None` means the session's.
    pub(crate) cwd: Option<String>,
    /// Variables of a command.
    pub(crate) env: BTreeMap<String, String>,
    /// True if the operation changes nothing.
    pub(crate) only_looks: bool,
}

impl Operation {
    /// Describes an operation on a file.
    fn with_file(verb: &str, path: &Path) -> Self {
        let path = path.display().to_string();
        Self {
            title: format!("{verb} {path}"),
            details: ToolDetails { kind: Some(verb.to_owned()), paths: vec![path], ..ToolDetails::default() },
            cwd: None,
            env: BTreeMap::new(),
            only_looks: verb == "read",
        }
    }
}

impl AdapterHost {
    /// Carries out a request of the agent and returns the reply.
    pub(crate) async fn reply_to(&self, asked: AgentRequest) -> Reply {
        match asked.want() {
            ParsedRequest::Permission(wanted) => self.permit(&asked, &wanted).await,
            ParsedRequest::ReadFile(wanted) => {
                let operation = Operation::with_file("read", &wanted.path);
                self.if_permitted(&asked, &operation, self.read_file(wanted)).await
            }
            ParsedRequest::WriteFile(wanted) => {
                if self.takes_grant(&wanted).await {
                    return self.write_file(wanted).await.into();
                }
                let mut operation = Operation::with_file("write", &wanted.path);
                if self.bounds.asks_person() {
                    operation.details.diffs = vec![self.change_of(&wanted).await];
                }
                self.if_permitted(&asked, &operation, self.write_file(wanted)).await
            }
            ParsedRequest::CreateTerminal(mut wanted) => {
                // Resolved before the question: a link in the path may change before a person answers.
                if let Some(real) = wanted.cwd.as_ref().and_then(|cwd| file::real(cwd).ok()) {
                    wanted.cwd = Some(real);
                }
                let operation = match self.terminal_operation(&wanted) {
                    Ok(operation) => operation,
                    Err(refusal) => return Reply::from(Err(refused(refusal.detail))),
                };
                self.if_permitted(&asked, &operation, self.create_terminal(&asked, wanted)).await
            }
            ParsedRequest::TerminalOutput(wanted) => self.terminal_output(&wanted.terminal_id.0).await.into(),
            ParsedRequest::WaitForExit(wanted) => self.wait_for_exit(&wanted.terminal_id.0).await.into(),
            ParsedRequest::KillTerminal(wanted) => self.kill_terminal(&wanted.terminal_id.0).await.into(),
            ParsedRequest::ReleaseTerminal(wanted) => {
                self.release_terminal(&wanted.terminal_id.0).await.into()
            }
            ParsedRequest::Nothing(error) => Reply::from(Err(error)),
        }
    }

    /// Returns true if a person has allowed this change of a file.
    async fn takes_grant(&self, wanted: &WriteTextFileRequest) -> bool {
        if !lock(&self.write_grants).may_allow(&wanted.path) {
            return false;
        }
        let old = self.text_of(&wanted.path).await;
        lock(&self.write_grants).take(&wanted.path, &old, &wanted.content)
    }

    /// Answers a request for permission.
    async fn permit(&self, asked: &AgentRequest, wanted: &RequestPermissionRequest) -> Reply {
        let (decision, by) = match permission::decide(self.bounds.permissions, wanted, false) {
            Decision::Ask => {
                let answered =
                    self.ask_person(asked.consequence(self.run()), &Question::of_request(wanted)).await;
                if let Some(option) = &answered.option {
                    lock(&self.write_grants).record_choice(wanted, option);
                }
                let decision = answered.option.and_then(|option| permission::chosen(wanted, &option));
                // Without a valid choice, takes the agent's reject option: a cancelled outcome would end its turn.
                let refusal = || permission::decide(Permissions::DenyAll, wanted, false);
                (decision.unwrap_or_else(refusal), answered.by)
            }
            decision => (decision, self.bounds.permissions.word().to_owned()),
        };
        let outcome = decision.outcome().unwrap_or(RequestPermissionOutcome::Cancelled);
        let chosen = match &outcome {
            RequestPermissionOutcome::Selected(selected) => selected.option_id.0.to_string(),
            _ => "cancelled".to_owned(),
        };
        let answer = Ok(raw(&RequestPermissionResponse::new(outcome)));
        Reply { answer, told: Some(json!({ "outcome": chosen, "by": by })) }
    }

    /// Carries out an operation if it is permitted. A decision by a person, and every rejection, goes into the history.
    async fn if_permitted(
        &self,
        asked: &AgentRequest,
        operation: &Operation,
        doing: impl Future<Output = Answer>,
    ) -> Reply {
        let (allowed, by) = match self.bounds.permissions {
            Permissions::ApproveAll => return doing.await.into(),
            Permissions::ApproveReads | Permissions::Ask if operation.only_looks => {
                return doing.await.into();
            }
            Permissions::ApproveReads => (false, Permissions::ApproveReads.word().to_owned()),
            Permissions::DenyAll => (false, Permissions::DenyAll.word().to_owned()),
            Permissions::Ask => {
                let answered =
                    self.ask_person(asked.consequence(self.run()), &Question::of_operation(operation)).await;
                (answered.option.as_deref() == Some("allow"), answered.by)
            }
        };
        let outcome = if allowed { "allow" } else { "reject" };
        let title = visible::cut(&operation.title, HISTORY_TEXT);
        let details = operation.details.cut(HISTORY_TEXT);
        let told = Some(json!({ "tool": title, "details": details, "outcome": outcome, "by": by }));
        let answer = if allowed { doing.await } else { Err(not_permitted(&operation.title, &by)) };
        Reply { answer, told }
    }
}

fn not_permitted(what: &str, by: &str) -> Error {
    refused(format!("permission denied ({by}): {what}"))
}

/// Returns an error for the agent with this message.
pub(crate) fn refused(why: impl Into<String>) -> Error {
    Error::new(-32000, why)
}
