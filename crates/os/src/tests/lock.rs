use super::{eventually, role};
use crate::file::Dir;
use crate::lock::{Holder, Lock, holder};

#[test]
fn a_lock_is_held_until_its_holder_dies_and_looking_takes_nothing() {
    let base = tempfile::tempdir().expect("a directory");
    let dir = Dir::open(base.path()).expect("a directory");
    assert_eq!(holder(&dir, "lock").expect("an answer"), Holder::Nobody, "no file is nobody's");
    let mut player = role::start(&format!("hold {}", base.path().display()));
    player.hear("holds");
    for _ in 0..3 {
        assert_eq!(holder(&dir, "lock").expect("an answer"), Holder::Somebody);
        assert!(Lock::take(&dir, "lock").expect("an answer").is_none());
    }
    assert_eq!(dir.read("lock").expect("bytes").as_deref(), Some(&b"mine"[..]), "anybody may read it");
    player.child.kill().expect("a kill");
    player.child.wait().expect("its end");
    eventually("the lock is free", || {
        (holder(&dir, "lock").expect("an answer") == Holder::Nobody).then_some(())
    });
    let lock = Lock::take(&dir, "lock").expect("an answer").expect("it is free");
    assert_eq!(lock.read().expect("bytes"), b"mine");
    lock.write(b"ours").expect("a write");
    assert_eq!(lock.read().expect("bytes"), b"ours");
}
