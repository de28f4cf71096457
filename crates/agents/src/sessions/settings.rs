//! Answering what a session's ACP agent asks, and having it work in another way.

use super::authorize::Asker;
use super::query::view;
use crate::Agents;
use crate::acp::query;
use crate::sessions::caller_env;
use crate::sessions::granting;
use std::sync::Arc;
use tenure_core::tools::sessions::{SessionJson, SessionsReply, SessionsRequest};
use tenure_supervisor::Refusal;

/// Answers what an ACP agent asks. Whoever spawned it may, and people; the agent itself may not.
pub(crate) async fn answer_for(
    agents: &Arc<Agents>,
    request: &SessionsRequest,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(request, asker).await?;
    let key = &session.row.key;
    if asker.key() == Some(key) {
        return Err(Refusal::forbidden(format!("session {key} cannot answer what it asks itself")));
    }
    let (Some(question), Some(option)) = (&request.question, &request.option) else {
        return Err(Refusal::invalid("question or option is missing: `status` lists what is asked"));
    };
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
    request: &SessionsRequest,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(request, asker).await?;
    let key = session.row.key.clone();
    granting::may_adjust(agents, asker, &session.row, request).await?;
    // For the adapter that is started, if none lives.
    if let Some(env) = caller_env::caller_env(agents, &session.row, asker) {
        agents.caller_envs.set(&key, env);
    }
    query::adjust_agent(agents, request, session).await?;
    let session = view(agents.session_called(&key).await?);
    let adapter = query::adapter_json(agents, &key).await;
    let session = Some(SessionJson { adapter, ..session });
    Ok(SessionsReply { session, ..SessionsReply::default() })
}
