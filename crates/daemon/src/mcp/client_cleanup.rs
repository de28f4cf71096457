//! What MCP clients leave behind. A session that was made for a client is closed with all that it owns, and forgotten; of
//! one that somebody named, the runs are ended, and the session is there for whoever comes next.

use crate::daemon::Daemon;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::sessions::Why;
use tenure_core::api::Selector;
use tenure_core::session::{SessionKey, SessionState};
use tenure_core::tools::MCP_SESSION;
use tenure_settings::OnLeave;
use tenure_store::SessionQuery;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// How long the clients of an earlier daemon have to come back.
const COME_BACK: Duration = Duration::from_secs(60);
/// How many sessions are looked at together.
const BATCH: usize = 500;

impl Daemon {
    /// Ends what the clients of a session left behind.
    pub(super) async fn end_left(self: &Arc<Self>, session: String) {
        if self.clients.has(&session) {
            return;
        }
        // First: what is allowed meanwhile would be a run that nobody owns.
        match self.approvals.close_questions(&session, "its client has left").await {
            Ok(0) => {}
            Ok(questions) => {
                tracing::info!(session, questions, "an MCP client has left; its questions are closed");
            }
            Err(refusal) => {
                tracing::error!(session, error = refusal.detail, "an MCP client's questions stay open");
            }
        }
        let ended = if session.starts_with(MCP_SESSION) {
            self.close_made(&session).await
        } else {
            self.end_runs_of(&session).await
        };
        match ended {
            Ok(0) => {}
            Ok(runs) => tracing::info!(session, runs, "an MCP client has left; its runs are ended"),
            Err(refusal) => {
                tracing::error!(session, error = refusal.detail, "an MCP client's runs could not be ended");
            }
        }
    }

    async fn close_made(self: &Arc<Self>, session: &str) -> Result<usize, Refusal> {
        let key: SessionKey = session.parse().map_err(Refusal::invalid)?;
        // One that never had a run or a child has no row.
        if self.supervisor.registry.session(key.clone()).await?.is_none() {
            return Ok(0);
        }
        let why = Why { reason: Some("its MCP client has left".to_owned()), discard: true };
        Ok(self.agents.close_session(&key, &why).await?.runs.len())
    }

    async fn end_runs_of(self: &Arc<Self>, session: &str) -> Result<usize, Refusal> {
        let who = Requester::client(session.to_owned(), "its MCP client has left".to_owned());
        let which = Selector { session: Some(session.to_owned()), ..Selector::default() };
        Ok(self.supervisor.cancel_many(&which, false, &who).await?.len())
    }

    /// Ends what clients of an earlier daemon left that do not come back.
    pub(crate) async fn await_clients(self: Arc<Self>) {
        if self.supervisor.settings.mcp.on_leave == OnLeave::Keep {
            return;
        }
        let left = match self.sessions_left().await {
            Ok(left) => left,
            Err(refusal) => {
                return tracing::error!(error = refusal.detail, "the sessions of MCP clients cannot be read");
            }
        };
        if left.is_empty() {
            return;
        }
        tokio::time::sleep(COME_BACK).await;
        for session in left {
            if !self.supervisor.lifecycle.is_draining() {
                self.end_left(session).await;
            }
        }
    }

    /// The open sessions that were made for MCP clients of an earlier daemon, and those that have open questions.
    async fn sessions_left(&self) -> Result<BTreeSet<String>, Refusal> {
        let asking = self.approvals.sessions_that_ask().await?;
        let mut left: BTreeSet<String> =
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
            left.extend(own.map(|session| session.row.key.into()));
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(left),
            }
        }
    }
}
