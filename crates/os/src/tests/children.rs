//! What Windows has instead of signals.

use super::role;
use crate::poll::{self, Interest};
use crate::signals::{self, Signals};
use crate::system::{children, raise};
use std::os::windows::io::AsHandle;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

#[test]
fn a_signal_is_told_once_to_each_that_has_taken_it_and_wakes_it() {
    let (one, other) = (Signals::take(&[1, 3]).unwrap(), Signals::take(&[3]).unwrap());
    assert!(raise(3) && raise(1) && raise(3));
    let ready = poll::wait(&[Interest::reading(&one), Interest::reading(&other)], PATIENCE).unwrap();
    assert!(ready.iter().all(|ready| ready.read));
    assert_eq!([one.next(), one.next(), one.next()], [Some(3), Some(1), None]);
    assert_eq!([other.next(), other.next()], [Some(3), None]);
    let ready = poll::wait(&[Interest::reading(&one)], Some(Duration::ZERO)).unwrap();
    assert!(!ready[0].read, "nothing is left to read");
    drop((one, other));
    assert!(!raise(3), "nobody has taken it");
}

#[test]
fn the_end_of_a_child_is_a_signal_and_it_is_taken_once() {
    let signals = Signals::take(&[signals::CHILD]).unwrap();
    let mut player = role::start("wait");
    let pid = player.pid();
    let process = player.child.as_handle().try_clone_to_owned().unwrap();
    children::adopt(pid, process).unwrap();
    assert!(children::pids().contains(&pid));
    assert_eq!(children::take_one(pid), None, "it lives");
    player.child.kill().unwrap();
    poll::wait(&[Interest::reading(&signals)], PATIENCE).unwrap();
    assert_eq!(signals.next(), Some(signals::CHILD));
    assert_eq!(children::look_at(pid), Some(1));
    assert!(children::take_ended().contains(&(pid, 1)));
    assert_eq!(children::take_one(pid), None);
    player.child.wait().unwrap();
}
