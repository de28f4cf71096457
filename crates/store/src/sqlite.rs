//! The embedded registry: one `SQLite` file, with one thread that writes and one that reads. Several processes of
//! one machine may share the file.
//!
//! Calls return at once: the operation is queued when the call returns, in the order of the calls, even if its
//! result is never awaited. A read sees everything that was reported as done before it was called.

mod columns;
mod events;
mod identify;
mod instances;
mod lists;
mod migrate;
mod open;
mod runs;
mod sessions;
mod talks;
mod tasks;
mod tools;
mod upkeep;
mod writer;

pub use open::OpenFailed;
pub use upkeep::{RecordedRun, recorded};

use crate::rows::{
    Beat, Change, Count, EventRow, Hold, Home, InstanceRow, NewEvent, NewRun, Page, Query, Retention, RunRow,
    Unfinished,
};
use crate::tasks::NewTask;
use crate::tools::{AllowRow, ApprovalRow, ExecRow, NewAnswer, NewApproval};
use crate::{Failed, Registry, Reply, ToolRegistry};
use rusqlite::{Connection, ErrorCode};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use tenure_core::ids::{InstanceId, RegistryId, RunId};
use tenure_core::session::SessionKey;
use tokio::sync::oneshot;
use writer::{Operation, Pending, Writer};

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// The registry in a file. Clones share it; it is closed with the last of them.
#[derive(Debug, Clone)]
pub struct Sqlite {
    threads: Arc<Threads>,
}

struct Threads {
    path: PathBuf,
    id: RegistryId,
    home: OnceLock<Home>,
    writer: Sender<Box<dyn Operation>>,
    reader: Sender<Question>,
    closing: Option<thread::JoinHandle<()>>,
}

impl Drop for Threads {
    /// Waits until the file is closed, with nothing left in the log beside it.
    fn drop(&mut self) {
        self.writer = mpsc::channel().0;
        self.reader = mpsc::channel().0;
        if let Some(closing) = self.closing.take() {
            // A thread that panicked has closed its connection all the same.
            let _ = closing.join();
        }
    }
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The error of an operation.
#[derive(Debug)]
enum Trouble {
    /// The store itself failed.
    Sql(rusqlite::Error),
    /// The store works; this is its refusal.
    Answer(Failed),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Sql(error) => unavailable(&error),
            Trouble::Answer(failed) => failed,
        }
    }
}

fn unavailable(error: &rusqlite::Error) -> Failed {
    Failed::Unavailable(match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full: make room, and it works again".to_owned(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("its file is damaged ({error}): stop Tenure and restore a backup")
        }
        _ => error.to_string(),
    })
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

impl Sqlite {
    /// Opens the registry in this file, which is created if it is missing. The directory must exist.
    pub fn open(path: &Path) -> Result<Self, OpenFailed> {
        let writing = open::writer(path)?;
        let id = identify::identify(&writing, path)?;
        let reading = open::reader(path).map_err(|error| OpenFailed::of_sql(path, error))?;
        let (writer, operations) = mpsc::channel();
        let (reader, questions) = mpsc::channel();
        let closing = Self::start(writing, operations, reading, questions)
            .map_err(|error| OpenFailed::of_system(path, error))?;
        let threads = Threads {
            path: path.to_owned(),
            id,
            home: OnceLock::new(),
            writer,
            reader,
            closing: Some(closing),
        };
        Ok(Self { threads: Arc::new(threads) })
    }

    fn start(
        writing: Connection,
        operations: Receiver<Box<dyn Operation>>,
        reading: Connection,
        questions: Receiver<Question>,
    ) -> std::io::Result<thread::JoinHandle<()>> {
        let reader = thread::Builder::new().name("registry-read".to_owned()).spawn(move || {
            for question in questions {
                question(&reading);
            }
        })?;
        thread::Builder::new().name("registry-write".to_owned()).spawn(move || {
            let mut writer = Writer::new(writing);
            writer.serve(&operations);
            // Only a writing connection can remove the log, and only as the last one.
            let _ = reader.join();
        })
    }

    fn write<T, W>(&self, work: W) -> Reply<T>
    where
        T: Send + 'static,
        W: FnMut(&Connection) -> Result<T, Trouble> + Send + 'static,
    {
        self.enqueue(work, false)
    }

    fn enqueue<T, W>(&self, work: W, flushes: bool) -> Reply<T>
    where
        T: Send + 'static,
        W: FnMut(&Connection) -> Result<T, Trouble> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let _ = self.threads.writer.send(Box::new(Pending::new(work, flushes, reply)));
        later(answer)
    }

    fn read<T, W>(&self, work: W) -> Reply<T>
    where
        T: Send + 'static,
        W: Fn(&Connection) -> Result<T, Trouble> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let question = move |db: &Connection| {
            if !reply.is_closed() {
                let _ = reply.send(patiently(|| work(db)));
            }
        };
        let _ = self.threads.reader.send(Box::new(question));
        later(answer)
    }

    /// Returns a function that adapts a row to this installation.
    fn placing(&self) -> impl Fn(RunRow) -> RunRow + Send + 'static {
        let home = self.threads.home.get().cloned();
        let id = self.threads.id.clone();
        move |row| match &home {
            Some(home) => home.place(&id, row),
            None => row,
        }
    }

    /// Runs the work on a thread of its own, which keeps the registry open until it is done.
    fn aside<T, W>(&self, work: W) -> Reply<T>
    where
        T: Send + 'static,
        W: Fn(&Path) -> Result<T, Trouble> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let registry = self.clone();
        let started = thread::Builder::new().name("registry-upkeep".to_owned()).spawn(move || {
            let _ = reply.send(patiently(|| work(&registry.threads.path)));
        });
        match started {
            Ok(_) => later(answer),
            Err(error) => Box::pin(async move { Err(Failed::Unavailable(error.to_string())) }),
        }
    }
}

/// Retries for as long as another process holds the lock.
fn patiently<T>(work: impl Fn() -> Result<T, Trouble>) -> Result<T, Failed> {
    loop {
        match work() {
            Err(Trouble::Sql(error)) if is_busy(&error) => {}
            done => return done.map_err(Failed::from),
        }
    }
}

fn later<T: Send + 'static>(answer: oneshot::Receiver<Result<T, Failed>>) -> Reply<T> {
    Box::pin(async move {
        answer.await.unwrap_or_else(|_| Err(Failed::Unavailable("its thread has ended".to_owned())))
    })
}

impl Registry for Sqlite {
    fn id(&self) -> RegistryId {
        self.threads.id.clone()
    }

    fn settle_in(&self, home: Home) {
        // A daemon opens a registry once, and calls this once.
        let _ = self.threads.home.set(home);
    }

    fn enrol(&self, instance: InstanceId, about: String, expires_at_ms: u64) -> Reply<Beat> {
        self.write(move |db| instances::enrol(db, &instance, &about, expires_at_ms))
    }

    fn beat(&self, instance: InstanceId, last: Beat, expires_at_ms: u64) -> Reply<Option<Beat>> {
        self.write(move |db| instances::beat(db, &instance, last, expires_at_ms))
    }

    fn instances(&self) -> Reply<Vec<InstanceRow>> {
        self.read(instances::all)
    }

    fn unseat(&self, instance: InstanceId, seen: Beat, now_ms: u64) -> Reply<Option<Beat>> {
        self.write(move |db| instances::unseat(db, &instance, seen, now_ms))
    }

    fn create(&self, run: NewRun) -> Reply<()> {
        self.write(move |db| runs::create(db, &run))
    }

    fn record_all(&self, run: RunId, hold: Hold, changes: Vec<Change>, at_ms: u64) -> Reply<bool> {
        let flushes = changes.iter().any(|change| matches!(change, Change::Ended(_)));
        let record = move |db: &Connection| {
            let mut taken = false;
            for change in &changes {
                taken = runs::record(db, &run, &hold, change, at_ms)?;
            }
            Ok(taken)
        };
        self.enqueue(record, flushes)
    }

    fn steal(
        &self,
        run: RunId,
        from: Hold,
        unseated: Beat,
        to: InstanceId,
        at_ms: u64,
    ) -> Reply<Option<Hold>> {
        let theft = runs::Theft { run, from, unseated, to, at_ms };
        self.write(move |db| runs::steal(db, &theft))
    }

    fn raise_epoch(&self, run: RunId, from: Hold, above: u64) -> Reply<Option<Hold>> {
        self.write(move |db| runs::raise_epoch(db, &run, &from, above))
    }

    fn hide(&self, run: RunId) -> Reply<()> {
        self.write(move |db| runs::hide(db, &run))
    }

    fn forget(&self, runs: Vec<RunId>) -> Reply<()> {
        self.write(move |db| runs::forget(db, &runs))
    }

    fn run(&self, run: RunId) -> Reply<Option<RunRow>> {
        let place = self.placing();
        self.read(move |db| Ok(runs::run(db, &run)?.map(&place)))
    }

    fn unknown(&self, runs: Vec<RunId>) -> Reply<Vec<RunId>> {
        self.read(move |db| runs::unknown(db, &runs))
    }

    fn find(&self, prefix: String, limit: usize) -> Reply<Vec<RunId>> {
        self.read(move |db| lists::find(db, &prefix, limit))
    }

    fn runs(&self, query: Query) -> Reply<Page> {
        let place = self.placing();
        self.read(move |db| {
            let Page { runs, next } = lists::page(db, &query)?;
            Ok(Page { runs: runs.into_iter().map(&place).collect(), next })
        })
    }

    fn unfinished(&self) -> Reply<Unfinished> {
        let place = self.placing();
        self.read(move |db| {
            let Unfinished { runs, unreadable } = lists::unfinished(db)?;
            Ok(Unfinished { runs: runs.into_iter().map(&place).collect(), unreadable })
        })
    }

    fn live_in_scope(&self, scope: String) -> Reply<Option<RunRow>> {
        let place = self.placing();
        self.read(move |db| Ok(lists::live_in_scope(db, &scope)?.map(&place)))
    }

    fn outlived(&self, of: InstanceId, keep: Retention, now_ms: u64, limit: usize) -> Reply<Vec<RunRow>> {
        let place = self.placing();
        self.read(move |db| {
            Ok(lists::outlived(db, &of, (keep, now_ms), limit)?.into_iter().map(&place).collect())
        })
    }

    fn tell(&self, event: NewEvent) -> Reply<u64> {
        self.write(move |db| events::tell(db, &event))
    }

    fn session_events(&self, session: SessionKey, limit: usize) -> Reply<Vec<EventRow>> {
        self.read(move |db| events::of_session(db, session.as_str(), limit))
    }

    fn events(&self, after: u64, run: Option<RunId>, limit: usize) -> Reply<Vec<EventRow>> {
        self.read(move |db| events::after(db, after, run.as_ref(), limit))
    }

    fn last_event(&self) -> Reply<u64> {
        self.read(events::last)
    }

    fn trim_events(&self, before_ms: u64, most: u64) -> Reply<()> {
        self.write(move |db| events::trim(db, before_ms, most))
    }

    fn counts(&self, instance: InstanceId) -> Reply<Vec<(Count, u64)>> {
        self.read(move |db| events::counts(db, &instance))
    }

    fn count(&self, instance: InstanceId, count: Count) -> Reply<()> {
        self.write(move |db| events::count(db, &instance, count, 1))
    }

    fn backup(&self, to: PathBuf) -> Reply<()> {
        self.aside(move |path| upkeep::backup(path, &to))
    }

    fn check(&self) -> Reply<Option<String>> {
        self.aside(upkeep::check)
    }
}

impl ToolRegistry for Sqlite {
    fn exec_run(&self, run: RunId) -> Reply<Option<ExecRow>> {
        self.read(move |db| tools::exec_run(db, &run))
    }

    fn go_background(&self, run: RunId, task: NewTask) -> Reply<()> {
        self.write(move |db| tools::go_background(db, &run, &task))
    }

    fn waited_for(&self, instance: InstanceId) -> Reply<Vec<RunId>> {
        self.read(move |db| tools::waited_for(db, &instance))
    }

    fn read_to(&self, run: RunId, mark: String) -> Reply<()> {
        self.write(move |db| tools::read_to(db, &run, &mark))
    }

    fn ask_person(&self, approval: NewApproval) -> Reply<()> {
        self.write(move |db| tools::ask_person(db, &approval))
    }

    fn approval(&self, id: RunId) -> Reply<Option<ApprovalRow>> {
        self.read(move |db| tools::approval(db, &id))
    }

    fn approvals(&self, pending_only: bool, limit: usize) -> Reply<Vec<ApprovalRow>> {
        self.read(move |db| tools::approvals(db, pending_only, limit))
    }

    fn answer(&self, id: RunId, answer: NewAnswer) -> Reply<bool> {
        self.write(move |db| tools::answer(db, &id, &answer))
    }

    fn expire_approvals(&self, now_ms: u64) -> Reply<Vec<RunId>> {
        self.write(move |db| tools::expire_approvals(db, now_ms))
    }

    fn trim_approvals(&self, before_ms: u64) -> Reply<()> {
        self.write(move |db| tools::trim_approvals(db, before_ms))
    }

    fn allow(&self, entry: Value, by: String, at_ms: u64) -> Reply<u64> {
        self.write(move |db| tools::allow(db, &entry, &by, at_ms))
    }

    fn allowlist(&self) -> Reply<Vec<AllowRow>> {
        self.read(tools::allowlist)
    }

    fn disallow(&self, id: u64) -> Reply<bool> {
        self.write(move |db| tools::disallow(db, id))
    }

    fn used(&self, ids: Vec<u64>, at_ms: u64) -> Reply<()> {
        self.write(move |db| tools::used(db, &ids, at_ms))
    }
}
