//! The state that sessions and ACP share.

use crate::acp::Adapters;
use crate::sessions::{CallerEnvs, Turns};
use std::sync::Arc;
use tenure_policy::Approvals;
use tenure_supervisor::Supervisor;

/// Sessions, and what carries out their turns.
pub struct Agents {
    /// The supervisor, which starts runs.
    pub supervisor: Arc<Supervisor>,
    /// The approval requests.
    pub approvals: Arc<Approvals>,
    /// The turns under way.
    pub turns: Turns,
    pub(crate) caller_envs: CallerEnvs,
    pub(crate) adapters: Adapters,
}

impl Agents {
    /// No turn is under way yet.
    pub fn new(approvals: Arc<Approvals>) -> Self {
        Self {
            supervisor: Arc::clone(&approvals.supervisor),
            approvals,
            turns: Turns::default(),
            caller_envs: CallerEnvs::default(),
            adapters: Adapters::default(),
        }
    }
}
