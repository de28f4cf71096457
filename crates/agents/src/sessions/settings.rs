//! Answering what a session's ACP agent asks, and having it work in another way.

use super::authorize::Asker;
use super::call::AnswerCall;
use super::query::view;
use crate::Agents;
use crate::acp::query;
use crate::sessions::caller_env;
use crate::sessions::granting;
use std::sync::Arc;
use tenure_core::session::SessionKey;
use tenure_core::tools::sessions::{SessionJson, SessionsReply};
use tenure_supervisor::Refusal;

/// The setting of an ACP agent to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Its mode, by id.
    Mode(String),
    /// One of its options.
    Option {
        /// The option's id.
        option: String,
        /// The new value.
        value: String,
    },
}

/// Answers what an ACP agent asks. Whoever spawned it may, and people; the agent itself may not.
pub(crate) async fn answer_for(
    agents: &Arc<Agents>,
    AnswerCall { session, question, option }: &AnswerCall,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(session, asker).await?;
    let key = &session.row.key;
    if asker.key() == Some(key) {
        return Err(Refusal::forbidden(format!("session {key} cannot answer what it asks itself")));
    }
    granting::may_allow(agents, asker, &session.row, (question, option)).await?;
    agents.approvals.answer_question(key, (question, option), &asker.about).await?;
    let session = view(agents.session_called(key).await?);
    let questions = agents.approvals.questions_of(key).await?;
    let session = Some(SessionJson { questions, ..session });
    Ok(SessionsReply { session, ..SessionsReply::default() })
}

/// Has an ACP agent work in another mode, or with another option.
pub(crate) async fn adjust(
    agents: &Arc<Agents>,
    key: &SessionKey,
    setting: &Setting,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(key, asker).await?;
    granting::may_adjust(agents, asker, &session.row, setting).await?;
    // For the adapter that is started, if none lives.
    if let Some(env) = caller_env::caller_env(agents, &session.row, asker) {
        agents.caller_envs.set(key, env);
    }
    query::adjust_agent(agents, setting, session).await?;
    let session = view(agents.session_called(key).await?);
    let adapter = query::adapter_json(agents, key).await;
    let session = Some(SessionJson { adapter, ..session });
    Ok(SessionsReply { session, ..SessionsReply::default() })
}
