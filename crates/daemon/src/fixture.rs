//! A daemon without processes, for unit tests: a supervisor with fake keepers, and the daemon's interfaces on it.

use crate::daemon::Daemon;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;
use tenure_core::tools::sessions::SessionsReply;
use tenure_settings::Settings;
pub(crate) use tenure_supervisor::fixture::{
    FakeKeeper, Test, cancelled, client, command, command_of, eventually, exited, operator, soon,
};
use tenure_supervisor::{Refusal, Requester};

/// A daemon with fake keepers.
pub(crate) struct TestDaemon(Test<Daemon>);

impl Deref for TestDaemon {
    type Target = Test<Daemon>;

    fn deref(&self) -> &Test<Daemon> {
        &self.0
    }
}

impl TestDaemon {
    /// Creates a daemon with the default settings.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Creates a daemon with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::over("", change).await
    }

    async fn over(config: &str, change: impl FnOnce(&mut Settings)) -> Self {
        Self(Test::over(config, change, |supervisor| Arc::new(Daemon::new(Arc::clone(supervisor)))).await)
    }

    /// Sends a `sessions` request as this requester.
    pub(crate) async fn ask_as(&self, who: &Requester, body: Value) -> Result<SessionsReply, Refusal> {
        let request = serde_json::from_value(body).expect("a request");
        let answered = soon(self.agents.sessions(request, (None, who))).await?;
        Ok(answered.reply)
    }

    /// Sends a `sessions` request as an operator.
    pub(crate) async fn ask(&self, body: Value) -> Result<SessionsReply, Refusal> {
        self.ask_as(&operator(), body).await
    }
}
