//! Starts a run: a slot, the lock of its scope, its row in the registry, and only then its keeper (I2).

use crate::admission::{Admission, Full, RunSlot};
use crate::disk_reserve;
use crate::latency::Latency;
use crate::lease;
use crate::link::Link;
use crate::reconcile;
use crate::refusal::Refusal;
use crate::run_handle::{RunHandle, Status};
use crate::scope_locks::ScopeLocks;
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
use tenure_keeper::launch::{NurseryHandle, new_ticket, prepare};
use tenure_os::pause;
use tenure_os::socket::Conn;
use tenure_settings::Settings;
use tenure_store::{NewRun, RunRow};
use tokio::sync::{OwnedMutexGuard, RwLock};
use tokio::task::block_in_place;
use tokio::time::timeout;

/// Time limit for a command to execute or fail before the client gets a run that is still starting.
const EXECUTION_LIMIT: Duration = Duration::from_mins(1);

/// Everything that the start of a run needs.
pub struct Starts {
    /// The number of runs that may be alive.
    pub admission: Admission,
    /// The locks that allow one start at a time in each scope.
    pub scopes: ScopeLocks,
    /// Locked for reading by each start until its run is held; a shutdown waits for the lock.
    pub starting: RwLock<()>,
    /// The connection to the nursery.
    pub nursery: Mutex<Option<NurseryHandle>>,
    /// The durations of starts and stops.
    pub latency: Latency,
}

impl Starts {
    /// Makes the state of a daemon that has started nothing.
    pub fn new(settings: &Settings) -> Self {
        Self {
            admission: Admission::new(settings.runs.max, settings.runs.queue),
            scopes: ScopeLocks::default(),
            starting: RwLock::new(()),
            nursery: Mutex::new(None),
            latency: Latency::default(),
        }
    }
}

/// The right to start a run: its slot, and the lock of its scope.
pub struct Admitted {
    slot: Option<RunSlot>,
    #[expect(dead_code, reason = "it is held until the run is recorded")]
    turn: Option<OwnedMutexGuard<()>>,
}

impl Supervisor {
    /// Starts a run. With `caller` it is a foreground run: that connection becomes the caller's to the keeper. If the
    /// spec passes standard input, the caller passes its own on it.
    pub async fn start(
        self: &Arc<Self>,
        request: StartRequest,
        asked_by: String,
        caller: Option<Conn>,
    ) -> Result<Arc<RunHandle>, Refusal> {
        let began = std::time::Instant::now();
        let admitted = self.enter(&request).await?;
        // If the client disconnects from here on, the run is still started completely.
        let supervisor = Arc::clone(self);
        let beginning =
            tokio::spawn(async move { supervisor.begin(request, admitted, asked_by, caller).await });
        let run = beginning.await.map_err(Refusal::internal)??;
        self.wait_until_started(&run, began).await;
        Ok(run)
    }

    /// Waits until a run's command executes or has failed to, and records how long that took since the request.
    pub async fn wait_until_started(&self, run: &RunHandle, began: std::time::Instant) {
        // A command that takes longer is started nevertheless.
        let _ = timeout(EXECUTION_LIMIT, run.begun()).await;
        self.starts.latency.started(began.elapsed());
    }

    /// Waits for a slot and for the lock of the scope. Nothing is started if the caller stops waiting.
    pub async fn enter(self: &Arc<Self>, request: &StartRequest) -> Result<Admitted, Refusal> {
        check_open(self)?;
        let Some(scope) = &request.spec.options.scope else {
            let slot = self.starts.admission.enter().await.map_err(full)?;
            return Ok(Admitted { slot, turn: None });
        };
        self.starts.admission.has_room().map_err(full)?;
        let turn = Some(self.starts.scopes.turn(scope).await);
        // A run that was removed and is still ending counts too.
        let Some(row) = self.registry.live_in_scope(scope.clone()).await? else {
            return Ok(Admitted { slot: self.starts.admission.enter().await.map_err(full)?, turn });
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
        // End it before waiting for a slot, which may be its own.
        clear_scope(self, scope, &row).await?;
        Ok(Admitted { slot: self.starts.admission.enter_unbounded().await, turn })
    }

    /// Records the run, and launches its keeper.
    pub async fn begin(
        self: &Arc<Self>,
        request: StartRequest,
        admitted: Admitted,
        asked_by: String,
        caller: Option<Conn>,
    ) -> Result<Arc<RunHandle>, Refusal> {
        let starting = self.starts.starting.read().await;
        check_open(self)?;
        // A run with a waiting caller is no task.
        let policy = request.policy.filter(|_| caller.is_none());
        let task = policy.map(|policy| new_task(policy, true)).transpose()?;
        let StartRequest { spec, backend, run_id, notify, check, session_parent, .. } = request;
        let mut ticket = new_ticket(self.instance.clone(), backend, &spec).map_err(Refusal::internal)?;
        ticket.registry_id = Some(self.leases.registry_id.clone());
        ticket.run_id = run_id.unwrap_or(ticket.run_id);
        let hold = Hold { instance: self.instance.clone(), epoch: ticket.lease_epoch };
        let path = self.state.run_path(&ticket.run_id);
        // Held before it is recorded: otherwise reconciliation would take the recorded run, and a process of the run
        // may send a request before we know its keeper.
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
            Ok(link) => Ok(self.hold((run, orders), link, admitted.slot)),
            Err(refusal) => {
                run.let_go("the run could not be started".to_owned());
                self.runs.remove(&run);
                reconcile::reconcile_run(self, &run.ticket.run_id).await;
                Err(refusal)
            }
        };
        drop(starting);
        begun
    }

    /// Records a run, launches its keeper, and returns the connection to the keeper.
    async fn record_and_launch(
        &self,
        spec: &Spec,
        (new, check): (NewRun, Option<&dyn StartCheck>),
        caller: Option<Conn>,
    ) -> Result<Link, Refusal> {
        let ticket = new.ticket.clone();
        // First everything that can fail, before anything is recorded.
        let (mine, theirs) = Conn::pair().map_err(Refusal::internal)?;
        let link = Link::new(mine).map_err(Refusal::internal)?;
        match self.registry.create(new.clone()).await {
            Err(error) if disk_reserve::release_after(self, &error) => self.registry.create(new).await?,
            other => other?,
        }
        self.events.notify_followers();
        pause::point("daemon-row-written");
        if let Some(caller) = &caller {
            // The caller gets its run's id before the keeper speaks. A caller that does not read is gone.
            let (run_id, takes_stdin) = (ticket.run_id.clone(), spec.passes_stdin);
            let welcome = KeeperMessage::Welcome { version: wire::VERSION, run_id, takes_stdin };
            let _ = caller.write(&wire::encode(&welcome, &[]));
        }
        let mut peers = vec![(Role::Holder { epoch: ticket.lease_epoch }, theirs)];
        peers.extend(caller.map(|caller| (Role::Caller, caller)));
        // Off the async threads: a slow disk or a slow nursery delays nothing else.
        block_in_place(|| {
            // The approved program must be the executed one.
            check.map_or(Ok(()), StartCheck::check).map_err(Refusal::denied)?;
            launch(self, &ticket, spec, peers).map_err(|error| {
                Refusal::internal(format!("run {} could not be started: {error}", ticket.run_id))
            })
        })?;
        pause::point("daemon-launched");
        Ok(link)
    }

    /// Refuses if a run could neither start now nor be queued.
    pub fn check_room(&self) -> Result<(), Refusal> {
        check_open(self)?;
        self.starts.admission.has_room().map_err(full)
    }
}

fn check_open(supervisor: &Supervisor) -> Result<(), Refusal> {
    if supervisor.lifecycle.is_draining() {
        return Err(Refusal::draining("the daemon is shutting down: try again in a moment"));
    }
    if lease::check_root(supervisor) {
        return Err(Refusal::draining(
            "the state root was moved or deleted: this daemon shuts down, and the next one starts where the root is now",
        ));
    }
    if !supervisor.leases.may_act() && disk_reserve::is_full(supervisor.state.path()) {
        return Err(Refusal::unavailable(format!(
            "the disk of {} is full, so nothing can be recorded or started: free space, or remove runs with `tenure rm`",
            supervisor.state.path().display()
        )));
    }
    if !supervisor.leases.may_act() {
        return Err(Refusal::unavailable(
            "the registry has not recorded our heartbeat for too long, so nothing is started: run `tenure doctor` to see why",
        ));
    }
    Ok(())
}

/// Has a nursery fork a keeper. A nursery that is gone is replaced first.
fn launch(supervisor: &Supervisor, ticket: &Ticket, spec: &Spec, peers: Vec<(Role, Conn)>) -> io::Result<()> {
    // Before the nursery is locked, because all starts share it.
    let prepared = prepare(&supervisor.state, ticket, spec, peers)?;
    let mut nursery = lock(&supervisor.starts.nursery);
    if nursery.as_ref().is_none_or(NurseryHandle::is_gone) {
        *nursery = Some(NurseryHandle::start(&supervisor.state)?);
    }
    let nursery = nursery.as_ref().ok_or_else(|| io::Error::other("no nursery is running"))?;
    nursery.request_keeper(prepared).map(drop)
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
            "the scope's run {run} was ended, but some of its processes may be alive ({}): nothing was started",
            ending.termination.sentence()
        ))),
        None => {
            Err(Refusal::held_elsewhere(format!("run {run} of the scope now belongs to another instance")))
        }
    }
}

fn full(Full { most, queued }: Full) -> Refusal {
    Refusal::busy(format!("{most} runs are alive and {queued} are queued: stop some, or raise runs.max"))
}

#[cfg(test)]
mod tests;
