//! A daemon that is none the worse for what it was asked.

use crate::agent::Agent;
use crate::install::Install;
use serde_json::{Value, json};

/// The daemon is the one it was, runs commands, and has these runs and no others.
#[derive(Debug)]
pub struct Unmoved<'a> {
    agent: &'a Agent,
    /// The daemon's process.
    pub pid: Value,
    runs: usize,
}

impl<'a> Unmoved<'a> {
    /// As it is now, with so many runs.
    #[track_caller]
    pub fn new(agent: &'a Agent, runs: usize) -> Self {
        Self { agent, pid: agent.api.get("/v1/health").is(200).json()["pid"].clone(), runs }
    }

    /// That it is so still.
    #[track_caller]
    pub fn check(self, install: &Install) {
        assert_eq!(install.runs().len(), self.runs, "something was begun");
        let health = self.agent.api.get("/v1/health").is(200).json();
        assert_eq!((&health["pid"], &health["status"]), (&self.pid, &json!("ok")));
        assert_eq!(self.agent.run("echo served")["output"], "served\n");
    }
}
