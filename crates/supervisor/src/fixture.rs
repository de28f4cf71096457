//! A daemon without processes, for unit tests. Its registry is a file in a temporary directory, and its launches go
//! to a fake nursery, whose keepers the test plays over the real wire.

mod fake_keeper;
mod fake_nursery;

pub use fake_keeper::{FakeKeeper, cancelled, exited};

use crate::lease;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::run_handle::RunHandle;
use crate::start_request::StartRequest;
use crate::supervisor::Supervisor;
use crate::sync::lock;
use fake_nursery::FakeNursery;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tenure_core::ids::RunId;
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, RunOptions, Spec};
use tenure_core::state::State;
use tenure_keeper::state_root::StateRoot;
use tenure_settings::Settings;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Home, Registry, RunRow};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Time limit of every wait in a test. Nothing takes that long unless a rule is broken.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A supervisor whose keepers the test plays, and the crate under test on top.
pub struct Test<T> {
    top: Arc<T>,
    /// The supervisor.
    pub supervisor: Arc<Supervisor>,
    /// Never closed: a supervisor without a nursery would start one, which would be a process.
    nursery: ManuallyDrop<FakeNursery>,
    #[expect(dead_code, reason = "it is removed when the test ends")]
    dir: TempDir,
}

impl<T> Deref for Test<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.top
    }
}

/// A supervisor without a crate on top.
pub type TestSupervisor = Test<Supervisor>;

impl TestSupervisor {
    /// Makes a supervisor with the default settings.
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Makes a supervisor with changed settings.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::over("", change, Arc::clone).await
    }
}

impl<T> Test<T> {
    /// Makes a supervisor with this `config.toml` and changed settings, and what `build` adds on top.
    pub async fn over(
        config: &str,
        change: impl FnOnce(&mut Settings),
        build: impl FnOnce(&Arc<Supervisor>) -> Arc<T>,
    ) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("config.toml");
        std::fs::write(&file, config).expect("a configuration");
        let state = dir.path().join("state");
        let variables = |name: &str| match name {
            "TENURE_STATE" => Some(state.clone().into_os_string()),
            "TENURE_CONFIG" => Some(file.clone().into_os_string()),
            _ => None,
        };
        let mut settings = Settings::load_with(&[], &variables).expect("settings");
        // Nothing renews the lease here, and it must not end before the test does.
        settings.lease.ttl = Duration::from_hours(1);
        change(&mut settings);
        let state = StateRoot::open(&settings.state).expect("a state root");
        let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&settings.database()).expect("a registry"));
        let instance = state.instance().expect("an instance");
        registry.settle_in(Home { instance: instance.clone(), runs: state.path().join("runs") });
        let (tenancy, _) = lease::enrol(&*registry, instance.clone(), String::new(), settings.rhythm())
            .await
            .expect("a seat in the registry");
        let (nursery, connection) = FakeNursery::new(instance.clone());
        let supervisor = Arc::new(Supervisor::new(settings, state, instance, registry, tenancy));
        *lock(&supervisor.starts.nursery) = Some(connection);
        Self { top: build(&supervisor), supervisor, nursery: ManuallyDrop::new(nursery), dir }
    }

    /// Returns the keeper of the next launch, which it waits for.
    pub async fn next_keeper(&self) -> FakeKeeper {
        FakeKeeper::serve(self.nursery.next_launch().await)
    }

    /// Returns true if a launch waits that the test has not taken.
    pub fn has_launch(&self) -> bool {
        self.nursery.has_launch()
    }

    /// Starts a run in a task of its own; the test must serve its launch.
    pub fn start_run(&self, request: StartRequest) -> JoinHandle<Result<Arc<RunHandle>, Refusal>> {
        let supervisor = Arc::clone(&self.supervisor);
        tokio::spawn(async move { supervisor.start(request, "a test".to_owned(), None).await })
    }

    /// Starts a run whose command executes, and returns its keeper.
    pub async fn running(&self, request: StartRequest) -> FakeKeeper {
        let starting = self.start_run(request);
        let keeper = self.next_keeper().await;
        keeper.start();
        soon(starting).await.expect("no panic").expect("started");
        keeper
    }

    /// Starts one more run, and asserts that it is the next launch: an earlier launch would come first.
    pub async fn assert_nothing_launched(&self) {
        let barrier = self.start_run(command("barrier"));
        let keeper = self.next_keeper().await;
        assert_eq!(keeper.ticket.command, ["barrier"], "nothing else may be launched");
        keeper.start();
        soon(barrier).await.expect("no panic").expect("started");
        keeper.end(exited(0));
    }

    /// Reads a run's row.
    pub async fn row_of(&self, run: &RunId) -> RunRow {
        self.supervisor.registry.run(run.clone()).await.expect("a registry").expect("a row")
    }

    /// Waits until the daemon has recorded a run's end and does not hold it any more.
    pub async fn is_over(&self, run: &RunId) {
        eventually("the end of a run", async || self.supervisor.runs.get(run).is_none()).await;
        assert_eq!(self.row_of(run).await.state, State::Exited);
    }
}

/// Makes a requester outside all sessions.
pub fn operator() -> Requester {
    Requester::Operator { about: "a test".to_owned() }
}

/// Makes a requester that is bound to a session.
pub fn client(session: &str) -> Requester {
    Requester::client(session.to_owned(), "a test".to_owned())
}

/// Makes an operator's request of a command.
pub fn command(word: &str) -> StartRequest {
    let argv = Argv::new(vec![word.as_bytes().to_vec()]).expect("a command");
    let options = RunOptions { stdin: true, ..RunOptions::default() };
    StartRequest::new(Spec { argv, options, ..Spec::default() }, Backend::Run)
}

/// Makes a session's request of a command.
pub fn command_of(session: &str, word: &str) -> StartRequest {
    let mut request = command(word);
    request.spec.options.session_id = Some(session.to_owned());
    request.only_session = Some(session.to_owned());
    request
}

/// Waits for a future, until the deadline.
pub fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let limited = Box::pin(timeout(DEADLINE, future));
    async move { limited.await.expect("it comes before the deadline") }
}

/// Polls until a condition holds that no event reports.
pub async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is().await {
        assert!(Instant::now() < deadline, "not before the deadline: {what}");
        tokio::task::yield_now().await;
    }
}
