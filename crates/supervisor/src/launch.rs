//! Starting a run: a place for it, its turn in its scope, its row in the registry, and only then its keeper (I2).

use crate::admission::{Admission, Full, Place};
use crate::latency::Latency;
use crate::lease;
use crate::link::Link;
use crate::reconcile;
use crate::refusal::Refusal;
use crate::reserve;
use crate::run_handle::{RunHandle, Status};
use crate::scopes::Scopes;
use crate::start_request::{StartCheck, StartRequest};
use crate::supervisor::Supervisor;
use crate::sync::lock;
use crate::task::new_task;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::lease::Hold;
use tenure_core::record::Ticket;
use tenure_core::spec::Spec;
use tenure_core::wire::{self, KeeperMessage, Role};
use tenure_keeper::launch::{Nursery, new_ticket, prepare};
use tenure_os::pause;
use tenure_os::socket::Conn;
use tenure_settings::Settings;
use tenure_store::{NewRun, RunRow};
use tokio::sync::{OwnedMutexGuard, RwLock};
use tokio::task::block_in_place;
use tokio::time::timeout;

/// Time limit for a command to be executed or refused before a client is told that it still starts.
const EXECUTION_LIMIT: Duration = Duration::from_mins(1);

/// Everything that the start of a run needs.
pub struct Starts {
    /// The number of runs that may be alive.
    pub admission: Admission,
    /// One start at a time in each scope.
    pub scopes: Scopes,
    /// Read by each start until its run is held; whoever leaves waits for them.
    pub starting: RwLock<()>,
    /// The connection to the nursery.
    pub nursery: Mutex<Option<Nursery>>,
    /// How long starts and stops take.
    pub latency: Latency,
}

impl Starts {
    /// Nothing is started yet.
    pub fn new(settings: &Settings) -> Self {
        Self {
            admission: Admission::new(settings.runs.max, settings.runs.queue),
            scopes: Scopes::default(),
            starting: RwLock::new(()),
            nursery: Mutex::new(None),
            latency: Latency::default(),
        }
    }
}

/// The right to begin a run: its place among those that may run at once, and its turn in its scope.
pub struct Admitted {
    place: Option<Place>,
    #[expect(dead_code, reason = "it is held until the run is recorded")]
    turn: Option<OwnedMutexGuard<()>>,
}

impl Supervisor {
    /// Starts a run. With `caller` it is a foreground run: that connection becomes the caller's to the keeper. If the spec
    /// passes standard input, the caller passes its own there.
    pub async fn start(
        self: &Arc<Self>,
        request: StartRequest,
        asked_by: String,
        caller: Option<Conn>,
    ) -> Result<Arc<RunHandle>, Refusal> {
        let began = std::time::Instant::now();
        let admitted = self.enter(&request).await?;
        // A client that leaves from here on leaves a run, not half of one.
        let supervisor = Arc::clone(self);
        let beginning =
            tokio::spawn(async move { supervisor.begin(request, admitted, asked_by, caller).await });
        let run = beginning.await.map_err(Refusal::internal)??;
        self.settle_in(&run, began).await;
        Ok(run)
    }

    /// Waits until a run's command executes or could not be; how long that took since it was asked for is counted.
    pub async fn settle_in(&self, run: &RunHandle, began: std::time::Instant) {
        // A command that takes long to be executed is started nevertheless.
        let _ = timeout(EXECUTION_LIMIT, run.begun()).await;
        self.starts.latency.started(began.elapsed());
    }

    /// Waits for a place among the runs and for one's turn in the scope. Whoever stops waiting has started nothing.
    pub async fn enter(self: &Arc<Self>, request: &StartRequest) -> Result<Admitted, Refusal> {
        check_open(self)?;
        let Some(scope) = &request.spec.options.scope else {
            let place = self.starts.admission.enter().await.map_err(full)?;
            return Ok(Admitted { place, turn: None });
        };
        self.starts.admission.has_room().map_err(full)?;
        let turn = Some(self.starts.scopes.turn(scope).await);
        // One that was removed and is still ending is there too.
        let Some(row) = self.registry.live_in_scope(scope.clone()).await? else {
            return Ok(Admitted { place: self.starts.admission.enter().await.map_err(full)?, turn });
        };
        if !request.may_replace(&row) {
            return Err(Refusal::scope_taken(format!(
                "the scope {scope:?} has a live run of another session"
            )));
        }
        if !request.replace {
            let run = row.ticket.run_id;
            return Err(tenure_store::Failed::ScopeTaken { scope: scope.clone(), holder: run }.into());
        }
        // Its place may be the one that is waited for, so it goes first.
        clear_scope(self, scope, &row).await?;
        Ok(Admitted { place: self.starts.admission.enter_as_promised().await, turn })
    }

    /// Records the run, and has a keeper made for it.
    pub async fn begin(
        self: &Arc<Self>,
        request: StartRequest,
        admitted: Admitted,
        asked_by: String,
        caller: Option<Conn>,
    ) -> Result<Arc<RunHandle>, Refusal> {
        let starting = self.starts.starting.read().await;
        check_open(self)?;
        // What somebody waits for is no task.
        let policy = request.policy.filter(|_| caller.is_none());
        let task = policy.map(|policy| new_task(policy, true)).transpose()?;
        let StartRequest { spec, backend, run_id, notify, check, session_parent, .. } = request;
        let mut ticket = new_ticket(self.instance.clone(), backend, &spec).map_err(Refusal::internal)?;
        ticket.registry_id = Some(self.leases.registry_id.clone());
        ticket.run_id = run_id.unwrap_or(ticket.run_id);
        let hold = Hold { instance: self.instance.clone(), epoch: ticket.lease_epoch };
        let path = self.state.run_path(&ticket.run_id);
        // It is held before it is recorded: a recorded run that nobody holds is one to be looked after, and a
        // process of the run may ask for something before we have heard of it.
        let (run, orders) = RunHandle::new(ticket, hold, path, Status::default());
        run.set_tracked(task.is_some());
        self.runs.insert(&run);
        let directory = run.directory.to_string_lossy().into_owned();
        let new = NewRun {
            ticket: run.ticket.clone(),
            directory,
            asked_by,
            exec: notify,
            session_parent,
            is_started: false,
            task,
        };
        let begun = match self.record_and_launch(&spec, (new, check.as_deref()), caller).await {
            Ok(link) => Ok(self.hold((run, orders), link, admitted.place)),
            Err(refusal) => {
                run.let_go("it could not be started".to_owned());
                self.runs.remove(&run);
                reconcile::reconcile_run(self, &run.ticket.run_id).await;
                Err(refusal)
            }
        };
        drop(starting);
        begun
    }

    /// Records a run, has a keeper made for it, and returns the connection to that.
    async fn record_and_launch(
        &self,
        spec: &Spec,
        (new, check): (NewRun, Option<&dyn StartCheck>),
        caller: Option<Conn>,
    ) -> Result<Link, Refusal> {
        let ticket = new.ticket.clone();
        // All that can fail before anything is recorded.
        let (mine, theirs) = Conn::pair().map_err(Refusal::internal)?;
        let link = Link::new(mine).map_err(Refusal::internal)?;
        match self.registry.create(new.clone()).await {
            Err(error) if reserve::give_up_reserve(self, &error) => self.registry.create(new).await?,
            other => other?,
        }
        self.events.notify_followers();
        pause::point("daemon-row-written");
        if let Some(caller) = &caller {
            // It hears of its run before the keeper speaks. One that does not listen is gone.
            let (run_id, takes_stdin) = (ticket.run_id.clone(), spec.passes_stdin);
            let welcome = KeeperMessage::Welcome { version: wire::VERSION, run_id, takes_stdin };
            let _ = caller.write(&wire::encode(&welcome, &[]));
        }
        let mut peers = vec![(Role::Holder { epoch: ticket.lease_epoch }, theirs)];
        peers.extend(caller.map(|caller| (Role::Caller, caller)));
        // A slow disk, or a nursery that does not listen, holds up nobody else.
        block_in_place(|| {
            // What it was allowed by must be what is executed.
            check.map_or(Ok(()), StartCheck::check).map_err(Refusal::denied)?;
            launch(self, &ticket, spec, peers).map_err(|error| {
                Refusal::internal(format!("run {} could not be started: {error}", ticket.run_id))
            })
        })?;
        pause::point("daemon-launched");
        Ok(link)
    }

    /// Refuses if a run could neither start now nor wait for a place.
    pub fn check_room(&self) -> Result<(), Refusal> {
        check_open(self)?;
        self.starts.admission.has_room().map_err(full)
    }
}

fn check_open(supervisor: &Supervisor) -> Result<(), Refusal> {
    if supervisor.lifecycle.is_draining() {
        return Err(Refusal::draining("the daemon is leaving: try again in a moment"));
    }
    if lease::check_root(supervisor) {
        return Err(Refusal::draining(
            "the state root was moved or deleted: this daemon leaves, and the next one is started where the root is now",
        ));
    }
    if !supervisor.leases.may_act() && reserve::is_full(supervisor.state.path()) {
        return Err(Refusal::unavailable(format!(
            "the disk of {} is full, so nothing can be recorded or started: make room, or remove runs with `tenure rm`",
            supervisor.state.path().display()
        )));
    }
    if !supervisor.leases.may_act() {
        return Err(Refusal::unavailable(
            "the registry has not taken our heartbeat for too long, so nothing is started: `tenure doctor` looks why",
        ));
    }
    Ok(())
}

/// Has a nursery fork a keeper. One that is gone by now is replaced first.
fn launch(supervisor: &Supervisor, ticket: &Ticket, spec: &Spec, peers: Vec<(Role, Conn)>) -> io::Result<()> {
    // Before the nursery is locked, which all starts share.
    let prepared = prepare(&supervisor.state, ticket, spec, peers)?;
    let mut nursery = lock(&supervisor.starts.nursery);
    if nursery.as_ref().is_none_or(Nursery::is_gone) {
        *nursery = Some(Nursery::start(&supervisor.state)?);
    }
    let nursery = nursery.as_ref().ok_or_else(|| io::Error::other("there is no nursery"))?;
    nursery.ask(prepared).map(drop)
}

/// Ends the live run of a scope, and waits until its whole tree is gone.
async fn clear_scope(supervisor: &Supervisor, scope: &str, row: &RunRow) -> Result<(), Refusal> {
    let run = &row.ticket.run_id;
    let held = supervisor.runs.get(run).ok_or_else(|| {
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

fn full(Full { most, queued }: Full) -> Refusal {
    Refusal::busy(format!("{most} runs are alive and {queued} wait for a place: end some, or raise runs.max"))
}

#[cfg(test)]
mod tests;
