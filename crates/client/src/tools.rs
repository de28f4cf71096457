//! The agent's tools, approval requests, and the allowlist.

use crate::{CallError, Client, not_found_error, percent_encode, to_json};
use hyper::{Method, Request};
use serde::Serialize;
use serde_json::json;
use tenure_core::api::{AllowRequest, Allowed, AllowedList, Approval, ApprovalList};
use tenure_core::ids::RunId;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{CLI_HEADER, ExecReply, ProcessReply, RUN_HEADER};

/// Answer to an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Runs the command this time.
    AllowOnce,
    /// Runs the command, and adds it to the allowlist.
    AllowAlways,
    /// Refuses the command.
    Deny,
}

impl Answer {
    fn word(self) -> &'static str {
        match self {
            Answer::AllowOnce => "allow-once",
            Answer::AllowAlways => "allow-always",
            Answer::Deny => "deny",
        }
    }
}

impl Client {
    /// Runs a command line. Returns when it has ended or continues in the background. A caller that closes the connection
    /// before that ends the command.
    ///
    /// The request is an `ExecRequest`, or JSON that the daemon validates. The run gets this id; if a run has it already, the
    /// call continues with that run.
    pub async fn exec(&self, request: &(impl Serialize + Sync), run: &RunId) -> Result<ExecReply, CallError> {
        let head = Request::builder().method(Method::POST).uri("/v1/exec").header(CLI_HEADER, "1");
        let head = head.header(RUN_HEADER, run.as_str());
        self.read(self.exchange(head, to_json(request)?).await?).await
    }

    /// Manages commands that were started by exec.
    ///
    /// The request is a `ProcessRequest`, or JSON that the daemon validates.
    pub async fn process(&self, request: &(impl Serialize + Sync)) -> Result<ProcessReply, CallError> {
        self.call(Method::POST, "/v1/process", request).await
    }

    /// Manages sessions. A wait lasts at most `TURN_WAIT_MS`.
    ///
    /// An older daemon does not know the field `process`: the request is repeated without it, and the daemon starts agents
    /// with its own environment.
    pub async fn sessions(&self, request: &SessionsRequest) -> Result<SessionsReply, CallError> {
        match self.ask_sessions(request).await {
            Err(failed) if request.process.is_some() && refuses_process_field(&failed) => {
                self.ask_sessions(&SessionsRequest { process: None, ..request.clone() }).await
            }
            answered => answered,
        }
    }

    async fn ask_sessions(&self, request: &SessionsRequest) -> Result<SessionsReply, CallError> {
        let head = Request::builder().method(Method::POST).uri("/v1/sessions").header(CLI_HEADER, "1");
        self.read(self.exchange(head, to_json(request)?).await?).await
    }

    /// Manages tasks.
    pub async fn tasks(&self, request: &TasksRequest) -> Result<TasksReply, CallError> {
        self.call(Method::POST, "/v1/tasks", request).await
    }

    /// Returns the open approval requests; with `all` also those that were answered or have expired.
    pub async fn approvals(&self, all: bool) -> Result<ApprovalList, CallError> {
        self.get(&format!("/v1/approvals?all={all}")).await
    }

    /// Answers an approval request, by its id or a unique prefix of it.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<Approval, CallError> {
        self.call(Method::POST, &approval_path(id, answer.word())?, &json!({})).await
    }

    /// Returns the allowlist.
    pub async fn allowlist(&self) -> Result<AllowedList, CallError> {
        self.get("/v1/allowlist").await
    }

    /// Adds an entry to the allowlist.
    pub async fn allow(&self, request: &AllowRequest) -> Result<Allowed, CallError> {
        self.call(Method::POST, "/v1/allowlist", request).await
    }

    /// Removes an entry from the allowlist.
    pub async fn disallow(&self, id: &str) -> Result<(), CallError> {
        if id.is_empty() {
            return Err(not_found_error(
                "no-such-entry",
                "no entry has the id \"\": `tenure allowlist` lists them",
            ));
        }
        self.call(Method::DELETE, &format!("/v1/allowlist/{}", percent_encode(id)), &json!({})).await
    }
}

/// Path of an answer to an approval request. An empty id would make the path of another resource.
pub(crate) fn approval_path(id: &str, answer: &str) -> Result<String, CallError> {
    if id.is_empty() {
        let detail = "no approval request has the id \"\": `tenure approvals list` lists them";
        // A request has the id of the run that it is about.
        return Err(not_found_error("no-such-run", detail));
    }
    Ok(format!("/v1/approvals/{}/{answer}", percent_encode(id)))
}

/// Returns true if the daemon refused the field `process`, before it did anything.
fn refuses_process_field(failed: &CallError) -> bool {
    matches!(failed, CallError::Refused(problem) if problem.status == 400 && problem.detail.contains("unknown field `process`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::api::Problem;

    #[test]
    fn an_empty_approval_id_is_refused_without_a_request() {
        let refused = approval_path("", "deny").expect_err("an empty id");
        assert_eq!(refused.code(), Some("no-such-run"));
        assert!(refused.to_string().starts_with("no approval request has the id \"\""), "{refused}");
        assert_eq!(approval_path("3f2", "deny").expect("a path"), "/v1/approvals/3f2/deny");
    }

    #[test]
    fn only_an_older_daemon_is_asked_again_without_the_field() {
        let refused = |status, detail: &str| {
            let (code, title) = ("bad-request".to_owned(), "Bad Request".to_owned());
            CallError::Refused(Problem { status, code, title, detail: detail.to_owned() })
        };
        let of_before = "the body is not understood: unknown field `process`, expected one of `action`";
        assert!(refuses_process_field(&refused(400, of_before)));
        assert!(!refuses_process_field(&refused(422, "process is for Tenure's own command line")));
        assert!(!refuses_process_field(&refused(400, "the body is not understood: unknown field `proces`")));
    }
}
