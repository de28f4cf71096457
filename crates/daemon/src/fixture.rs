//! A daemon without processes, for unit tests: its registry is a file in a temporary directory, and its launches go to a
//! fake nursery, whose keepers the test plays over the real wire.

mod fake_keeper;
mod fake_nursery;

pub(crate) use fake_keeper::{FakeKeeper, cancelled, exited};

use crate::asked::Asked;
use crate::daemon::{Daemon, lock};
use crate::held::Held;
use crate::lease;
use crate::refusal::Refusal;
use crate::requester::Requester;
use fake_nursery::FakeNursery;
use serde_json::Value;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tenure_core::ids::RunId;
use tenure_core::resources::Resources;
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, OnEscape, Orphan, Spec, Transport};
use tenure_core::state::State;
use tenure_core::tools::sessions::SessionsReply;
use tenure_keeper::state_root::StateRoot;
use tenure_settings::Settings;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Home, Registry, RunRow};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Time limit of every wait in a test. Nothing takes that long unless a rule is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A daemon whose keepers the test plays.
pub(crate) struct TestDaemon {
    daemon: Arc<Daemon>,
    /// Never closed: a daemon whose nursery is gone starts another, and that would be a process.
    nursery: ManuallyDrop<FakeNursery>,
    #[expect(dead_code, reason = "it is removed when the test ends")]
    dir: TempDir,
}

impl Deref for TestDaemon {
    type Target = Arc<Daemon>;

    fn deref(&self) -> &Arc<Daemon> {
        &self.daemon
    }
}

impl TestDaemon {
    /// A daemon with the default settings.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A daemon with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with_config("", change).await
    }

    /// A daemon that knows these channels by name: what reaches them is up to the test.
    pub(crate) async fn with_channels(names: &[&str]) -> Self {
        let tables = names.iter().map(|name| format!("[channels.{name}]\nreached-by = 'the test'\n"));
        Self::with_config(&tables.collect::<String>(), |_| {}).await
    }

    async fn with_config(config: &str, change: impl FnOnce(&mut Settings)) -> Self {
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
        let daemon = Arc::new(Daemon::new(settings, state, instance, registry, tenancy));
        *lock(&daemon.nursery) = Some(connection);
        Self { daemon, nursery: ManuallyDrop::new(nursery), dir }
    }

    /// The keeper of the next launch, which the daemon has asked the nursery for or will.
    pub(crate) async fn next_keeper(&self) -> FakeKeeper {
        FakeKeeper::serve(self.nursery.next_launch().await)
    }

    /// Returns true if the daemon has asked for a keeper that the test has not taken.
    pub(crate) fn has_launch(&self) -> bool {
        self.nursery.has_launch()
    }

    /// Starts a run in a task of its own; its launch has to be answered first.
    pub(crate) fn start_run(&self, asked: Asked) -> JoinHandle<Result<Arc<Held>, Refusal>> {
        let daemon = Arc::clone(&self.daemon);
        tokio::spawn(async move { daemon.start(asked, "a test".to_owned(), None).await })
    }

    /// Starts a run whose command executes, and returns its keeper.
    pub(crate) async fn running(&self, asked: Asked) -> FakeKeeper {
        let starting = self.start_run(asked);
        let keeper = self.next_keeper().await;
        keeper.start();
        soon(starting).await.expect("no panic").expect("started");
        keeper
    }

    /// Starts and takes one more run. Whatever the daemon was about to launch before that would come first.
    pub(crate) async fn assert_nothing_launched(&self) {
        let barrier = self.start_run(command("barrier"));
        let keeper = self.next_keeper().await;
        assert_eq!(keeper.ticket.command, ["barrier"], "nothing else may be launched");
        keeper.start();
        soon(barrier).await.expect("no panic").expect("started");
        keeper.end(exited(0));
    }

    /// A run's row.
    pub(crate) async fn row_of(&self, run: &RunId) -> RunRow {
        self.registry.run(run.clone()).await.expect("a registry").expect("a row")
    }

    /// Waits until the daemon has recorded a run's end and holds it no more.
    pub(crate) async fn is_over(&self, run: &RunId) {
        eventually("the end of a run", async || self.held(run).is_none()).await;
        assert_eq!(self.row_of(run).await.state, State::Exited);
    }

    /// Asks something about sessions.
    pub(crate) async fn ask_as(&self, who: &Requester, body: Value) -> Result<SessionsReply, Refusal> {
        let request = serde_json::from_value(body).expect("a request");
        let answered = soon(self.sessions(request, (None, who))).await?;
        Ok(answered.reply)
    }

    /// Asks something about sessions as an operator.
    pub(crate) async fn ask(&self, body: Value) -> Result<SessionsReply, Refusal> {
        self.ask_as(&operator(), body).await
    }
}

/// Somebody outside of all sessions.
pub(crate) fn operator() -> Requester {
    Requester::Operator { about: "a test".to_owned() }
}

/// Somebody who is bound to a session.
pub(crate) fn client(session: &str) -> Requester {
    Requester::client(session.to_owned(), "a test".to_owned())
}

/// A run of a command, as an operator asks for it.
pub(crate) fn command(word: &str) -> Asked {
    Asked {
        spec: Spec {
            transport: Transport::Pipes {
                command: Argv::new(vec![word.as_bytes().to_vec()]).expect("a command"),
                stdin: true,
            },
            cwd: b"/".to_vec(),
            env: Vec::new(),
            env_names: Vec::new(),
            umask: 0o022,
            nofile: None,
            session: None,
            scope: None,
            label: None,
            limits: tenure_core::limits::Limits::default(),
            resources: Resources::default(),
            on_escape: OnEscape::default(),
            orphan: Orphan::default(),
        },
        replace: false,
        only_session: None,
        session_parent: None,
        backend: Backend::Run,
        keep: None,
        run_id: None,
        exec: None,
        policy: None,
    }
}

/// A run of a session, as that session asks for it.
pub(crate) fn command_of(session: &str, word: &str) -> Asked {
    let mut asked = command(word);
    asked.spec.session = Some(session.to_owned());
    asked.only_session = Some(session.to_owned());
    asked
}

/// Waits for something that comes by itself, until the deadline.
pub(crate) fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let limited = Box::pin(timeout(DEADLINE, future));
    async move { limited.await.expect("it comes before the deadline") }
}

/// Waits until a condition holds that nothing tells of.
pub(crate) async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is().await {
        assert!(Instant::now() < deadline, "not before the deadline: {what}");
        tokio::task::yield_now().await;
    }
}
