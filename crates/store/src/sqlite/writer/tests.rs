//! Batches in which the store itself fails in the middle.

use super::*;
use rusqlite::ErrorCode;
use std::cell::Cell;
use std::sync::mpsc;

type Answer = oneshot::Receiver<Result<(), Failed>>;

/// A database in memory that cannot grow beyond a few pages.
fn small() -> Writer {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE TABLE t (x BLOB); PRAGMA max_page_count = 8").unwrap();
    Writer::new(db)
}

fn insert(bytes: usize) -> (Box<dyn Operation>, Answer) {
    let (reply, answer) = oneshot::channel();
    let work = move |db: &Connection| {
        db.execute("INSERT INTO t VALUES (zeroblob(?1))", [i64::try_from(bytes).unwrap()])?;
        Ok(())
    };
    (Box::new(Pending::new(work, false, reply)), answer)
}

/// Makes an operation that ends the whole transaction, as a failing disk does, the first time it runs.
fn breaks_once() -> (Box<dyn Operation>, Answer) {
    let (reply, answer) = oneshot::channel();
    let broken = Cell::new(false);
    let work = move |db: &Connection| {
        if !broken.replace(true) {
            db.execute_batch("ROLLBACK")?;
            return Err(Trouble::Sql(rusqlite::Error::InvalidQuery));
        }
        Ok(())
    };
    (Box::new(Pending::new(work, false, reply)), answer)
}

fn rows(writer: &Writer) -> i64 {
    writer.db.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

fn serve(writer: &mut Writer, batch: Vec<Box<dyn Operation>>) {
    let (queue, operations) = mpsc::channel();
    batch.into_iter().for_each(|operation| queue.send(operation).unwrap());
    drop(queue);
    writer.serve(&operations);
}

#[test]
fn what_finds_no_room_fails_alone_and_later_ones_work_again() {
    let mut writer = small();
    let (first, mut kept) = insert(10);
    let (large, mut refused) = insert(1 << 20);
    let (last, mut kept_too) = insert(10);
    serve(&mut writer, vec![first, large, last]);
    assert_eq!(kept.try_recv().unwrap(), Ok(()));
    let full = Failed::Unavailable("the disk is full: make room, and it works again".to_owned());
    assert_eq!(refused.try_recv().unwrap(), Err(full));
    assert_eq!(kept_too.try_recv().unwrap(), Ok(()));
    assert_eq!(rows(&writer), 2);

    writer.db.execute_batch("PRAGMA max_page_count = 1000000").unwrap();
    let (large, mut kept) = insert(1 << 20);
    serve(&mut writer, vec![large]);
    assert_eq!(kept.try_recv().unwrap(), Ok(()));
}

#[test]
fn when_the_whole_transaction_ends_each_has_its_own_try() {
    let mut writer = small();
    let (first, mut kept) = insert(10);
    let (breaking, mut done) = breaks_once();
    let (last, mut kept_too) = insert(10);
    serve(&mut writer, vec![first, breaking, last]);
    assert_eq!(kept.try_recv().unwrap(), Ok(()));
    assert_eq!(done.try_recv().unwrap(), Ok(()));
    assert_eq!(kept_too.try_recv().unwrap(), Ok(()));
    assert_eq!(rows(&writer), 2);
}

#[test]
fn one_that_breaks_its_own_transaction_is_told_why() {
    let mut writer = small();
    let (breaking, mut told) = breaks_once();
    serve(&mut writer, vec![breaking]);
    assert_eq!(told.try_recv().unwrap(), Err(unavailable(&rusqlite::Error::InvalidQuery)));
    let (next, mut kept) = insert(10);
    serve(&mut writer, vec![next]);
    assert_eq!(kept.try_recv().unwrap(), Ok(()));
}

#[test]
fn only_batches_with_what_must_be_on_the_disk_wait_for_it() {
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let mut writer = small();
    for (flushes, expected) in [(false, NORMAL), (true, FULL), (false, NORMAL)] {
        let (reply, mut answer) = oneshot::channel();
        let work =
            |db: &Connection| Ok(db.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))?);
        serve(&mut writer, vec![Box::new(Pending::new(work, flushes, reply))]);
        assert_eq!(answer.try_recv().unwrap(), Ok(expected));
    }
}

#[test]
fn a_lock_of_another_process_is_no_failure() {
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY_RECOVERY);
    assert_eq!(busy.code, ErrorCode::DatabaseBusy);
    assert!(is_busy(&rusqlite::Error::SqliteFailure(busy, None)));
}
