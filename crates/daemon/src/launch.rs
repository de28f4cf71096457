//! Starting a run: a place for it, its turn in its scope, its row in the registry, and only then its keeper (I2).

use crate::admission::{Full, Place};
use crate::asked::Asked;
use crate::daemon::{Daemon, lock};
use crate::held::{Held, Status};
use crate::link::Link;
use crate::refusal::Refusal;
use crate::reserve;
use crate::tasks::new_task;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::lease::Hold;
use tenure_core::wire::{self, Role, Tell};
use tenure_keeper::launch::{Lease, Nursery, Order, Terms};
use tenure_os::pause;
use tenure_os::socket::Conn;
use tenure_policy::executable::Bound;
use tenure_store::{NewRun, RunRow};
use tokio::sync::OwnedMutexGuard;
use tokio::task::block_in_place;
use tokio::time::timeout;

/// How long a command may take to be executed or refused before a client is told that it still starts.
const PATIENCE: Duration = Duration::from_mins(1);

/// The right to begin a run: its place among those that may run at once, and its turn in its scope.
pub(crate) struct Entry {
    place: Option<Place>,
    #[expect(dead_code, reason = "it is held until the run is recorded")]
    turn: Option<OwnedMutexGuard<()>>,
}

/// A foreground caller.
pub(crate) struct Caller {
    /// Its connection, which becomes its connection to the keeper.
    pub(crate) conn: Conn,
    /// Whether it passes its standard input there.
    pub(crate) passes_stdin: bool,
}

impl Daemon {
    /// Starts a run. With `caller` it is a foreground run: that connection becomes the caller's to the keeper.
    pub(crate) async fn start(
        self: &Arc<Self>,
        asked: Asked,
        asked_by: String,
        caller: Option<Caller>,
    ) -> Result<Arc<Held>, Refusal> {
        let began = std::time::Instant::now();
        let entry = self.enter(&asked).await?;
        // A client that leaves from here on leaves a run, not half of one.
        let daemon = Arc::clone(self);
        let beginning = tokio::spawn(async move { daemon.begin(asked, entry, asked_by, caller).await });
        let run = beginning.await.map_err(Refusal::internal)??;
        self.settle_in(&run, began).await;
        Ok(run)
    }

    /// Waits until a run's command executes or could not be; how long that took since it was asked for is counted.
    pub(crate) async fn settle_in(&self, run: &Held, began: std::time::Instant) {
        // A command that takes long to be executed is started nevertheless.
        let _ = timeout(PATIENCE, run.begun()).await;
        self.latency.started(began.elapsed());
    }

    /// Waits for a place among the runs and for one's turn in the scope. Whoever stops waiting has started nothing.
    pub(crate) async fn enter(self: &Arc<Self>, asked: &Asked) -> Result<Entry, Refusal> {
        self.check_open()?;
        let Some(scope) = &asked.spec.scope else {
            let place = self.admission.enter().await.map_err(full)?;
            return Ok(Entry { place, turn: None });
        };
        self.admission.has_room().map_err(full)?;
        let turn = Some(self.scopes.turn(scope).await);
        // One that was removed and is still ending is there too.
        let Some(row) = self.registry.live_in_scope(scope.clone()).await? else {
            return Ok(Entry { place: self.admission.enter().await.map_err(full)?, turn });
        };
        if !asked.may_replace(&row) {
            return Err(Refusal::scope_taken(format!(
                "the scope {scope:?} has a live run of another session"
            )));
        }
        if !asked.replace {
            let run = row.ticket.run_id;
            return Err(tenure_store::Failed::ScopeTaken { scope: scope.clone(), holder: run }.into());
        }
        // Its place may be the one that is waited for, so it goes first.
        self.clear_scope(scope, &row).await?;
        Ok(Entry { place: self.admission.enter_as_promised().await, turn })
    }

    /// Records the run, and has a keeper made for it.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        mut asked: Asked,
        entry: Entry,
        asked_by: String,
        caller: Option<Caller>,
    ) -> Result<Arc<Held>, Refusal> {
        let passes_stdin = caller.as_ref().is_some_and(|caller| caller.passes_stdin);
        if passes_stdin {
            asked.spec.transport.close_stdin();
        }
        let starting = self.starting.read().await;
        self.check_open()?;
        // What somebody waits for is no task.
        let policy = asked.policy.filter(|_| caller.is_none());
        let task = policy.map(|policy| new_task(policy, true)).transpose()?;
        let keep = asked.keep.unwrap_or(self.settings.output);
        let terms = Terms { backend: asked.backend.word(), cgroup: self.settings.cgroup, keep };
        let mut lease = Lease::new(self.instance.clone()).map_err(Refusal::internal)?;
        lease.registry = Some(self.registry_id.clone());
        if let Some(run_id) = asked.run_id {
            lease.run_id = run_id;
        }
        let ticket = lease.ticket(&asked.spec, &terms);
        let hold = Hold { instance: self.instance.clone(), epoch: ticket.lease_epoch };
        let path = self.state.run_path(&ticket.run_id);
        // It is held before it is recorded: a recorded run that nobody holds is one to be looked after, and a
        // process of the run may ask for something before we have heard of it.
        let (run, orders) = Held::new(ticket, hold, path, Status::default());
        run.set_tracked(task.is_some());
        self.announce(&run);
        let order = Order { ticket: &run.ticket, spec: &asked.spec, cgroup: terms.cgroup, passes_stdin };
        let directory = run.directory.to_string_lossy().into_owned();
        let (notify, bound) = asked.exec.map(|exec| (exec.notify, exec.bound)).unzip();
        let new = NewRun {
            ticket: run.ticket.clone(),
            directory,
            asked_by,
            exec: notify,
            session_parent: asked.session_parent,
            is_started: false,
            task,
        };
        let begun = match self.bring_to_life(&order, (new, &bound.unwrap_or_default()), caller).await {
            Ok(link) => Ok(self.take_on((run, orders), link, entry.place)),
            Err(refusal) => {
                run.let_go("it could not be started".to_owned());
                self.release(&run);
                self.reconcile_run(&run.ticket.run_id).await;
                Err(refusal)
            }
        };
        drop(starting);
        begun
    }

    /// Records a run, has a keeper made for it, and returns the connection to that.
    async fn bring_to_life(
        &self,
        order: &Order<'_>,
        (new, bound): (NewRun, &[Bound]),
        caller: Option<Caller>,
    ) -> Result<Link, Refusal> {
        let ticket = order.ticket;
        // All that can fail before anything is recorded.
        let (mine, theirs) = Conn::pair().map_err(Refusal::internal)?;
        let link = Link::new(mine).map_err(Refusal::internal)?;
        match self.registry.create(new.clone()).await {
            Err(error) if self.give_up_reserve(&error) => self.registry.create(new).await?,
            other => other?,
        }
        self.something_happened();
        pause::point("daemon-row-written");
        if let Some(caller) = &caller {
            // It hears of its run before the keeper speaks. One that does not listen is gone.
            let (run_id, takes_stdin) = (ticket.run_id.clone(), order.passes_stdin);
            let welcome = Tell::Welcome { version: wire::VERSION, run_id, takes_stdin };
            let _ = caller.conn.write(&wire::encode(&welcome, &[]));
        }
        let mut peers = vec![(Role::Holder { epoch: ticket.lease_epoch }, theirs)];
        peers.extend(caller.map(|caller| (Role::Caller, caller.conn)));
        // A slow disk, or a nursery that does not listen, holds up nobody else.
        block_in_place(|| {
            // What it was allowed by must be what is executed.
            bound.iter().try_for_each(Bound::check).map_err(Refusal::denied)?;
            self.launch(order, peers).map_err(|error| {
                Refusal::internal(format!("run {} could not be started: {error}", ticket.run_id))
            })
        })?;
        pause::point("daemon-launched");
        Ok(link)
    }

    /// Whether a run that is asked for now is started, or may wait for a place.
    pub(crate) fn check_room(&self) -> Result<(), Refusal> {
        self.check_open()?;
        self.admission.has_room().map_err(full)
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if self.is_draining() {
            return Err(Refusal::draining("the daemon is leaving: try again in a moment"));
        }
        if self.check_root() {
            return Err(Refusal::draining(
                "the state root was moved or deleted: this daemon leaves, and the next one is started where the root is now",
            ));
        }
        if !self.may_act() && reserve::is_full(self.state.path()) {
            return Err(Refusal::unavailable(format!(
                "the disk of {} is full, so nothing can be recorded or started: make room, or remove runs with `tenure rm`",
                self.state.path().display()
            )));
        }
        if !self.may_act() {
            return Err(Refusal::unavailable(
                "the registry has not taken our heartbeat for too long, so nothing is started: `tenure doctor` looks why",
            ));
        }
        Ok(())
    }

    /// Has a nursery fork a keeper. One that is gone by now is replaced first.
    fn launch(&self, order: &Order<'_>, peers: Vec<(Role, Conn)>) -> io::Result<()> {
        // Before the nursery is locked, which all starts share.
        let prepared = order.prepare(&self.state, peers)?;
        let mut nursery = lock(&self.nursery);
        if nursery.as_ref().is_none_or(Nursery::is_gone) {
            *nursery = Some(Nursery::start(&self.state)?);
        }
        let nursery = nursery.as_ref().ok_or_else(|| io::Error::other("there is no nursery"))?;
        nursery.ask(prepared).map(drop)
    }

    /// Ends the live run of a scope, and waits until its whole tree is gone.
    async fn clear_scope(&self, scope: &str, row: &RunRow) -> Result<(), Refusal> {
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

fn full(Full { most, queued }: Full) -> Refusal {
    Refusal::busy(format!("{most} runs are alive and {queued} wait for a place: end some, or raise runs.max"))
}

#[cfg(test)]
mod tests;
