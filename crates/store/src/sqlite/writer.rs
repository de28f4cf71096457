//! The only thread that writes. It takes all queued operations and commits them as one transaction: a burst costs
//! one commit. Among others, each operation has a savepoint of its own, so that one that fails fails alone. No result
//! is returned before the commit. An idle thread waits on its queue; there is no timer.

use super::{Trouble, is_busy, unavailable};
use crate::Failed;
use rusqlite::Connection;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// Maximum number of operations in a transaction, which limits how long the first of them waits.
const MAX_BATCH: usize = 256;

/// An operation on its way to the database.
pub(super) trait Operation: Send {
    /// Returns true if it must be on the disk, not only with the system, before its result is returned.
    fn flushes(&self) -> bool;
    /// Runs it; returns true to keep its changes. It may run again, if the transaction around it failed.
    fn run(&mut self, db: &Connection) -> bool;
    /// Returns the result, once the transaction is committed or has failed.
    fn answer(self: Box<Self>, committed: Result<(), Failed>);
}

/// An operation with its result and the caller that waits for it.
pub(super) struct Pending<T, W> {
    work: W,
    flushes: bool,
    outcome: Option<Result<T, Failed>>,
    reply: oneshot::Sender<Result<T, Failed>>,
}

impl<T, W> Pending<T, W> {
    pub(super) fn new(work: W, flushes: bool, reply: oneshot::Sender<Result<T, Failed>>) -> Self {
        Self { work, flushes, outcome: None, reply }
    }
}

impl<T, W> Operation for Pending<T, W>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, Trouble> + Send,
{
    fn flushes(&self) -> bool {
        self.flushes
    }

    fn run(&mut self, db: &Connection) -> bool {
        let outcome = (self.work)(db).map_err(Failed::from);
        self.outcome.insert(outcome).is_ok()
    }

    fn answer(self: Box<Self>, committed: Result<(), Failed>) {
        let answer = match (self.outcome, committed) {
            // The operation's own error says more than that of its transaction.
            (Some(Err(own)), _) => Err(own),
            (_, Err(failed)) => Err(failed),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => unreachable!("a committed operation was run"),
        };
        // The caller may have gone away; the record stays.
        let _ = self.reply.send(answer);
    }
}

/// The destination that a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// The operating system: it outlives this process.
    ToSystem,
    /// The disk: it outlives a power cut.
    ToDisk,
}

/// The writing connection.
pub(super) struct Writer {
    db: Connection,
    flush: Option<Flush>,
}

impl Writer {
    pub(super) fn new(db: Connection) -> Self {
        Self { db, flush: None }
    }

    /// Serves operations until no caller is left.
    pub(super) fn serve(&mut self, queue: &Receiver<Box<dyn Operation>>) {
        while let Ok(first) = queue.recv() {
            let mut batch = vec![first];
            batch.extend(queue.try_iter().take(MAX_BATCH - 1));
            self.commit(batch);
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Operation>>) {
        loop {
            match self.together(&mut batch) {
                Ok(()) => return batch.into_iter().for_each(|operation| operation.answer(Ok(()))),
                Err(error) if is_busy(&error) => {
                    tracing::warn!("the registry is locked by another process for long; waiting on");
                }
                // The culprit is unknown, so each operation is retried alone.
                Err(_) if batch.len() > 1 => {
                    return batch.into_iter().for_each(|operation| self.commit(vec![operation]));
                }
                Err(error) => {
                    let failed = unavailable(&error);
                    return batch.into_iter().for_each(|operation| operation.answer(Err(failed.clone())));
                }
            }
        }
    }

    fn together(&mut self, batch: &mut [Box<dyn Operation>]) -> rusqlite::Result<()> {
        let to_disk = batch.iter().any(|operation| operation.flushes());
        self.flush_to(if to_disk { Flush::ToDisk } else { Flush::ToSystem })?;
        self.step("BEGIN IMMEDIATE")?;
        let stands = match batch {
            [alone] => self.run(alone.as_mut()),
            several => self.fill(several).map(|()| true),
        };
        let done = stands.and_then(|stands| self.step(if stands { "COMMIT" } else { "ROLLBACK" }));
        if done.is_err() && !self.db.is_autocommit() {
            self.step("ROLLBACK")?;
        }
        done
    }

    fn fill(&self, batch: &mut [Box<dyn Operation>]) -> rusqlite::Result<()> {
        for operation in batch {
            self.step("SAVEPOINT operation")?;
            if !self.run(operation.as_mut())? {
                self.step("ROLLBACK TO operation")?;
            }
            self.step("RELEASE operation")?;
        }
        Ok(())
    }

    /// Runs an operation in the open transaction. Returns true to keep its changes.
    fn run(&self, operation: &mut dyn Operation) -> rusqlite::Result<bool> {
        let stands = operation.run(&self.db);
        // A full or failing disk ends the whole transaction, with all operations before this one.
        if self.db.is_autocommit() {
            return Err(rusqlite::Error::StatementChangedRows(0));
        }
        Ok(stands)
    }

    /// Runs a statement that stands around others; it is prepared once.
    fn step(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Sets the destination. It belongs to the connection and cannot be changed inside a transaction.
    fn flush_to(&mut self, flush: Flush) -> rusqlite::Result<()> {
        if self.flush == Some(flush) {
            return Ok(());
        }
        self.flush = None;
        self.db.execute_batch(match flush {
            Flush::ToSystem => "PRAGMA synchronous = NORMAL",
            Flush::ToDisk => "PRAGMA synchronous = FULL",
        })?;
        self.flush = Some(flush);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
