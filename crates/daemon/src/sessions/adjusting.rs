//! Answering what a session's ACP agent asks, and having it work in another way.

use super::asker::Asker;
use super::looking::view;
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use std::sync::Arc;
use tenure_core::tools::sessions::{SessionJson, SessionsReply, SessionsRequest};

impl Daemon {
    /// Answers what an ACP agent asks. Whoever spawned it may, and people; the agent itself may not.
    pub(super) async fn answer_for(
        self: &Arc<Self>,
        request: &SessionsRequest,
        asker: &Asker,
    ) -> Result<SessionsReply, Refusal> {
        let session = self.owned(request, asker).await?;
        let key = &session.row.key;
        if asker.key() == Some(key) {
            return Err(Refusal::forbidden(format!("session {key} cannot answer what it asks itself")));
        }
        let (Some(question), Some(option)) = (&request.question, &request.option) else {
            return Err(Refusal::invalid("question or option is missing: `status` lists what is asked"));
        };
        self.may_allow(asker, &session.row, (question, option)).await?;
        self.answer_question(key, (question, option), &asker.about).await?;
        let session = view(self.session_called(key).await?);
        let questions = self.questions_of(key).await?;
        let session = Some(SessionJson { questions, ..session });
        Ok(SessionsReply { session, ..SessionsReply::default() })
    }

    /// Has an ACP agent work in another mode, or with another option.
    pub(super) async fn adjust(
        self: &Arc<Self>,
        request: &SessionsRequest,
        asker: &Asker,
    ) -> Result<SessionsReply, Refusal> {
        let session = self.owned(request, asker).await?;
        let key = session.row.key.clone();
        self.may_adjust(asker, &session.row, request).await?;
        // For the adapter that is started, if none lives.
        if let Some(env) = self.caller_env(&session.row, asker) {
            self.caller_envs.set(&key, env);
        }
        self.adjust_agent(request, session).await?;
        let session = view(self.session_called(&key).await?);
        let adapter = self.adapter_json(&key).await;
        let session = Some(SessionJson { adapter, ..session });
        Ok(SessionsReply { session, ..SessionsReply::default() })
    }
}
