//! The daemon's life: its lock, its seat in the registry, its runs, its sockets, and how it leaves.

use crate::chores::DaemonChores;
use crate::daemon::Daemon;
use crate::http;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::acp::watch_adapters;
use tenure_core::wire::KeeperRequest;
use tenure_core::{daemon_lock, defaults};
use tenure_keeper::launch::Nursery;
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
use tenure_supervisor::{FAREWELL, Phase};
use tenure_supervisor::{Supervisor, enrol_unknown};
use tenure_supervisor::{lease, liveness, reserve};
use tokio::task::JoinHandle;

/// How long clients wait until the recorded runs are settled.
const SETTLING: Duration = Duration::from_secs(2);

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub enum CannotServe {
    /// There is one already.
    #[error("a daemon is running on {}: one state root has one daemon", .0.display())]
    AlreadyRunning(PathBuf),
    /// The daemon would end with the run that it is started in, and everybody's runs with it.
    #[error(
        "no daemon is started inside a run, because it would end with that run: start it from outside of all runs"
    )]
    InsideARun,
    /// The registry cannot be used.
    #[error(transparent)]
    Registry(#[from] OpenFailed),
    /// The registry does not take us.
    #[error("{0}")]
    Seat(tenure_store::Failed),
    /// Nobody knows which runs there are.
    #[error("the recorded runs cannot be read, so none of them could be held: {0}")]
    Unread(tenure_store::Failed),
    /// The registry's file was removed or replaced.
    #[error(
        "{} was removed or replaced while the daemon ran: the daemon starts anew on what is there now, and runs go on",
        .0.display()
    )]
    RegistryReplaced(PathBuf),
    /// The state root cannot be used.
    #[error(transparent)]
    State(#[from] tenure_keeper::state_root::Unusable),
    /// There is no room for the daemon's files.
    #[error("the disk of {} is full: make room there, or set TENURE_STATE to another disk ({source})", path.display())]
    DiskFull {
        /// The state root.
        path: PathBuf,
        /// The failed operation.
        source: Box<CannotServe>,
    },
    /// The system failed us.
    #[error("{what}: {source}")]
    Io {
        /// Doing what.
        what: String,
        /// Why.
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
        error if reserve::is_full(&path) => CannotServe::DiskFull { path, source: Box::new(error) },
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
    reserve::give_up_at_start(state.path());
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
    // If the lock cannot be written, it still names us. Then only a removed socket is reported late.
    let ready = || {
        let _ = tell(true);
        ready();
    };
    let result = runtime.block_on(serve(settings, state, ready));
    let _ = tell(false);
    runtime.shutdown_timeout(FAREWELL);
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
    reserve::set_reserve(&supervisor);
    // Before the runs are looked at: a silent keeper takes longer to give up than a lease may go unrenewed.
    let heart = tokio::spawn(lease::beat(Arc::clone(&supervisor), beat));
    // Before any run is taken on: without one we would have to leave them again.
    let nursery = Nursery::start(&supervisor.state).map_err(failed("the nursery"))?;
    *tenure_supervisor::sync::lock(&supervisor.starts.nursery) = Some(nursery);
    // Before anybody can ask: a run that is not held yet would look lost.
    let settling = Arc::clone(&supervisor);
    let recorded = reconcile::recorded_at_start(&supervisor).await.map_err(CannotServe::Unread)?;
    // Before the first ending is taken.
    exec_notice::go_on_without_callers(&supervisor).await;
    let settling = tokio::spawn(async move {
        reconcile::settle_all(&settling, recorded).await;
        register_existing::adopt_marked(&settling).await;
        enrol_unknown(&settling).await;
    });
    // Those of silent keepers are settled while we serve.
    let _ = tokio::time::timeout(SETTLING, settling).await;
    let doors = http::open(&daemon).map_err(failed("the API's socket"))?;
    daemon.go_on_cancelling().await;
    daemon.agents.go_on_with_sessions().await;
    daemon.agents.rejoin_adapters().await;
    tokio::spawn(watch_adapters(Arc::clone(&daemon.agents)));
    let chores: Vec<Box<dyn Chore>> = vec![Box::new(DaemonChores(Arc::clone(&daemon)))];
    tokio::spawn(housekeeping::forever(Arc::clone(&supervisor), chores));
    tokio::spawn(Arc::clone(&daemon).await_clients());
    let notifier = tokio::spawn(Arc::clone(&daemon.notifier).notify_forever());
    tokio::spawn(Arc::clone(&daemon).watch_tasks());
    // Nurseries are our children; one that has left is taken off the list.
    tokio::spawn(hear::bury_children());
    tokio::spawn(hear_signals(Arc::clone(&supervisor)));
    events::tell_started(&supervisor, std::process::id()).await;
    tracing::info!(pid = std::process::id(), state = %supervisor.state.path().display(), "serving");
    service::ready();
    let connections = http::serve(Arc::clone(&daemon), doors);
    ready();
    tokio::select! {
        () = leave(&daemon, connections, notifier, heart) => Ok(()),
        // Runs are neither released nor ended, as in a crash, because the records of that would be lost.
        () = liveness::registry_replaced(&supervisor, opened) => Err(CannotServe::RegistryReplaced(supervisor.settings.database())),
    }
}

/// Serves until told to leave, and leaves: runs are released or ended, answers and notices are finished, the seat is
/// kept.
async fn leave(
    daemon: &Arc<Daemon>,
    connections: http::Connections,
    notifier: JoinHandle<()>,
    heart: JoinHandle<()>,
) {
    let supervisor = &daemon.supervisor;
    let mut phase = supervisor.lifecycle.phase.subscribe();
    let told = phase.wait_for(|phase| *phase != Phase::Serving).await.map(|phase| *phase);
    let cancel_runs = matches!(told, Ok(Phase::Draining { cancel_runs: true }));
    tracing::info!(cancel_runs, "leaving");
    service::stopping();
    part(supervisor, cancel_runs).await;
    // One that panicked tells no more.
    let _ = notifier.await;
    events::tell_stopped(supervisor, cancel_runs).await;
    // The doors are shut and the heart stands still first: a beat after the last would take the rest back.
    supervisor.lifecycle.phase.send_replace(Phase::Gone);
    connections.finish(FAREWELL).await;
    // One that panicked beats no more.
    let _ = heart.await;
    lease::rest(supervisor).await;
}

/// Ends the runs that we hold, or has them go on without us for as long as it takes.
async fn part(supervisor: &Supervisor, cancel_runs: bool) {
    // A run that is just being started is held first.
    drop(supervisor.starts.starting.write().await);
    let held = supervisor.runs.all();
    if cancel_runs && supervisor.state.is_deleted() {
        // Keepers end their runs by themselves from here on. What became of them can be recorded nowhere.
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
    // One whose record the registry does not take at this moment waits for the next daemon, for its own grace.
    let _ = tokio::time::timeout(FAREWELL, released).await;
}

/// Who is politely asked to leave stops; runs go on.
async fn hear_signals(supervisor: Arc<Supervisor>) {
    if hear::leave().await.is_ok() {
        supervisor.lifecycle.drain(false);
    }
}
