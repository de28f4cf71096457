//! Answers permission requests of a session's ACP agent, and changes its settings.

use super::authorize::Asker;
use super::call::AnswerCall;
use super::query::view;
use crate::Agents;
use crate::acp::query;
use crate::sessions::caller_env;
use crate::sessions::permission_limit;
use std::sync::Arc;
use tenure_core::session::SessionKey;
use tenure_core::tools::sessions::{SessionJson, SessionsReply};
use tenure_supervisor::Refusal;

/// The setting of an ACP agent to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Its mode, by id.
    Mode(String),
    /// An option.
    Option {
        /// The option's id.
        option: String,
        /// The new value.
        value: String,
    },
}

/// Answers a permission request of an ACP agent. People and the session that spawned it may, the agent itself may not.
pub(crate) async fn answer(
    agents: &Arc<Agents>,
    AnswerCall { session, question, option }: &AnswerCall,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(session, asker).await?;
    let key = &session.row.key;
    if asker.key() == Some(key) {
        return Err(Refusal::forbidden(format!("session {key} cannot answer its own permission requests")));
    }
    permission_limit::check_allow(agents, asker, &session.row, (question, option)).await?;
    agents.approvals.answer_question(key, (question, option), &asker.about).await?;
    let session = view(agents.find_session(key).await?);
    let questions = agents.approvals.questions_of(key).await?;
    let session = Some(SessionJson { questions, ..session });
    Ok(SessionsReply { session, ..SessionsReply::default() })
}

/// Changes a setting of an ACP agent.
pub(crate) async fn adjust(
    agents: &Arc<Agents>,
    key: &SessionKey,
    setting: &Setting,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(key, asker).await?;
    permission_limit::check_adjust(agents, asker, &session.row, setting).await?;
    // For an adapter that has to be started.
    if let Some(env) = caller_env::caller_env(agents, &session.row, asker) {
        agents.caller_envs.set(key, env);
    }
    query::adjust_agent(agents, setting, session).await?;
    let session = view(agents.find_session(key).await?);
    let adapter = query::adapter_json(agents, key).await;
    let session = Some(SessionJson { adapter, ..session });
    Ok(SessionsReply { session, ..SessionsReply::default() })
}
