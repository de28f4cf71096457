//! State that sessions and ACP share.

use crate::acp::Adapters;
use crate::sessions::{CallerEnvs, Turns};
use std::sync::Arc;
use tenure_policy::Approvals;
use tenure_supervisor::Supervisor;

/// Sessions, their turns in progress, and the ACP adapters.
pub struct Agents {
    /// Supervisor, which starts runs.
    pub supervisor: Arc<Supervisor>,
    /// Approval requests.
    pub approvals: Arc<Approvals>,
    /// Turns in progress.
    pub turns: Turns,
    pub(crate) caller_envs: CallerEnvs,
    pub(crate) adapters: Adapters,
}

impl Agents {
    /// Creates the state without any turn or adapter.
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
