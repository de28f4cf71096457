use super::by_daemon::OrphanedRun;
use super::by_parent::FallenRun;
use super::*;
use crate::fixture::{ticket, with_heir};
use crate::state_root::StateRoot;

#[test]
fn an_heir_without_a_ticket_never_was_a_run() {
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let (dir, heir) = with_heir(&state, false);
    assert_eq!(FallenRun::read(dir.path()).len(), 1);
    assert!(!heir.path().exists());
}

#[test]
fn a_half_made_heir_gets_an_ending_too() {
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let (dir, heir) = with_heir(&state, true);
    let ticket = dir.ticket().expect("a ticket");
    let run = OrphanedRun::read(RunDir::open(dir.path()).expect("a run"), &ticket).expect("records");
    let how = run.keeper_killed();
    run.close(how).expect("nobody is left");
    for dir in [&dir, &heir] {
        let ended = dir.ending().expect("a record").expect("an ending").termination;
        assert_eq!((ended.reason, ended.confirmed, ended.code()), (Reason::SpawnError, true, 125));
        assert!(ended.detail.is_some_and(|detail| detail.contains("before the command could be started")));
    }
}

#[test]
fn an_heir_without_a_ticket_is_discarded_by_who_closes_and_not_by_who_looks() {
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let (dir, heir) = with_heir(&state, false);
    let ticket = dir.ticket().expect("a ticket");
    let run = OrphanedRun::read(RunDir::open(dir.path()).expect("a run"), &ticket).expect("records");
    assert!(run.members().expect("a process table").is_empty() && heir.path().exists());
    let how = run.keeper_killed();
    run.close(how).expect("nobody is left");
    assert!(!heir.path().exists());
}

#[test]
fn an_ending_that_could_not_be_written_is_written_once_it_can_be() {
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let ticket = ticket(&state);
    let dir = state.make_run(ticket.run_id.clone()).expect("a directory");
    dir.write_ticket(&ticket).expect("a ticket");
    let fallen = FallenRun::read_unrecorded(dir.path()).pop().expect("one");
    // In the way of the draft, as a full disk would be.
    let draft = dir.path().join(crate::rundir::draft_name());
    std::fs::create_dir(&draft).expect("a directory");
    let unwritten = fallen.close(true, Vec::new()).expect("it cannot be written");
    assert!(!unwritten.write() && matches!(dir.ending(), Ok(None)));
    std::fs::remove_dir(&draft).expect("it was there");
    assert!(unwritten.write());
    let ended = dir.ending().expect("a record").expect("an ending").termination;
    assert_eq!((ended.reason, ended.confirmed), (Reason::SpawnError, true));
}

#[test]
fn a_run_that_no_keeper_could_be_had_for_is_closed() {
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let (dir, _) = with_heir(&state, true);
    close_unkept(dir.path(), "no more processes");
    let ended = dir.ending().expect("a record").expect("an ending").termination;
    assert_eq!((ended.reason, ended.detail.as_deref()), (Reason::SpawnError, Some("no more processes")));
}

/// Elsewhere there are no jobs.
#[cfg(windows)]
#[test]
fn a_job_that_cannot_be_opened_is_not_one_that_is_gone() {
    let own = process::own().expect("a process");
    let in_job = |name: &str| KeeperNote {
        keeper: own.clone(),
        nursery_id: tenure_core::ids::NurseryId::from_random([1; 12]),
        root: own.clone(),
        boundary: tenure_core::record::Boundary::Job { name: name.to_owned() },
        started_at_ms: 0,
        exe: None,
        process_group: None,
        instance_id: None,
        registry_id: None,
    };
    let root = tempfile::tempdir().expect("a directory");
    let state = StateRoot::open(root.path()).expect("a state root");
    let is_all_seen = |name: &str| {
        let (dir, _) = with_heir(&state, true);
        let note = Some(in_job(name));
        Records { dir, note, enclosure: None, mark: None, since_ms: 0 }.leaves_nobody_unseen()
    };
    assert!(is_all_seen("tenure-of-nobody"));
    assert!(!is_all_seen(r"no-such-place\job"));
}
