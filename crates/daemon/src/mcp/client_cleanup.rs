//! Cleanup after MCP clients. A session that was created for a client is closed and discarded with everything that it owns. Of
//! a session that the client named, only the runs are ended.

use crate::daemon::Daemon;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::sessions::CloseReason;
use tenure_core::api::Selector;
use tenure_core::session::{SessionKey, SessionState};
use tenure_core::tools::MCP_SESSION;
use tenure_settings::OnLeave;
use tenure_store::SessionQuery;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Time that clients of an earlier daemon have to reconnect.
const RECONNECT_TIME: Duration = Duration::from_secs(60);
/// Number of sessions per page.
const BATCH: usize = 500;

impl Daemon {
    /// Ends the approval requests and runs of a session without clients.
    pub(super) async fn clean_up_session(self: &Arc<Self>, session: String) {
        if self.clients.has(&session) {
            return;
        }
        // Before the runs: a request that is approved meanwhile would start a run without an owner.
        match self.approvals.close_questions(&session, "its client has left").await {
            Ok(0) => {}
            Ok(questions) => {
                tracing::info!(
                    session,
                    questions,
                    "MCP client disconnected, its approval requests are closed"
                );
            }
            Err(refusal) => {
                tracing::error!(
                    session,
                    error = refusal.detail,
                    "cannot close the approval requests of an MCP client"
                );
            }
        }
        let ended = if session.starts_with(MCP_SESSION) {
            self.close_created_session(&session).await
        } else {
            self.end_runs_of(&session).await
        };
        match ended {
            Ok(0) => {}
            Ok(runs) => tracing::info!(session, runs, "MCP client disconnected, its runs are ended"),
            Err(refusal) => {
                tracing::error!(session, error = refusal.detail, "cannot end the runs of an MCP client");
            }
        }
    }

    async fn close_created_session(self: &Arc<Self>, session: &str) -> Result<usize, Refusal> {
        let key: SessionKey = session.parse().map_err(Refusal::invalid)?;
        // A session that never had a run or a child has no row.
        if self.supervisor.registry.session(key.clone()).await?.is_none() {
            return Ok(0);
        }
        let why = CloseReason { reason: Some("its MCP client disconnected".to_owned()), discard: true };
        Ok(self.agents.close_session(&key, &why).await?.runs.len())
    }

    async fn end_runs_of(self: &Arc<Self>, session: &str) -> Result<usize, Refusal> {
        let who = Requester::client(session.to_owned(), "its MCP client disconnected".to_owned());
        let which = Selector { session: Some(session.to_owned()), ..Selector::default() };
        Ok(self.supervisor.cancel_many(&which, false, &who).await?.len())
    }

    /// Cleans up the sessions of an earlier daemon whose clients do not reconnect.
    pub(crate) async fn clean_up_after_restart(self: Arc<Self>) {
        if self.supervisor.settings.mcp.on_leave == OnLeave::Keep {
            return;
        }
        let sessions = match self.sessions_of_clients().await {
            Ok(sessions) => sessions,
            Err(refusal) => {
                return tracing::error!(error = refusal.detail, "cannot read the sessions of MCP clients");
            }
        };
        if sessions.is_empty() {
            return;
        }
        tokio::time::sleep(RECONNECT_TIME).await;
        for session in sessions {
            if !self.supervisor.lifecycle.is_draining() {
                self.clean_up_session(session).await;
            }
        }
    }

    /// Returns the sessions of MCP clients that are open or have open approval requests.
    async fn sessions_of_clients(&self) -> Result<BTreeSet<String>, Refusal> {
        let asking = self.approvals.sessions_with_requests().await?;
        let mut found: BTreeSet<String> =
            asking.into_iter().filter(|key| key.starts_with(MCP_SESSION)).collect();
        let mut query = SessionQuery {
            prefix: Some(MCP_SESSION.to_owned()),
            states: vec![SessionState::Idle, SessionState::Busy],
            limit: BATCH,
            ..SessionQuery::default()
        };
        loop {
            let page = self.supervisor.registry.sessions(query.clone()).await?;
            let own =
                page.sessions.into_iter().filter(|session| session.row.instance == self.supervisor.instance);
            found.extend(own.map(|session| session.row.key.into()));
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(found),
            }
        }
    }
}
