//! A keeper with two first connections: the foreground caller's, and that of the daemon which holds the lease.

use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_core::limits::Limits;
use tenure_core::record::Ending;
use tenure_core::wire::{Ask, Role, Tell};
use tenure_it::crib::{Warm, hear};
use tenure_it::install::Install;
use tenure_keeper::frames::Frames;

const HOLDER: Role = Role::Holder { epoch: 1 };

#[track_caller]
fn started(keeper: &mut Frames) -> i32 {
    match keeper.receive::<Tell>(tenure_it::PATIENCE).expect("the keeper speaks").0 {
        Tell::Started { note } => note.root.pid,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn ended(keeper: &mut Frames) -> Ending {
    hear(keeper, |tell| if let Tell::Ended { ending } = tell { Some(*ending) } else { None })
}

#[test]
fn both_first_connections_are_told_of_the_same_run() {
    let install = Install::new();
    let warm = Warm::new(&install);
    let (dir, mut peers) = warm.launch(&["cat"], &[Role::Caller, HOLDER]);
    let [caller, holder] = &mut peers[..] else { unreachable!() };
    assert_eq!(started(caller), started(holder));
    // Each has its own role: only the holder may release.
    caller.send(&Ask::Release, &[]);
    hear(caller, |tell| matches!(tell, Tell::Refused { .. }).then_some(()));
    holder.send(&Ask::Release, &[]);
    hear(holder, |tell| matches!(tell, Tell::Done).then_some(()));
    caller.send(&Ask::Stdin { offset: 0, eof: true }, &[]);
    let endings = [ended(caller), ended(holder)];
    assert_eq!(endings[0], endings[1]);
    assert_eq!((endings[0].run_id.clone(), endings[0].termination.exit_code), (dir.id().clone(), Some(0)));
}

#[test]
fn a_command_that_does_not_exist_is_told_to_both() {
    let install = Install::new();
    let (_, mut peers) = Warm::new(&install).launch(&["/nowhere"], &[HOLDER, Role::Caller]);
    for peer in &mut peers {
        hear(peer, |tell| matches!(tell, Tell::NotStarted { .. }).then_some(()));
        assert_eq!(ended(peer).termination.reason, Reason::SpawnError);
    }
}

#[test]
fn many_launches_in_one_stream_each_get_their_own_connections() {
    let install = Install::new();
    let warm = Warm::new(&install);
    let runs: Vec<_> = (0..20).map(|_| warm.launch(&["true"], &[Role::Caller, HOLDER])).collect();
    for (dir, mut peers) in runs {
        for peer in &mut peers {
            assert_eq!(ended(peer).run_id, *dir.id());
        }
    }
}

/// A nursery whose runs are ended the moment their holder is missed.
fn impatient(install: &Install) -> Warm {
    let mut warm = Warm::new(install);
    warm.limits = Limits { orphan_grace: Duration::ZERO, ..Limits::default() };
    warm
}

#[test]
fn a_holder_that_goes_is_not_missed_while_the_caller_is_there() {
    let install = Install::new();
    let (_, mut peers) = impatient(&install).launch(&["cat"], &[Role::Caller, HOLDER]);
    let mut caller = peers.remove(0);
    started(&mut caller);
    drop(peers);
    // The keeper has seen the holder go when it answers whoever came later, twice.
    for _ in 0..2 {
        caller.send(&Ask::Status, &[]);
        hear(&mut caller, |tell| matches!(tell, Tell::Status { .. }).then_some(()));
    }
    caller.send(&Ask::Stdin { offset: 0, eof: true }, &[]);
    assert_eq!(ended(&mut caller).termination.reason, Reason::Exit);
}

#[test]
fn a_caller_that_goes_takes_the_run_along_though_the_holder_stays() {
    let install = Install::new();
    let (_, mut peers) = impatient(&install).launch(&["cat"], &[Role::Caller, HOLDER]);
    let mut holder = peers.remove(1);
    started(&mut holder);
    drop(peers);
    assert_eq!(ended(&mut holder).termination.reason, Reason::OwnerLost);
}

#[test]
fn without_a_caller_the_holder_is_missed() {
    let install = Install::new();
    let (dir, mut peers) = impatient(&install).launch(&["cat"], &[HOLDER, HOLDER]);
    let mut holder = peers.remove(0);
    started(&mut holder);
    drop((peers, holder));
    let ending = tenure_it::eventually("the ending", || dir.ending().expect("a record"));
    assert_eq!(ending.termination.reason, Reason::OwnerLost);
}
