//! The supervisor: the state that its parts share, grouped by topic.

use crate::admission::RunSlot;
use crate::events::Events;
use crate::launch::Starts;
use crate::lease::LeaseKeeper;
use crate::lifecycle::Lifecycle;
use crate::link::Link;
use crate::notice_suppression::Witnesses;
use crate::run_handle::{self, HolderTask, Orders, RunHandle};
use crate::run_table::RunTable;
use crate::terminal_queries;
use std::sync::Arc;
use tenure_core::ids::InstanceId;
use tenure_core::lease::Tenancy;
use tenure_core::wire::Holder;
use tenure_keeper::state_root::StateRoot;
use tenure_settings::Settings;
use tenure_store::Registry;

/// Starts runs, holds them, and records their changes.
pub struct Supervisor {
    /// The daemon's settings.
    pub settings: Settings,
    /// The state root.
    pub state: StateRoot,
    /// This installation's id.
    pub instance: InstanceId,
    /// The registry.
    pub registry: Arc<dyn Registry>,
    /// The runs that this daemon holds or settles.
    pub runs: RunTable,
    /// Everything that the start of a run needs.
    pub starts: Starts,
    /// Our leases, and the heartbeats of others who share the registry.
    pub leases: LeaseKeeper,
    /// The phases of the daemon's own life.
    pub lifecycle: Lifecycle,
    /// The fan-out of events to clients.
    pub events: Events,
    /// The clients that are about to see how a run or a turn ends.
    pub witnesses: Witnesses,
}

impl Supervisor {
    /// Makes a supervisor of this state root, which holds no run yet.
    pub fn new(
        settings: Settings,
        state: StateRoot,
        instance: InstanceId,
        registry: Arc<dyn Registry>,
        tenancy: Tenancy,
    ) -> Self {
        Self {
            starts: Starts::new(&settings),
            leases: LeaseKeeper::new(registry.id(), tenancy, settings.rhythm()),
            settings,
            state,
            instance,
            registry,
            runs: RunTable::default(),
            lifecycle: Lifecycle::default(),
            events: Events::default(),
            witnesses: Witnesses::default(),
        }
    }

    /// Returns our identity for a keeper whose run we request.
    pub(crate) fn as_holder(&self) -> Holder {
        Holder {
            instance_id: self.instance.clone(),
            registry_id: self.leases.registry_id.clone(),
            lease_ttl_ms: u64::try_from(self.settings.lease.ttl.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Starts to hold a run, over this connection to its keeper.
    pub fn hold(
        self: &Arc<Self>,
        (run, orders): (Arc<RunHandle>, Orders),
        link: Link,
        slot: Option<RunSlot>,
    ) -> Arc<RunHandle> {
        self.runs.insert(&run);
        let task = HolderTask { held: Arc::clone(&run), link, orders, slot };
        tokio::spawn(run_handle::hold_until_over(Arc::clone(self), task));
        if run.ticket.options.pty_size.is_some() {
            tokio::spawn(terminal_queries::answer_queries(Arc::clone(self), Arc::clone(&run)));
        }
        run
    }
}
