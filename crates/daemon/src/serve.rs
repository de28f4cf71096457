//! The daemon's lifecycle: lock, enrolment in the registry, recorded runs, sockets, shutdown.

use crate::daemon::Daemon;
use crate::housekeeping::DaemonChores;
use crate::http;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::acp::watch_adapters;
use tenure_core::wire::KeeperRequest;
use tenure_core::{daemon_lock, defaults};
use tenure_keeper::launch::NurseryHandle;
use tenure_keeper::state_root::StateRoot;
use tenure_os::file::FileId;
use tenure_os::lock::Lock;
use tenure_os::socket::Conn;
use tenure_os::{clock, descriptors, file, hear, memory, process, program, service, stream};
use tenure_settings::Settings;
use tenure_store::sqlite::{OpenFailed, Sqlite};
use tenure_store::{Home, Registry};
use tenure_supervisor::events;
use tenure_supervisor::exec_notice;
use tenure_supervisor::housekeeping::{self, Chore};
use tenure_supervisor::reconcile;
use tenure_supervisor::register_existing;
use tenure_supervisor::{DRAIN_TIMEOUT, Phase};
use tenure_supervisor::{Supervisor, record_lost_runs};
use tenure_supervisor::{disk_reserve, lease, liveness};
use tokio::task::JoinHandle;

/// Maximum time that clients wait for recorded runs to be reconciled.
const RECONCILE_WAIT: Duration = Duration::from_secs(2);

/// Reason why the daemon cannot serve, or stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum CannotServe {
    /// A daemon already serves this state root.
    #[error("a daemon is already running on {}: a state root has only one daemon", .0.display())]
    AlreadyRunning(PathBuf),
    /// The daemon was started inside a run. It would end with that run, and all runs with it.
    #[error(
        "the daemon cannot be started inside a run, because it would end with that run: start it outside of all runs"
    )]
    InsideARun,
    /// The registry cannot be used.
    #[error(transparent)]
    Registry(#[from] OpenFailed),
    /// The registry refuses to enrol this instance.
    #[error("{0}")]
    Seat(tenure_store::Failed),
    /// The recorded runs cannot be read.
    #[error("the recorded runs cannot be read, so the daemon cannot hold them: {0}")]
    Unread(tenure_store::Failed),
    /// The registry's file was removed or replaced.
    #[error(
        "{} was removed or replaced while the daemon was running: the daemon restarts with the current file, and runs continue",
        .0.display()
    )]
    RegistryReplaced(PathBuf),
    /// The state root cannot be used.
    #[error(transparent)]
    State(#[from] tenure_keeper::state_root::StateRootError),
    /// The disk of the state root is full.
    #[error("the disk of {} is full: free some space, or set TENURE_STATE to a directory on another disk ({source})", path.display())]
    DiskFull {
        /// The state root.
        path: PathBuf,
        /// The failed operation.
        source: Box<CannotServe>,
    },
    /// An operation of the system failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> CannotServe {
    let what = what.into();
    move |source| CannotServe::Io { what, source }
}

/// Runs the daemon until it is told to exit. Calls `ready` once clients can connect. Sends signs of life over `warden`.
pub fn run(settings: Settings, warden: Option<Conn>, ready: impl FnOnce()) -> Result<(), CannotServe> {
    let path = settings.state.clone();
    run_on(settings, warden, ready).map_err(|error| match error {
        CannotServe::AlreadyRunning(_) | CannotServe::InsideARun | CannotServe::RegistryReplaced(_) => error,
        error if disk_reserve::is_full(&path) => CannotServe::DiskFull { path, source: Box::new(error) },
        error => error,
    })
}

fn run_on(settings: Settings, warden: Option<Conn>, ready: impl FnOnce()) -> Result<(), CannotServe> {
    file::make_private();
    descriptors::raise_limit();
    memory::give_back_large_blocks();
    program::set_name(c"tenure-daemon");
    if program::is_inside_a_run() {
        return Err(CannotServe::InsideARun);
    }
    let state = StateRoot::open(&settings.state)?;
    let lock = Lock::take(state.dir(), daemon_lock::NAME).map_err(failed(daemon_lock::NAME))?;
    let Some(lock) = lock else {
        return Err(CannotServe::AlreadyRunning(state.path().to_owned()));
    };
    disk_reserve::release_at_start(state.path());
    let own = process::own().map_err(failed("this process"))?;
    // Tells clients that cannot connect if they should wait.
    let tell = |serving: bool| lock.write(daemon_lock::text(&own, serving).as_bytes());
    tell(false).map_err(failed(daemon_lock::NAME))?;
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(2).thread_stack_size(1 << 20).enable_all();
    if let Some(stay) = stream::THREADS_STAY {
        threads.thread_keep_alive(stay);
    }
    let runtime = threads.build().map_err(failed("the daemon's threads"))?;
    runtime.spawn(liveness::show(settings.clone(), warden));
    // A failed write is harmless: the lock still names this process, only a removed socket is reported late.
    let ready = || {
        let _ = tell(true);
        ready();
    };
    let result = runtime.block_on(serve(settings, state, ready));
    let _ = tell(false);
    runtime.shutdown_timeout(DRAIN_TIMEOUT);
    if result.is_ok() {
        // The mark keeps wardens from starting another daemon. A warden that is our parent has our exit code as well.
        let _ = lock.write(daemon_lock::left(clock::unix_ms()).as_bytes());
    }
    drop(lock);
    result
}

async fn serve(settings: Settings, state: StateRoot, ready: impl FnOnce()) -> Result<(), CannotServe> {
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&settings.database())?);
    let opened = FileId::of(&settings.database()).map_err(failed("the registry's file"))?;
    let instance = state.instance().map_err(failed("the instance's id"))?;
    registry.settle_in(Home { instance: instance.clone(), runs: state.path().join("runs") });
    let about = lease::about(&state);
    let (tenancy, beat) = lease::enrol(&*registry, instance.clone(), about, settings.rhythm())
        .await
        .map_err(CannotServe::Seat)?;
    let supervisor = Arc::new(Supervisor::new(settings, state, instance, registry, tenancy));
    let daemon = Arc::new(Daemon::new(Arc::clone(&supervisor)));
    disk_reserve::create(&supervisor);
    // Before the runs are examined: giving up on a silent keeper takes longer than a lease lasts without renewal.
    let heartbeat = tokio::spawn(lease::beat(Arc::clone(&supervisor), beat));
    // Before any run is taken over: without a nursery the daemon could not serve them.
    let nursery = NurseryHandle::start(&supervisor.state).map_err(failed("the nursery"))?;
    *tenure_supervisor::sync::lock(&supervisor.starts.nursery) = Some(nursery);
    // Before clients can connect: a run that is not held yet would look lost.
    let settling = Arc::clone(&supervisor);
    let recorded = reconcile::recorded_at_start(&supervisor).await.map_err(CannotServe::Unread)?;
    // Before the first ending is received.
    exec_notice::move_all_to_background(&supervisor).await;
    let settling = tokio::spawn(async move {
        reconcile::settle_all(&settling, recorded).await;
        register_existing::register_marked(&settling).await;
        record_lost_runs(&settling).await;
    });
    // Runs of silent keepers are reconciled while the daemon serves.
    let _ = tokio::time::timeout(RECONCILE_WAIT, settling).await;
    let listeners = http::open(&daemon).map_err(failed("the API's socket"))?;
    daemon.resume_cancels().await;
    daemon.agents.resume_sessions().await;
    daemon.agents.reconnect_adapters().await;
    tokio::spawn(watch_adapters(Arc::clone(&daemon.agents)));
    let chores: Vec<Box<dyn Chore>> = vec![Box::new(DaemonChores(Arc::clone(&daemon)))];
    tokio::spawn(housekeeping::forever(Arc::clone(&supervisor), chores));
    tokio::spawn(Arc::clone(&daemon).clean_up_after_restart());
    let notifier = tokio::spawn(Arc::clone(&daemon.notifier).notify_forever());
    tokio::spawn(Arc::clone(&daemon).watch_tasks());
    // Nurseries are child processes of the daemon and must be reaped.
    tokio::spawn(hear::bury_children());
    tokio::spawn(drain_on_signal(Arc::clone(&supervisor)));
    events::tell_started(&supervisor, std::process::id()).await;
    tracing::info!(pid = std::process::id(), state = %supervisor.state.path().display(), "serving");
    service::ready();
    let connections = http::serve(Arc::clone(&daemon), listeners);
    ready();
    tokio::select! {
        () = shut_down(&daemon, connections, notifier, heartbeat) => Ok(()),
        // Runs are neither released nor ended, as in a crash, because the records of that would be lost.
        () = liveness::registry_replaced(&supervisor, opened) => Err(CannotServe::RegistryReplaced(supervisor.settings.database())),
    }
}

/// Waits for the shutdown request and shuts down: releases or ends runs, finishes responses and notices. The instance
/// stays enrolled.
async fn shut_down(
    daemon: &Arc<Daemon>,
    connections: http::Connections,
    notifier: JoinHandle<()>,
    heartbeat: JoinHandle<()>,
) {
    let supervisor = &daemon.supervisor;
    let mut phase = supervisor.lifecycle.phase.subscribe();
    let told = phase.wait_for(|phase| *phase != Phase::Serving).await.map(|phase| *phase);
    let cancel_runs = matches!(told, Ok(Phase::Draining { cancel_runs: true }));
    tracing::info!(cancel_runs, "shutting down");
    service::stopping();
    end_or_release_runs(supervisor, cancel_runs).await;
    // A panicked notifier has nothing to finish.
    let _ = notifier.await;
    events::tell_stopped(supervisor, cancel_runs).await;
    // Connections and heartbeat stop first: a later heartbeat would undo `rest`.
    supervisor.lifecycle.phase.send_replace(Phase::Gone);
    connections.finish(DRAIN_TIMEOUT).await;
    // A panicked heartbeat has stopped, too.
    let _ = heartbeat.await;
    lease::rest(supervisor).await;
}

/// Ends the runs that the daemon holds, or releases them to their keepers.
async fn end_or_release_runs(supervisor: &Supervisor, cancel_runs: bool) {
    // Waits for runs that are being started, so that they are held.
    drop(supervisor.starts.starting.write().await);
    let held = supervisor.runs.all();
    if cancel_runs && supervisor.state.is_deleted() {
        // Keepers end their runs by themselves. Their endings cannot be recorded anywhere.
        held.iter().for_each(|held| held.say(KeeperRequest::Abandon));
        let over = futures_util::future::join_all(held.iter().map(|held| held.over()));
        let _ = tokio::time::timeout(defaults::GRACE + defaults::GIVE_UP, over).await;
        return;
    }
    if cancel_runs {
        held.iter().for_each(|held| held.cancel(false));
        for one in &held {
            one.over().await;
        }
        return;
    }
    let released = futures_util::future::join_all(held.iter().map(|held| held.release()));
    // A run whose release cannot be recorded now waits for the next daemon, for the length of its own grace.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, released).await;
}

/// Shuts down on a termination signal. Runs continue.
async fn drain_on_signal(supervisor: Arc<Supervisor>) {
    if hear::leave().await.is_ok() {
        supervisor.lifecycle.drain(false);
    }
}
