//! The agent's tools over MCP, with the official SDK. What the tools do is behind [`Tools`]; nothing here knows a
//! process or a record. One client is served over a stream ([`serve_stream`]) or each of many over HTTP
//! ([`service`]).
#![forbid(unsafe_code)]

mod answered;
mod call;
mod catalog;
mod handle;
mod http;
mod lean;
mod outflow;
mod receipts;
mod say;
mod schema;
mod server;
mod stream;

pub use answered::{Answered, Written};
pub use handle::Handle;
pub use http::{Receipted, Service, service};
pub use outflow::{Outflow, Watched};
pub use stream::serve_stream;

use std::future::Future;
use std::time::Duration;
use tenure_core::api::Problem;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{ExecReply, ExecRequest, ProcessReply, ProcessRequest};

/// How far a command has come that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes of output there are.
    pub bytes: u64,
    /// The last line of it.
    pub line: String,
}

/// What holds for a client's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long `exec` waits for a command, unless the call says otherwise.
    pub yield_after: Duration,
    /// Whether what still runs is ended when the client leaves.
    pub ends: bool,
}

/// The tools of one client, who is bound to a session. A call whose future is dropped was given up: a command that it
/// waited for is ended. When the last clone is dropped, the client is gone.
pub trait Tools: Clone + Send + Sync + 'static {
    /// What the client is told of its commands.
    fn terms(&self) -> Terms;

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

    /// Does something with sessions, as the client's own. A wait that is given up ends no turn.
    fn sessions(
        &self,
        request: SessionsRequest,
    ) -> impl Future<Output = Result<Answered<SessionsReply>, Problem>> + Send;

    /// Does something with tasks, as the client's own session.
    fn tasks(&self, request: TasksRequest) -> impl Future<Output = Result<TasksReply, Problem>> + Send;

    /// The client is ready: from now on it can be told things unasked.
    fn connected(&self, _client: Handle) {}
}
