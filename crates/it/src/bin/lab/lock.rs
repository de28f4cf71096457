//! Locks that are held until death.

use crate::stranger::{fork_idle_after, fork_to_do, idle_until_orphaned_by, reap};
use rustix::process::Signal;
use tenure_os::file::Dir;
use tenure_os::fork::SingleThread;
use tenure_os::lock::{Holder, Lock, holder};

const NAME: &str = "keeper";

fn place() -> (tempfile::TempDir, Dir) {
    let base = tempfile::tempdir().expect("a directory");
    let dir = Dir::open(base.path()).expect("a directory");
    (base, dir)
}

pub(crate) fn dies_with_its_holder() {
    let alone = SingleThread::check().expect("one thread");
    let (_base, dir) = place();
    assert_eq!(holder(&dir, NAME).expect("a look"), Holder::Nobody, "there is no file yet");
    let keeper = fork_idle_after(&alone, || {
        let lock = Lock::take(&dir, NAME).expect("a lock").expect("it is free");
        lock.write(b"a note").expect("a note");
        std::mem::forget(lock);
        // A forked child has the descriptor and not the lock.
        let own = rustix::process::getpid();
        alone.fork(|| idle_until_orphaned_by(own)).expect("a fork");
    });
    for _ in 0..3 {
        assert_eq!(holder(&dir, NAME).expect("a look"), Holder::Somebody, "a query does not take it");
    }
    assert!(Lock::take(&dir, NAME).expect("a try").is_none(), "nor does a failed attempt");
    assert_eq!(dir.read(NAME).expect("a note").as_deref(), Some(&b"a note"[..]));
    assert_eq!(holder(&dir, NAME).expect("a look"), Holder::Somebody, "nor does reading");
    keeper.send(Signal::KILL);
    reap(keeper.pid);
    assert_eq!(holder(&dir, NAME).expect("a look"), Holder::Nobody, "a free lock means a dead holder");
    assert!(Lock::take(&dir, NAME).expect("a lock").is_some());
}

pub(crate) fn is_not_inherited() {
    let alone = SingleThread::check().expect("one thread");
    let (_base, dir) = place();
    let lock = Lock::take(&dir, NAME).expect("a lock").expect("it is free");
    for _ in 0..2 {
        let seen = fork_to_do(&alone, || {
            assert_eq!(holder(&dir, NAME).expect("a look"), Holder::Somebody, "its parent holds it");
            assert!(Lock::take(&dir, NAME).expect("a try").is_none(), "a child has inherited it");
        });
        assert_eq!(seen, 0, "and its end does not free it");
    }
    drop(lock);
}
