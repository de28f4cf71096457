//! The agent's tools, what people are asked before `exec` runs it, and what needs no asking.

use crate::{Client, Failed, escaped, no_such, to_json};
use hyper::{Method, Request};
use serde::Serialize;
use serde_json::json;
use tenure_core::api::{AllowRequest, Allowed, AllowedList, Approval, ApprovalList};
use tenure_core::ids::RunId;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{CLI_HEADER, ExecReply, ProcessReply, RUN_HEADER};

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It runs this time.
    AllowOnce,
    /// It runs, and needs no asking from now on.
    AllowAlways,
    /// It does not run.
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
    /// Runs a command line; answers when it has ended, or goes on in the background. Whoever stops waiting before ends it.
    ///
    /// The request is an `ExecRequest`, or JSON that the daemon is to judge. Its run gets this id; where there is one with it,
    /// that is gone on with.
    pub async fn exec(&self, request: &(impl Serialize + Sync), run: &RunId) -> Result<ExecReply, Failed> {
        let head = Request::builder().method(Method::POST).uri("/v1/exec").header(CLI_HEADER, "1");
        let head = head.header(RUN_HEADER, run.as_str());
        self.read(self.exchange(head, to_json(request)?).await?).await
    }

    /// Does something with commands that were started.
    ///
    /// The request is a `ProcessRequest`, or JSON that the daemon is to judge.
    pub async fn process(&self, request: &(impl Serialize + Sync)) -> Result<ProcessReply, Failed> {
        self.call(Method::POST, "/v1/process", request).await
    }

    /// Does something with sessions. A wait lasts at most `TURN_WAIT_MS`.
    ///
    /// A daemon from before `process` was known goes on until it is restarted: it is asked without, and starts agents from
    /// its own environment.
    pub async fn sessions(&self, request: &SessionsRequest) -> Result<SessionsReply, Failed> {
        match self.ask_sessions(request).await {
            Err(failed) if request.process.is_some() && knows_no_process(&failed) => {
                self.ask_sessions(&SessionsRequest { process: None, ..request.clone() }).await
            }
            answered => answered,
        }
    }

    async fn ask_sessions(&self, request: &SessionsRequest) -> Result<SessionsReply, Failed> {
        let head = Request::builder().method(Method::POST).uri("/v1/sessions").header(CLI_HEADER, "1");
        self.read(self.exchange(head, to_json(request)?).await?).await
    }

    /// Does something with tasks.
    pub async fn tasks(&self, request: &TasksRequest) -> Result<TasksReply, Failed> {
        self.call(Method::POST, "/v1/tasks", request).await
    }

    /// What people are asked about; with `all` also what was answered or has expired.
    pub async fn approvals(&self, all: bool) -> Result<ApprovalList, Failed> {
        self.get(&format!("/v1/approvals?all={all}")).await
    }

    /// Answers what a person is asked about, by a unique beginning of its id.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<Approval, Failed> {
        let path = format!("/v1/approvals/{}/{}", escaped(id), answer.word());
        self.call(Method::POST, &path, &json!({})).await
    }

    /// What needs no asking.
    pub async fn allowlist(&self) -> Result<AllowedList, Failed> {
        self.get("/v1/allowlist").await
    }

    /// Adds an entry to what needs no asking.
    pub async fn allow(&self, request: &AllowRequest) -> Result<Allowed, Failed> {
        self.call(Method::POST, "/v1/allowlist", request).await
    }

    /// Takes an entry out of what needs no asking.
    pub async fn disallow(&self, id: &str) -> Result<(), Failed> {
        if id.is_empty() {
            return Err(no_such("no-such-entry", "no entry has the id \"\": `tenure allowlist` lists them"));
        }
        self.call(Method::DELETE, &format!("/v1/allowlist/{}", escaped(id)), &json!({})).await
    }
}

/// Whether the daemon refused the field before it did anything.
fn knows_no_process(failed: &Failed) -> bool {
    matches!(failed, Failed::Refused(problem) if problem.status == 400 && problem.detail.contains("unknown field `process`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::api::Problem;

    #[test]
    fn a_daemon_of_before_is_told_from_one_that_refuses() {
        let refused = |status, detail: &str| {
            let (code, title) = ("bad-request".to_owned(), "Bad Request".to_owned());
            Failed::Refused(Problem { status, code, title, detail: detail.to_owned() })
        };
        let of_before = "the body is not understood: unknown field `process`, expected one of `action`";
        assert!(knows_no_process(&refused(400, of_before)));
        assert!(!knows_no_process(&refused(422, "process is for Tenure's own command line")));
        assert!(!knows_no_process(&refused(400, "the body is not understood: unknown field `proces`")));
    }
}
