//! Sessions that are to be closed though nobody asks: those whose one turn is over, and those that an earlier daemon was
//! closing, or that did not end in time.

use super::closing::Why;
use crate::Agents;
use std::sync::Arc;
use tenure_core::session::{Mode, SessionKey, SessionRow, SessionState};
use tenure_store::{Session, SessionQuery};
use tenure_supervisor::Refusal;

/// How many sessions are looked at together.
const BATCH: usize = 500;

impl Agents {
    /// Goes on closing what an earlier daemon did not get to, or what did not end in time.
    pub async fn go_on_closing(self: &Arc<Self>) {
        let half_closed = match half_closed(self).await {
            Ok(rows) => rows,
            Err(refusal) => {
                return tracing::error!(why = refusal.detail, "the sessions that are closing cannot be read");
            }
        };
        let is_below_another =
            |row: &SessionRow| half_closed.iter().any(|other| row.lineage.contains(&other.key));
        for row in half_closed.iter().filter(|row| !is_below_another(row)) {
            let (agents, key) = (Arc::clone(self), row.key.clone());
            tokio::spawn(async move {
                let why = Why { reason: None, discard: false };
                match agents.close_session(&key, &why).await {
                    Ok(closed) => {
                        tracing::info!(session = %key, closed = closed.closed.len(), "closed at last");
                    }
                    Err(refusal) => tracing::warn!(session = %key, why = refusal.detail, "is still closing"),
                }
            });
        }
    }
}

/// A session for one turn is over after it.
pub(crate) async fn end_oneshot(agents: &Arc<Agents>, key: &SessionKey) {
    if agents.supervisor.lifecycle.is_draining() {
        return;
    }
    if let Ok(Some(session)) = agents.supervisor.registry.session(key.clone()).await
        && session.row.mode == Mode::Oneshot
        && session.row.state.is_open()
    {
        let why = Why { reason: Some("its turn is over".to_owned()), discard: false };
        if let Err(refusal) = agents.close_session(key, &why).await {
            tracing::warn!(session = %key, why = refusal.detail, "a session for one turn stays open");
        }
    }
}

/// Ends the sessions whose one turn was over when an earlier daemon was killed.
pub(crate) async fn end_oneshots(agents: &Arc<Agents>) {
    let is_over = |it: &Session| it.row.mode == Mode::Oneshot && it.turns > 0 && it.queued == 0;
    match idle(agents).await {
        Ok(idle) => {
            for session in idle.into_iter().filter(is_over) {
                let agents = Arc::clone(agents);
                tokio::spawn(async move { end_oneshot(&agents, &session.row.key).await });
            }
        }
        Err(refusal) => {
            tracing::error!(why = refusal.detail, "the sessions whose turn is over cannot be read");
        }
    }
}

/// The sessions of this instance that are being closed.
async fn half_closed(agents: &Agents) -> Result<Vec<SessionRow>, Refusal> {
    let mut rows = Vec::new();
    for key in agents.supervisor.registry.unsettled_sessions(agents.supervisor.instance.clone()).await? {
        rows.extend(agents.supervisor.registry.session(key).await?.map(|session| session.row));
    }
    Ok(rows)
}

/// The sessions of this instance that wait for something to do.
async fn idle(agents: &Agents) -> Result<Vec<Session>, Refusal> {
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
