//! Tasks: `tasks` does what is asked of them. Every face comes here: HTTP, MCP and, over HTTP, the command line.

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use tenure_core::tools::tasks::{TasksReply, TasksRequest};

impl Daemon {
    /// Does what is asked of tasks.
    #[expect(clippy::unused_async, reason = "what it does comes next")]
    pub(crate) async fn tasks(
        self: &Arc<Self>,
        request: TasksRequest,
        _who: &Requester,
    ) -> Result<TasksReply, Refusal> {
        Err(Refusal::invalid(format!("{:?}", request.action)))
    }
}
