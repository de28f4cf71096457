//! An installation with notification channels, and the registry's view of their notices: read from its file, without
//! Tenure's own code.

use crate::api::{Api, text};
use crate::daemon_fixture::DaemonFixture;
use crate::eventually;
use crate::install::Install;
use crate::webhook_receiver::{SECRET, WebhookReceiver};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// An installation with channels.
#[derive(Debug)]
pub struct NotifyFixture {
    fixture: DaemonFixture,
    /// Its daemon.
    pub api: Api,
}

/// A task's row in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub task: String,
    /// Its run, if it has one.
    pub run: Option<String>,
    /// Its status.
    pub status: String,
    /// Its delivery status.
    pub delivery: String,
    /// The state of its run.
    pub run_state: Option<String>,
    /// The keys and states of the notices of its end.
    pub ends: Vec<(String, String)>,
}

/// A webhook channel's table with a path of a receiver.
pub fn webhook(name: &str, receiver: &WebhookReceiver, path: &str) -> String {
    let (url, secret) = (receiver.url(path), String::from_utf8_lossy(SECRET));
    format!("[channels.{name}]\nwebhook = '{url}'\nsecret = '{secret}'\ntimeout = '30s'\n")
}

impl NotifyFixture {
    /// Prepares an installation with these channels, without a daemon and without autostart.
    pub fn without_daemon(channels: &str) -> Self {
        let install = Install::new();
        std::fs::write(install.config(), channels).expect("a configuration");
        let api = Api::Local(install.state().join("daemon.sock"));
        Self { fixture: DaemonFixture::of(install), api }
    }

    /// Prepares the installation and starts the daemon.
    #[track_caller]
    pub fn new(channels: &str) -> Self {
        let told = Self::without_daemon(channels);
        told.start_daemon();
        told
    }

    /// Makes a session that is notified on this channel.
    #[track_caller]
    pub fn owner(&self, key: &str, channel: &str) {
        let origin = json!({"channel": channel, "to": "#ops", "thread": "7"});
        let request = json!({"action": "spawn", "sessionKey": key, "backend": "exec", "origin": origin,
                             "cwd": self.dir().to_str().expect("UTF-8")});
        let _ = self.api.post("/v1/sessions", &request).is(201);
    }

    /// Sends a sessions request.
    #[track_caller]
    pub fn expect_ok(&self, action: &str, key: &str) -> Value {
        self.api.post("/v1/sessions", &json!({"action": action, "sessionKey": key})).is(200).json()
    }

    /// Starts a task of this owner; returns its run.
    #[track_caller]
    pub fn task(&self, owner: &str, script: &str) -> String {
        self.task_with(owner, script, json!({}))
    }

    /// [`Self::task`] with more fields.
    #[track_caller]
    pub fn task_with(&self, owner: &str, script: &str, mut request: Value) -> String {
        request["command"] = json!(["sh", "-c", script]);
        request["session"] = owner.into();
        self.api.start(&request)
    }

    /// A task, as the API shows it.
    #[track_caller]
    pub fn show(&self, lookup: &str) -> Value {
        self.api.get(&format!("/v1/tasks/{lookup}")).is(200).json()["task"].clone()
    }

    /// The id of a run's task.
    #[track_caller]
    pub fn id_of(&self, run: &str) -> String {
        text(&self.show(run)["taskId"])
    }

    /// Waits until a task has this delivery status.
    #[track_caller]
    pub fn wait_delivery(&self, lookup: &str, delivery: &str) -> Value {
        eventually(&format!("the delivery of {lookup} is {delivery}"), || {
            Some(self.show(lookup)).filter(|task| task["deliveryStatus"] == delivery)
        })
    }

    /// Every task in the registry's file, in one snapshot.
    #[track_caller]
    pub fn task_rows(&self) -> Vec<TaskRow> {
        task_rows(self)
    }

    /// Waits until no task and no notice is pending; returns the tasks.
    #[track_caller]
    pub fn settled(&self) -> Vec<TaskRow> {
        settled(self)
    }

    /// Checks the final state: see [`check`].
    #[track_caller]
    pub fn check(&self, receiver: &WebhookReceiver, runs: &BTreeSet<String>) {
        check(self, receiver, runs);
    }

    /// Checks the records after every run has ended, and asserts that no process is left.
    #[track_caller]
    pub fn finish(self) {
        self.fixture.finish();
    }
}

impl Deref for NotifyFixture {
    type Target = DaemonFixture;

    fn deref(&self) -> &DaemonFixture {
        &self.fixture
    }
}

fn registry(install: &Install) -> rusqlite::Result<Connection> {
    let path = install.state().join("tenure.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(crate::WAIT_LIMIT)?;
    Ok(db)
}

/// Every task in the registry's file, in one snapshot.
#[track_caller]
pub fn task_rows(install: &Install) -> Vec<TaskRow> {
    load(install).expect("a registry that can be read")
}

fn load(install: &Install) -> rusqlite::Result<Vec<TaskRow>> {
    let db = registry(install)?;
    db.execute_batch("BEGIN")?;
    let mut tasks = db.prepare(
        "SELECT t.task_id, t.run_id, t.status, t.delivery, r.state
         FROM tasks t LEFT JOIN runs r ON r.run_id = t.run_id ORDER BY t.task_id",
    )?;
    let mut ends =
        db.prepare("SELECT key, state FROM outbox WHERE task_id = ?1 AND purpose IN ('terminal', 'correction') ORDER BY seq")?;
    let mut rows = tasks.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let task: String = row.get(0)?;
        let ends = ends.query_map([&task], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.push(TaskRow {
            ends: ends.collect::<Result<_, _>>()?,
            run: row.get(1)?,
            status: row.get(2)?,
            delivery: row.get(3)?,
            run_state: row.get(4)?,
            task,
        });
    }
    Ok(found)
}

/// Number of tasks that are running or not notified.
#[track_caller]
pub fn open(install: &Install) -> u64 {
    let sql = "SELECT count(*) FROM tasks WHERE status IN ('queued', 'running') OR delivery = 'pending'";
    let count = registry(install).and_then(|db| db.query_row(sql, [], |row| row.get::<_, u32>(0)));
    count.expect("a registry that can be read").into()
}

/// Waits until no task and no notice is pending; returns the tasks.
#[track_caller]
pub fn settled(fixture: &DaemonFixture) -> Vec<TaskRow> {
    eventually(&format!("every task is notified\n{}", fixture.log()), || (open(fixture) == 0).then_some(()));
    task_rows(fixture)
}

/// Checks that each task has one notice of its end, accepted under its only key, signed, and after all
/// earlier ones, and that `tasks audit` finds nothing wrong.
#[track_caller]
pub fn check(fixture: &DaemonFixture, receiver: &WebhookReceiver, runs: &BTreeSet<String>) {
    let all = settled(fixture);
    let tracked: BTreeSet<String> = all.iter().filter_map(|one| one.run.clone()).collect();
    assert!(runs.is_subset(&tracked), "lost: {:?}", runs.difference(&tracked));
    let accepted = receiver.accepted();
    for one in &all {
        let key = format!("task-{}-terminal", one.task);
        assert_eq!(one.ends, [(key.clone(), "delivered".to_owned())], "{one:?}");
        assert_eq!((one.delivery.as_str(), one.run_state.as_deref()), ("delivered", Some("exited")));
        assert!(accepted.contains_key(&key), "never accepted: {one:?}");
    }
    let calls = receiver.calls();
    assert!(calls.iter().all(|call| call.signed), "a call was not signed");
    let ends: BTreeSet<&str> =
        calls.iter().filter(|call| call.purpose() != "change").map(|call| call.key.as_str()).collect();
    assert_eq!(ends.len(), all.len(), "an end was sent under two keys");
    let audit = fixture.tenure(&["tasks", "audit"]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

/// A FIFO at which commands wait without working: each reads a line of it.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    /// Open for reading and writing, so that neither side waits for the other.
    fifo: File,
}

impl Gate {
    /// Makes a closed gate.
    #[track_caller]
    pub fn new(dir: &Path, name: &str) -> Self {
        use rustix::fs::{CWD, FileType, Mode, OFlags};
        let path = dir.join(name);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("mkfifo");
        let fifo = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("a FIFO");
        Self { path, fifo: fifo.into() }
    }

    /// A command that prints a word and fails once the gate is open.
    pub fn script(&self) -> String {
        format!("read line < '{}'; echo word; exit 3", self.path.display())
    }

    /// Lets all present and future commands through while this lives.
    #[track_caller]
    pub fn open(&self) {
        (&self.fifo).write_all(&[b'\n'; 4096]).expect("room for all lines");
    }
}
