//! Sessions without processes, for unit tests: agents on a supervisor whose keepers the test plays.

use crate::Agents;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;
use tenure_core::tools::sessions::SessionsReply;
use tenure_policy::Approvals;
use tenure_settings::Settings;
pub(crate) use tenure_supervisor::fixture::{
    DEADLINE, FakeKeeper, Test, cancelled, client, command, eventually, exited, operator, soon,
};
use tenure_supervisor::{Refusal, Requester};

/// Agents whose keepers the test plays.
pub(crate) struct TestAgents(Test<Agents>);

impl Deref for TestAgents {
    type Target = Test<Agents>;

    fn deref(&self) -> &Test<Agents> {
        &self.0
    }
}

impl TestAgents {
    /// Agents with the default settings.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Agents with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::over("", change).await
    }

    async fn over(config: &str, change: impl FnOnce(&mut Settings)) -> Self {
        Self(
            Test::over(config, change, |supervisor| {
                Arc::new(Agents::new(Arc::new(Approvals::new(Arc::clone(supervisor)))))
            })
            .await,
        )
    }

    /// Sends a sessions request as `who`.
    pub(crate) async fn ask_as(&self, who: &Requester, body: Value) -> Result<SessionsReply, Refusal> {
        let request = serde_json::from_value(body).expect("a request");
        let answered = soon(self.sessions(request, (None, who))).await?;
        Ok(answered.reply)
    }

    /// Sends a sessions request as an operator.
    pub(crate) async fn ask(&self, body: Value) -> Result<SessionsReply, Refusal> {
        self.ask_as(&operator(), body).await
    }
}
