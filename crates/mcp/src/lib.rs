//! The agent's tools over MCP, with the official SDK. [`Tools`] does the work; nothing here knows a process or a
//! record. A single client is served over a stream ([`serve_stream`]), or many over HTTP ([`service`]).
#![forbid(unsafe_code)]

mod call;
mod catalog;
mod handle;
mod http;
mod outflow;
mod receipts;
mod reply_text;
mod schema;
mod server;
mod stream;
mod structured;

pub use handle::Handle;
pub use http::{Receipted, Service, service};
pub use outflow::{Outflow, Watched};
pub use stream::serve_stream;

use std::future::Future;
use std::time::Duration;
use tenure_core::api::Problem;
use tenure_core::receipt::ToolReply;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_core::tools::{ExecReply, ExecRequest, ProcessReply, ProcessRequest};

/// The progress of a command that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The size of the output.
    pub bytes: u64,
    /// The last line of the output.
    pub line: String,
}

/// The terms of a client's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The time that `exec` waits for a command, unless the call says otherwise.
    pub yield_after: Duration,
    /// True if live commands are ended when the client disconnects.
    pub ends: bool,
}

/// The tools of one client, which is bound to a session. Dropping a call's future gives the call up: a command that
/// it waited for is ended. When the last clone is dropped, the client is gone.
pub trait Tools: Clone + Send + Sync + 'static {
    /// Returns the terms of the client's commands.
    fn terms(&self) -> Terms;

    /// Runs a command line. `progress` is called from time to time while the command is waited for.
    fn exec(
        &self,
        request: ExecRequest,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> impl Future<Output = Result<ToolReply<ExecReply>, Problem>> + Send;

    /// Manages commands that were started.
    fn process(
        &self,
        request: ProcessRequest,
    ) -> impl Future<Output = Result<ToolReply<ProcessReply>, Problem>> + Send;

    /// Manages sessions, as the client's own. Giving up a wait ends no turn.
    fn sessions(
        &self,
        request: SessionsRequest,
    ) -> impl Future<Output = Result<ToolReply<SessionsReply>, Problem>> + Send;

    /// Manages tasks, as the client's own session.
    fn tasks(&self, request: TasksRequest) -> impl Future<Output = Result<TasksReply, Problem>> + Send;

    /// Tells that the client is ready: from now on it can receive messages.
    fn connected(&self, _client: Handle) {}
}
