//! The agent's tools over MCP, with the official SDK. What the tools do is behind [`Tools`]; nothing here knows a
//! process or a record.
#![forbid(unsafe_code)]

mod answered;

pub use answered::{Answered, Written};

use std::future::Future;
use tenure_core::api::Problem;
use tenure_core::tools::{ExecReply, ExecRequest, ProcessReply, ProcessRequest};

/// How far a command has come that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes of output there are.
    pub bytes: u64,
    /// The last line of it.
    pub line: String,
}

/// The tools of one client, who is bound to a session. A call whose future is dropped was given up: a command that it
/// waited for is ended.
pub trait Tools: Clone + Send + Sync + 'static {
    /// Runs a command line. `progress` is called now and then while it is waited for.
    fn exec(
        &self,
        request: ExecRequest,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> impl Future<Output = Result<Answered<ExecReply>, Problem>> + Send;

    /// Does something with commands that were started.
    fn process(
        &self,
        request: ProcessRequest,
    ) -> impl Future<Output = Result<Answered<ProcessReply>, Problem>> + Send;
}
