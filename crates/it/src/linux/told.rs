//! An installation whose owners are told on channels, and what the registry says of that: read from its file, by other
//! means than Tenure's own.

use crate::api::{Api, text};
use crate::eventually;
use crate::home::Home;
use crate::install::Install;
use crate::receiver::{Receiver, SECRET};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// An installation with channels.
#[derive(Debug)]
pub struct Told {
    home: Home,
    /// Its daemon.
    pub api: Api,
}

/// A task as the registry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub task: String,
    /// Its run, if it has one.
    pub run: Option<String>,
    /// How it is.
    pub status: String,
    /// How it stands with its delivery.
    pub delivery: String,
    /// How its run is.
    pub run_state: Option<String>,
    /// The keys of the notices of its end, and how they stand.
    pub ends: Vec<(String, String)>,
}

/// A channel's table for a path of a receiver.
pub fn webhook(name: &str, receiver: &Receiver, path: &str) -> String {
    let (url, secret) = (receiver.url(path), String::from_utf8_lossy(SECRET));
    format!("[channels.{name}]\nwebhook = '{url}'\nsecret = '{secret}'\ntimeout = '30s'\n")
}

impl Told {
    /// With these channels and no daemon yet, nor one that starts by itself.
    pub fn without_daemon(channels: &str) -> Self {
        let install = Install::new();
        std::fs::write(install.config(), channels).expect("a configuration");
        let api = Api::Local(install.state().join("daemon.sock"));
        Self { home: Home::of(install), api }
    }

    /// The same with a daemon.
    #[track_caller]
    pub fn new(channels: &str) -> Self {
        let told = Self::without_daemon(channels);
        told.begin();
        told
    }

    /// Makes a session that is told on this channel.
    #[track_caller]
    pub fn owner(&self, key: &str, channel: &str) {
        let origin = json!({"channel": channel, "to": "#ops", "thread": "7"});
        let request = json!({"action": "spawn", "sessionKey": key, "backend": "exec", "origin": origin,
                             "cwd": self.dir().to_str().expect("UTF-8")});
        let _ = self.api.post("/v1/sessions", &request).is(201);
    }

    /// Does something with a session.
    #[track_caller]
    pub fn does(&self, action: &str, key: &str) -> Value {
        self.api.post("/v1/sessions", &json!({"action": action, "sessionKey": key})).is(200).json()
    }

    /// Starts a task of this owner; returns its run.
    #[track_caller]
    pub fn task(&self, owner: &str, script: &str) -> String {
        self.task_with(owner, script, json!({}))
    }

    /// The same with more.
    #[track_caller]
    pub fn task_with(&self, owner: &str, script: &str, mut request: Value) -> String {
        request["command"] = json!(["sh", "-c", script]);
        request["session"] = owner.into();
        self.api.start(&request)
    }

    /// How a task is.
    #[track_caller]
    pub fn show(&self, lookup: &str) -> Value {
        self.api.get(&format!("/v1/tasks/{lookup}")).is(200).json()["task"].clone()
    }

    /// The id of a run's task.
    #[track_caller]
    pub fn id_of(&self, run: &str) -> String {
        text(&self.show(run)["taskId"])
    }

    /// Waits until it stands so with the delivery of a task.
    #[track_caller]
    pub fn becomes(&self, lookup: &str, delivery: &str) -> Value {
        eventually(&format!("the delivery of {lookup} is {delivery}"), || {
            Some(self.show(lookup)).filter(|task| task["deliveryStatus"] == delivery)
        })
    }

    /// Every task, as the registry's file has it at one moment.
    #[track_caller]
    pub fn kept(&self) -> Vec<Kept> {
        kept(self)
    }

    /// Waits until no task is under way and no notice either; returns the tasks.
    #[track_caller]
    pub fn settled(&self) -> Vec<Kept> {
        settled(self)
    }

    /// Everything has ended, and is told as it should be: see [`check`].
    #[track_caller]
    pub fn check(&self, receiver: &Receiver, runs: &BTreeSet<String>) {
        check(self, receiver, runs);
    }

    /// Every run has ended: checks the records, and finds nothing left of anybody.
    #[track_caller]
    pub fn finish(self) {
        self.home.finish();
    }
}

impl Deref for Told {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

fn registry(install: &Install) -> rusqlite::Result<Connection> {
    let path = install.state().join("tenure.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(crate::PATIENCE)?;
    Ok(db)
}

/// Every task, as the registry's file has it at one moment.
#[track_caller]
pub fn kept(install: &Install) -> Vec<Kept> {
    load(install).expect("a registry that can be read")
}

fn load(install: &Install) -> rusqlite::Result<Vec<Kept>> {
    let db = registry(install)?;
    db.execute_batch("BEGIN")?;
    let mut tasks = db.prepare(
        "SELECT t.task_id, t.run_id, t.status, t.delivery, r.state
         FROM tasks t LEFT JOIN runs r ON r.run_id = t.run_id ORDER BY t.task_id",
    )?;
    let mut ends =
        db.prepare("SELECT key, state FROM outbox WHERE task_id = ?1 AND purpose <> 'change' ORDER BY seq")?;
    let mut rows = tasks.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let task: String = row.get(0)?;
        let ends = ends.query_map([&task], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.push(Kept {
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

/// How many tasks are under way, or not told.
#[track_caller]
pub fn open(install: &Install) -> u64 {
    let sql = "SELECT count(*) FROM tasks WHERE status IN ('queued', 'running') OR delivery = 'pending'";
    let count = registry(install).and_then(|db| db.query_row(sql, [], |row| row.get::<_, u32>(0)));
    count.expect("a registry that can be read").into()
}

/// Waits until no task is under way and no notice either; returns the tasks.
#[track_caller]
pub fn settled(home: &Home) -> Vec<Kept> {
    eventually(&format!("that every task is told\n{}", home.log()), || (open(home) == 0).then_some(()));
    kept(home)
}

/// Everything has ended: each task has one notice of its end, which was taken under its only key, signed, after all
/// that came before it; and nobody finds fault with any of it.
#[track_caller]
pub fn check(home: &Home, receiver: &Receiver, runs: &BTreeSet<String>) {
    let all = settled(home);
    let tracked: BTreeSet<String> = all.iter().filter_map(|one| one.run.clone()).collect();
    assert!(runs.is_subset(&tracked), "lost: {:?}", runs.difference(&tracked));
    let accepted = receiver.accepted();
    for one in &all {
        let key = format!("task-{}-terminal", one.task);
        assert_eq!(one.ends, [(key.clone(), "delivered".to_owned())], "{one:?}");
        assert_eq!((one.delivery.as_str(), one.run_state.as_deref()), ("delivered", Some("exited")));
        assert!(accepted.contains_key(&key), "never taken: {one:?}");
    }
    let calls = receiver.calls();
    assert!(calls.iter().all(|call| call.signed), "a call was not signed");
    let ends: BTreeSet<&str> =
        calls.iter().filter(|call| call.purpose() != "change").map(|call| call.key.as_str()).collect();
    assert_eq!(ends.len(), all.len(), "an end was told under two keys");
    let audit = home.tenure(&["tasks", "audit"]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

/// What commands wait at without doing anything: each reads a line of a FIFO.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    /// Both ends, so that nobody waits for the other.
    fifo: File,
}

impl Gate {
    /// A gate that is closed.
    #[track_caller]
    pub fn new(dir: &Path, name: &str) -> Self {
        use rustix::fs::{CWD, FileType, Mode, OFlags};
        let path = dir.join(name);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("mkfifo");
        let fifo = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("a FIFO");
        Self { path, fifo: fifo.into() }
    }

    /// A command that says something and fails once the gate is open.
    pub fn script(&self) -> String {
        format!("read line < '{}'; echo word; exit 3", self.path.display())
    }

    /// Lets everybody through who is there or comes while this lives.
    #[track_caller]
    pub fn open(&self) {
        (&self.fifo).write_all(&[b'\n'; 4096]).expect("room for more than come");
    }
}
