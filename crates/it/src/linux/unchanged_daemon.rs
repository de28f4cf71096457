//! Checks that a daemon is unharmed by a request.

use crate::agent::Agent;
use crate::install::Install;
use serde_json::{Value, json};

/// State that must not change: the daemon is the same, runs commands, and has no other runs.
#[derive(Debug)]
pub struct UnchangedDaemon<'a> {
    agent: &'a Agent,
    /// The daemon's process.
    pub pid: Value,
    runs: usize,
}

impl<'a> UnchangedDaemon<'a> {
    /// Records the daemon's pid, and expects this number of runs.
    #[track_caller]
    pub fn new(agent: &'a Agent, runs: usize) -> Self {
        Self { agent, pid: agent.api.get("/v1/health").is(200).json()["pid"].clone(), runs }
    }

    /// Asserts that nothing has changed.
    #[track_caller]
    pub fn check(self, install: &Install) {
        assert_eq!(install.runs().len(), self.runs, "a run was started");
        let health = self.agent.api.get("/v1/health").is(200).json();
        assert_eq!((&health["pid"], &health["status"]), (&self.pid, &json!("ok")));
        assert_eq!(self.agent.run("echo served")["output"], "served\n");
    }
}
