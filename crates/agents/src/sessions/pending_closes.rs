//! Closes sessions without a request: oneshot sessions whose turn is over, and sessions that an earlier daemon was closing
//! or that did not end in time.

use super::close::CloseReason;
use crate::Agents;
use std::sync::Arc;
use tenure_core::session::{Mode, SessionKey, SessionRow, SessionState};
use tenure_store::{Session, SessionQuery};
use tenure_supervisor::Refusal;

/// Maximum number of sessions to read at a time.
const BATCH: usize = 500;

impl Agents {
    /// Resumes the closes that an earlier daemon did not finish, or that did not end in time.
    pub async fn resume_closes(self: &Arc<Self>) {
        let closing_sessions = match closing_sessions(self).await {
            Ok(rows) => rows,
            Err(refusal) => {
                return tracing::error!(why = refusal.detail, "closing sessions not readable");
            }
        };
        let is_below_another =
            |row: &SessionRow| closing_sessions.iter().any(|other| row.lineage.contains(&other.key));
        for row in closing_sessions.iter().filter(|row| !is_below_another(row)) {
            let (agents, key) = (Arc::clone(self), row.key.clone());
            tokio::spawn(async move {
                let why = CloseReason { reason: None, discard: false };
                match agents.close_session(&key, &why).await {
                    Ok(closed) => {
                        tracing::info!(session = %key, closed = closed.closed.len(), "resumed close finished");
                    }
                    Err(refusal) => {
                        tracing::warn!(session = %key, why = refusal.detail, "session still closing");
                    }
                }
            });
        }
    }
}

/// Closes a oneshot session after its turn.
pub(crate) async fn end_oneshot(agents: &Arc<Agents>, key: &SessionKey) {
    if agents.supervisor.lifecycle.is_draining() {
        return;
    }
    if let Ok(Some(session)) = agents.supervisor.registry.session(key.clone()).await
        && session.row.mode == Mode::Oneshot
        && session.row.state.is_open()
    {
        let why = CloseReason { reason: Some("its turn is over".to_owned()), discard: false };
        if let Err(refusal) = agents.close_session(key, &why).await {
            tracing::warn!(session = %key, why = refusal.detail, "oneshot session not closed");
        }
    }
}

/// Closes the oneshot sessions whose turn was over when an earlier daemon was killed.
pub(crate) async fn end_oneshots(agents: &Arc<Agents>) {
    let is_over = |it: &Session| it.row.mode == Mode::Oneshot && it.turns > 0 && it.queued == 0;
    match idle_sessions(agents).await {
        Ok(idle) => {
            for session in idle.into_iter().filter(is_over) {
                let agents = Arc::clone(agents);
                tokio::spawn(async move { end_oneshot(&agents, &session.row.key).await });
            }
        }
        Err(refusal) => {
            tracing::error!(why = refusal.detail, "idle sessions not readable");
        }
    }
}

/// Returns the sessions of this instance that are being closed.
async fn closing_sessions(agents: &Agents) -> Result<Vec<SessionRow>, Refusal> {
    let mut rows = Vec::new();
    for key in agents.supervisor.registry.unsettled_sessions(agents.supervisor.instance.clone()).await? {
        rows.extend(agents.supervisor.registry.session(key).await?.map(|session| session.row));
    }
    Ok(rows)
}

/// Returns the idle sessions of this instance.
async fn idle_sessions(agents: &Agents) -> Result<Vec<Session>, Refusal> {
    let states = vec![SessionState::Idle];
    let mut query = SessionQuery { states, limit: BATCH, ..SessionQuery::default() };
    let mut own = Vec::new();
    loop {
        let page = agents.supervisor.registry.sessions(query.clone()).await?;
        own.extend(
            page.sessions.into_iter().filter(|session| session.row.instance == agents.supervisor.instance),
        );
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(own),
        }
    }
}
