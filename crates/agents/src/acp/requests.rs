//! What an agent wants of us, and what it gets: permission, files below its session's directory, commands in terminals.

use super::host::Hosting;
use super::permission::Question;
use crate::Adapter as Description;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tenure_acp::conversation::{Asked, Want};
use tenure_acp::details::TOLD;
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

/// What an agent may do, and where.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) permissions: Permissions,
    /// Below which directory its files are.
    pub(crate) root: PathBuf,
    /// Its description: its commands get what it has.
    pub(crate) description: Description,
}

impl Bounds {
    pub(crate) fn asks_somebody(&self) -> bool {
        self.permissions == Permissions::Ask
    }
}

/// Something that an agent does by us, without having asked.
pub(crate) struct Deed {
    /// In words.
    pub(crate) title: String,
    /// The details that a person has to see.
    pub(crate) details: ToolDetails,
    /// The working directory; the session's if there is none.
    pub(crate) cwd: Option<String>,
    /// The variables of a command.
    pub(crate) env: BTreeMap<String, String>,
    /// Whether it changes nothing.
    pub(crate) only_looks: bool,
}

impl Deed {
    /// An operation on a file.
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

impl Hosting {
    /// What the agent is answered.
    pub(crate) async fn satisfy(&self, asked: Asked) -> Reply {
        match asked.want() {
            Want::Permission(wanted) => self.permit(&asked, &wanted).await,
            Want::ReadFile(wanted) => {
                let deed = Deed::with_file("read", &wanted.path);
                self.if_permitted(&asked, &deed, self.read_file(wanted)).await
            }
            Want::WriteFile(wanted) => {
                if self.was_allowed(&wanted).await {
                    return self.write_file(wanted).await.into();
                }
                let mut deed = Deed::with_file("write", &wanted.path);
                if self.bounds.asks_somebody() {
                    deed.details.diffs = vec![self.change_of(&wanted).await];
                }
                self.if_permitted(&asked, &deed, self.write_file(wanted)).await
            }
            Want::CreateTerminal(mut wanted) => {
                // A link in the path may lead elsewhere by the time a person has allowed it.
                if let Some(real) = wanted.cwd.as_ref().and_then(|cwd| file::real(cwd).ok()) {
                    wanted.cwd = Some(real);
                }
                let deed = match self.terminal_deed(&wanted) {
                    Ok(deed) => deed,
                    Err(refusal) => return Reply::from(Err(refused(refusal.detail))),
                };
                self.if_permitted(&asked, &deed, self.create_terminal(&asked, wanted)).await
            }
            Want::TerminalOutput(wanted) => self.terminal_output(&wanted.terminal_id.0).await.into(),
            Want::WaitForExit(wanted) => self.wait_for_exit(&wanted.terminal_id.0).await.into(),
            Want::KillTerminal(wanted) => self.kill_terminal(&wanted.terminal_id.0).await.into(),
            Want::ReleaseTerminal(wanted) => self.release_terminal(&wanted.terminal_id.0).await.into(),
            Want::Nothing(error) => Reply::from(Err(error)),
        }
    }

    /// Returns true if a person was shown this change of a file and has allowed it.
    async fn was_allowed(&self, wanted: &WriteTextFileRequest) -> bool {
        if !lock(&self.allowed).knows(&wanted.path) {
            return false;
        }
        let old = self.text_of(&wanted.path).await;
        lock(&self.allowed).takes(&wanted.path, &old, &wanted.content)
    }

    /// Answers a request for permission.
    async fn permit(&self, asked: &Asked, wanted: &RequestPermissionRequest) -> Reply {
        let (decision, by) = match permission::decide(self.bounds.permissions, wanted, false) {
            Decision::Ask => {
                let answered =
                    self.ask_person(asked.consequence(self.run()), &Question::of_request(wanted)).await;
                if let Some(option) = &answered.option {
                    lock(&self.allowed).chosen(wanted, option);
                }
                let decision = answered.option.and_then(|option| permission::chosen(wanted, &option));
                // Nobody said yes: what the agent offers as a no is it, rather than the end of its turn.
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

    /// Does what an agent has us do, if that is permitted. What was not is told in the history.
    async fn if_permitted(&self, asked: &Asked, deed: &Deed, doing: impl Future<Output = Answer>) -> Reply {
        let (allowed, by) = match self.bounds.permissions {
            Permissions::ApproveAll => return doing.await.into(),
            Permissions::ApproveReads | Permissions::Ask if deed.only_looks => return doing.await.into(),
            Permissions::ApproveReads => (false, Permissions::ApproveReads.word().to_owned()),
            Permissions::DenyAll => (false, Permissions::DenyAll.word().to_owned()),
            Permissions::Ask => {
                let answered = self.ask_person(asked.consequence(self.run()), &Question::of_deed(deed)).await;
                (answered.option.as_deref() == Some("allow"), answered.by)
            }
        };
        let outcome = if allowed { "allow" } else { "reject" };
        let title = visible::cut(&deed.title, TOLD);
        let details = deed.details.cut(TOLD);
        let told = Some(json!({ "tool": title, "details": details, "outcome": outcome, "by": by }));
        let answer = if allowed { doing.await } else { Err(not_permitted(&deed.title, &by)) };
        Reply { answer, told }
    }
}

fn not_permitted(what: &str, by: &str) -> Error {
    refused(format!("to {what} is not permitted ({by})"))
}

/// An error that says so to the agent.
pub(crate) fn refused(why: impl Into<String>) -> Error {
    Error::new(-32000, why)
}
