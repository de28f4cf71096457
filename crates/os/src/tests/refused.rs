//! Signals that must not be possible (I1).

use super::shell;
use crate::process::{Process, Sent, look, own};
use crate::root::Root;
use tenure_core::identity::{Evidence, SignalProof};
use tenure_core::signal::Signal;

/// A signal that has no effect on any process.
const HARMLESS: Signal = Signal(0);

fn held(process: &Process) -> SignalProof {
    match process.judge(process.identity()) {
        Evidence::Same(held) => held,
        other => panic!("not itself: {other:?}"),
    }
}

fn open(pid: i32) -> Process {
    Process::open(pid).unwrap().expect("a process")
}

#[test]
fn no_process_has_a_pid_below_one() {
    for pid in [0, -1, -2, i32::MIN] {
        assert!(Process::open(pid).unwrap().is_none(), "{pid}");
    }
}

#[test]
fn the_first_process_is_never_held() {
    let first = open(1);
    assert!(matches!(first.judge(first.identity()), Evidence::Unreadable(_)));
    assert!(matches!(look(first.identity()).0, Evidence::Unreadable(_)));
}

#[test]
fn this_process_does_not_signal_itself_by_proof() {
    let own = open(std::process::id().cast_signed());
    assert_eq!(own.signal(&held(&own), HARMLESS), Sent::Denied);
}

#[test]
#[should_panic(expected = "the proof is about")]
fn a_proof_about_one_process_is_no_right_to_another() {
    let (one, other) = (shell("read x"), shell("read x"));
    let proof = held(&open(one.pid()));
    open(other.pid()).signal(&proof, HARMLESS);
}

#[test]
fn a_proof_outlived_by_its_process_reaches_nobody() {
    let mut child = shell("read x");
    let process = open(child.pid());
    let proof = held(&process);
    assert_eq!(process.signal(&proof, HARMLESS), Sent::Yes);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert_eq!(process.signal(&proof, Signal::KILL), Sent::Gone);
}

#[test]
#[should_panic(expected = "group 1 is never signalled")]
fn the_first_group_is_never_signalled() {
    Root::new(open(1)).signal_group(HARMLESS);
}

#[test]
#[should_panic(expected = "is never signalled")]
fn our_own_group_is_never_signalled() {
    let group = rustix::process::getpgrp().as_raw_nonzero().get();
    match Process::open(group).unwrap() {
        Some(leader) => Root::new(leader).signal_group(HARMLESS),
        // The leader is invisible from here, so no root can be made.
        None => panic!("group {group} is never signalled"),
    };
}

#[test]
fn a_process_that_leads_no_group_has_none_to_be_signalled() {
    let child = shell("read x");
    let root = Root::new(open(child.pid()));
    assert_eq!(root.signal_group(Signal::KILL), Sent::Gone, "it is in our own group");
    assert!(open(child.pid()).is_alive());
}

#[test]
fn this_process_is_itself() {
    let own = own().unwrap();
    assert_eq!(own.pid, std::process::id().cast_signed());
    assert!(matches!(look(&own).0, Evidence::Same(_)));
}
