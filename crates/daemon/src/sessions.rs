//! Sessions: `sessions` does what is to be done with them. Every face comes here: HTTP, MCP and, over HTTP, the command
//! line.

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use tenure_core::tools::sessions::{SessionsReply, SessionsRequest};

impl Daemon {
    /// Does what is to be done with sessions.
    #[expect(clippy::unused_async, reason = "what it does comes next")]
    pub(crate) async fn sessions(
        self: &Arc<Self>,
        request: SessionsRequest,
        _who: &Requester,
    ) -> Result<SessionsReply, Refusal> {
        Err(Refusal::invalid(format!("{:?}", request.action)))
    }
}
