//! Starting a run: a place for it, its turn in its scope, its row in the registry, and only then its keeper (I2).

use crate::asked::Asked;
use crate::daemon::{Daemon, lock};
use crate::held::{Held, Status};
use crate::link::Link;
use crate::refusal::Refusal;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::lease::Hold;
use tenure_core::state::State;
use tenure_core::wire::{self, Role, Tell};
use tenure_keeper::launch::{Lease, Nursery, Order, Terms};
use tenure_os::pause;
use tenure_os::socket::Conn;
use tenure_store::{NewRun, Query};
use tokio::task::block_in_place;
use tokio::time::timeout;

/// How long a command may take to be executed or refused before a client is told that it still starts.
const PATIENCE: Duration = Duration::from_mins(1);

impl Daemon {
    /// Starts a run. With `caller` it is a foreground run: that connection becomes the caller's to the keeper.
    pub(crate) async fn start(
        self: &Arc<Self>,
        asked: Asked,
        asked_by: String,
        caller: Option<Conn>,
    ) -> Result<Arc<Held>, Refusal> {
        let began = std::time::Instant::now();
        self.check_open()?;
        let place = self.admission.enter().await.map_err(|full| {
            Refusal::busy(format!(
                "{} runs are alive and {} wait for a place: end some, or raise max_runs",
                full.most, full.queued
            ))
        })?;
        let _turn = match &asked.spec.scope {
            Some(scope) => {
                let turn = self.scopes.turn(scope).await;
                if asked.replace {
                    self.clear_scope(scope).await?;
                }
                Some(turn)
            }
            None => None,
        };
        self.check_open()?;
        let terms = Terms { backend: "run", cgroup: self.settings.cgroup, keep: self.settings.output };
        let lease = Lease::new(self.instance.clone()).map_err(Refusal::internal)?;
        let ticket = lease.ticket(&asked.spec, &terms);
        let hold = Hold { instance: self.instance.clone(), epoch: ticket.lease_epoch };
        let path = self.state.run_path(&ticket.run_id);
        let directory = path.to_string_lossy().into_owned();
        // Until it is held: without a directory it looks as if it had never been started.
        let claim = self.claim(&ticket.run_id);
        self.registry.create(NewRun { ticket: ticket.clone(), directory, asked_by }).await?;
        self.something_happened();
        pause::point("daemon-row-written");
        if let Some(caller) = &caller {
            // It hears of its run before the keeper speaks. One that does not listen is gone.
            let welcome = Tell::Welcome { version: wire::VERSION, run_id: ticket.run_id.clone() };
            let _ = caller.write(&wire::encode(&welcome, &[]));
        }
        let (mine, theirs) = Conn::pair().map_err(Refusal::internal)?;
        let mut peers = vec![(Role::Holder { epoch: ticket.lease_epoch }, theirs)];
        peers.extend(caller.map(|conn| (Role::Caller, conn)));
        let order = Order { ticket: &ticket, spec: &asked.spec, cgroup: terms.cgroup };
        // A slow disk, or a nursery that does not listen, holds up nobody else.
        if let Err(error) = block_in_place(|| self.launch(&order, peers)) {
            drop(claim);
            self.reconcile_run(&ticket.run_id).await;
            return Err(Refusal::internal(format!("run {} could not be started: {error}", ticket.run_id)));
        }
        pause::point("daemon-launched");
        let link = Link::new(mine).map_err(Refusal::internal)?;
        let run = self.take_on(Held::new(ticket, hold, Status::default()), path, link, place);
        drop(claim);
        // A command that takes long to be executed is started nevertheless.
        let _ = timeout(PATIENCE, run.begun()).await;
        self.latency.started(began.elapsed());
        Ok(run)
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if self.is_draining() {
            return Err(Refusal::draining("the daemon is leaving: try again in a moment"));
        }
        if !self.may_act() {
            return Err(Refusal::unavailable(
                "the registry has not taken our heartbeat for too long, so nothing is started: `tenure doctor` looks why",
            ));
        }
        Ok(())
    }

    /// Has a nursery fork a keeper. One that is gone is replaced, once.
    fn launch(&self, order: &Order<'_>, peers: Vec<(Role, Conn)>) -> io::Result<()> {
        let mut nursery = lock(&self.nursery);
        if nursery.as_ref().is_none_or(Nursery::is_gone) {
            *nursery = Some(Nursery::start(&self.state)?);
        }
        let nursery = nursery.as_ref().ok_or_else(|| io::Error::other("there is no nursery"))?;
        nursery.launch(&self.state, order, peers).map(drop)
    }

    /// Ends the live run of a scope, and waits until its whole tree is gone.
    async fn clear_scope(self: &Arc<Self>, scope: &str) -> Result<(), Refusal> {
        let live = vec![State::Starting, State::Running, State::Exiting];
        let query = Query { scope: Some(scope.to_owned()), states: live, limit: 1, ..Query::default() };
        let Some(row) = self.registry.runs(query).await?.runs.into_iter().next() else { return Ok(()) };
        let run = &row.ticket.run_id;
        let held = self.held(run).ok_or_else(|| {
            Refusal::held_elsewhere(format!("run {run} of the scope {scope:?} is not held by this daemon"))
        })?;
        held.cancel(false);
        let status = held.over().await;
        match status.ending {
            Some(ending) if ending.termination.confirmed => Ok(()),
            Some(ending) => Err(Refusal::wrong_state(format!(
                "the scope's run {run} was ended, but its tree is not known to be gone ({}): nothing was started",
                ending.termination.sentence()
            ))),
            None => Err(Refusal::held_elsewhere(format!("run {run} of the scope is another instance's now"))),
        }
    }
}
