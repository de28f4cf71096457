//! The daemon's state, shared by its interfaces: HTTP, MCP and the tools.

use crate::mcp::Clients;
use crate::tools::{Indexes, Readers};
use std::sync::{Arc, Mutex};
use tenure_agents::Agents;
use tenure_notify::Notifier;
use tenure_policy::Approvals;
use tenure_supervisor::Supervisor;

/// The daemon's state.
pub(crate) struct Daemon {
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) agents: Arc<Agents>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) readers: Readers,
    pub(crate) indexes: Indexes,
    pub(crate) clients: Clients,
    /// Error for which the daemon does not listen on the loopback address.
    pub(crate) listen_error: Mutex<Option<String>>,
}

impl Daemon {
    /// Creates the daemon's state on top of a supervisor.
    pub(crate) fn new(supervisor: Arc<Supervisor>) -> Self {
        let approvals = Arc::new(Approvals::new(Arc::clone(&supervisor)));
        Self {
            agents: Arc::new(Agents::new(Arc::clone(&approvals))),
            notifier: Arc::new(Notifier::new(Arc::clone(&supervisor), Arc::new(Arc::clone(&supervisor)))),
            supervisor,
            approvals,
            readers: Readers::default(),
            indexes: Indexes::default(),
            clients: Clients::default(),
            listen_error: Mutex::default(),
        }
    }
}
