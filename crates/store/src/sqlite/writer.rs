//! The one thread that writes. It takes what has piled up and commits it as one transaction, each operation in a
//! savepoint of its own: one that fails fails alone, and a burst costs one commit. Nothing is answered before it
//! is committed. With nothing to do the thread waits on its queue; there is no timer.

use super::{Trouble, is_busy, unavailable};
use crate::Failed;
use rusqlite::Connection;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// The most operations of one transaction: it bounds how long the first of them waits.
const MOST: usize = 256;

/// An operation on its way to the database.
pub(super) trait Operation: Send {
    /// Whether it must be on the disk, not only with the system, before it is answered.
    fn flushes(&self) -> bool;
    /// Does it; whether it is to stand. It may be done again, if the transaction around it failed.
    fn run(&mut self, db: &Connection) -> bool;
    /// Answers, once the transaction is committed or has failed.
    fn answer(self: Box<Self>, committed: Result<(), Failed>);
}

/// An operation with its answer and whoever waits for it.
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
            // What the operation itself ran into says more than the end of its transaction.
            (Some(Err(own)), _) => Err(own),
            (_, Err(failed)) => Err(failed),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => unreachable!("a committed operation was run"),
        };
        // Whoever asked may have gone away; what was recorded stays recorded.
        let _ = self.reply.send(answer);
    }
}

/// How much a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// The system has it: it outlives this process.
    ToSystem,
    /// The disk has it: it outlives a power cut.
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

    /// Works until nobody can ask any more.
    pub(super) fn serve(&mut self, queue: &Receiver<Box<dyn Operation>>) {
        while let Ok(first) = queue.recv() {
            let mut batch = vec![first];
            batch.extend(queue.try_iter().take(MOST - 1));
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
                // Whose fault it was is not known: each has its own try.
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
        let done = self.fill(batch).and_then(|()| self.step("COMMIT"));
        if done.is_err() && !self.db.is_autocommit() {
            self.step("ROLLBACK")?;
        }
        done
    }

    fn fill(&self, batch: &mut [Box<dyn Operation>]) -> rusqlite::Result<()> {
        for operation in batch {
            self.step("SAVEPOINT operation")?;
            let stands = operation.run(&self.db);
            // A full disk or a failing one ends the whole transaction, and with it what came before.
            if self.db.is_autocommit() {
                return Err(rusqlite::Error::StatementChangedRows(0));
            }
            if !stands {
                self.step("ROLLBACK TO operation")?;
            }
            self.step("RELEASE operation")?;
        }
        Ok(())
    }

    /// A statement that stands around others: it is understood once.
    fn step(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// The setting is the connection's and cannot be changed inside of a transaction.
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
