//! A keeper with two first connections: the foreground caller's, and that of the daemon which holds the lease.

use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_core::ids::{InstanceId, RegistryId};
use tenure_core::limits::Limits;
use tenure_core::record::Ending;
use tenure_core::wire::{Holder, KeeperMessage, KeeperRequest, Role, VERSION, refusal};
use tenure_it::install::Install;
use tenure_it::nursery_fixture::{WarmNursery, hear, owner_of};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const HOLDER: Role = Role::Holder { epoch: 1 };

#[track_caller]
fn started(keeper: &mut Frames) -> i32 {
    match keeper.receive::<KeeperMessage>(tenure_it::WAIT_LIMIT).expect("the keeper speaks").0 {
        KeeperMessage::Started { note } => note.root.pid,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn ended(keeper: &mut Frames) -> Ending {
    hear(keeper, |tell| if let KeeperMessage::Ended { ending } = tell { Some(*ending) } else { None })
}

#[test]
fn both_first_connections_report_the_same_run() {
    let install = Install::new();
    let warm = WarmNursery::new(&install);
    let (dir, mut peers) = warm.launch(&["cat"], &[Role::Caller, HOLDER]);
    let [caller, holder] = &mut peers[..] else { unreachable!() };
    assert_eq!(started(caller), started(holder));
    // Each has its own role: only the holder may release.
    caller.send(&KeeperRequest::Release, &[]);
    hear(caller, |tell| matches!(tell, KeeperMessage::Refused { .. }).then_some(()));
    holder.send(&KeeperRequest::Release, &[]);
    hear(holder, |tell| matches!(tell, KeeperMessage::Done).then_some(()));
    caller.send(&KeeperRequest::Stdin { offset: 0, eof: true }, &[]);
    let endings = [ended(caller), ended(holder)];
    assert_eq!(endings[0], endings[1]);
    assert_eq!((endings[0].run_id.clone(), endings[0].termination.exit_code), (dir.id().clone(), Some(0)));
}

#[test]
fn a_missing_command_is_reported_to_both() {
    let install = Install::new();
    let (_, mut peers) = WarmNursery::new(&install).launch(&["/nowhere"], &[HOLDER, Role::Caller]);
    for peer in &mut peers {
        hear(peer, |tell| matches!(tell, KeeperMessage::NotStarted { .. }).then_some(()));
        assert_eq!(ended(peer).termination.reason, Reason::SpawnError);
    }
}

#[test]
fn many_launches_in_one_stream_each_get_their_own_connections() {
    let install = Install::new();
    let warm = WarmNursery::new(&install);
    let runs: Vec<_> = (0..20).map(|_| warm.launch(&["true"], &[Role::Caller, HOLDER])).collect();
    for (dir, mut peers) in runs {
        for peer in &mut peers {
            assert_eq!(ended(peer).run_id, *dir.id());
        }
    }
}

/// A nursery whose runs end the moment their holder is missing.
fn nursery_without_orphan_grace(install: &Install) -> WarmNursery {
    let mut warm = WarmNursery::new(install);
    warm.limits = Limits { orphan_grace: Duration::ZERO, ..Limits::default() };
    warm
}

#[test]
fn a_run_survives_its_holder_while_its_caller_stays() {
    let install = Install::new();
    let (_, mut peers) = nursery_without_orphan_grace(&install).launch(&["cat"], &[Role::Caller, HOLDER]);
    let mut caller = peers.remove(0);
    started(&mut caller);
    drop(peers);
    // The keeper has seen the holder disconnect once it has answered two later clients.
    for _ in 0..2 {
        caller.send(&KeeperRequest::Status, &[]);
        hear(&mut caller, |tell| matches!(tell, KeeperMessage::Status { .. }).then_some(()));
    }
    caller.send(&KeeperRequest::Stdin { offset: 0, eof: true }, &[]);
    assert_eq!(ended(&mut caller).termination.reason, Reason::Exit);
}

#[test]
fn a_run_ends_with_its_caller_even_if_the_holder_stays() {
    let install = Install::new();
    let (_, mut peers) = nursery_without_orphan_grace(&install).launch(&["cat"], &[Role::Caller, HOLDER]);
    let mut holder = peers.remove(1);
    started(&mut holder);
    drop(peers);
    assert_eq!(ended(&mut holder).termination.reason, Reason::OwnerLost);
}

#[test]
fn without_a_caller_the_run_ends_after_its_holder() {
    let install = Install::new();
    let (dir, mut peers) = nursery_without_orphan_grace(&install).launch(&["cat"], &[HOLDER, HOLDER]);
    let mut holder = peers.remove(0);
    started(&mut holder);
    drop((peers, holder));
    let ending = tenure_it::eventually("the ending", || dir.ending().expect("a record"));
    assert_eq!(ending.termination.reason, Reason::OwnerLost);
}

/// A keeper whose run is recorded in a registry, and its holder.
fn recorded(install: &Install) -> (RunDir, Frames, WarmNursery) {
    let mut warm = WarmNursery::new(install);
    warm.registry = Some(RegistryId::from_random([1; 12]));
    let (dir, mut peers) = warm.launch(&["cat"], &[HOLDER]);
    let mut holder = peers.remove(0);
    started(&mut holder);
    (dir, holder, warm)
}

/// A daemon of another instance that shares the run's registry.
fn sharing(dir: &RunDir, lease_ttl_ms: u64) -> Holder {
    Holder { instance_id: InstanceId::from_random([2; 12]), lease_ttl_ms, ..owner_of(dir) }
}

/// Sends hello without waiting for the response.
fn ask_for(dir: &RunDir, epoch: u64, holder: Option<Holder>) -> Frames {
    let mut frames = Frames::new(dir.connect().expect("a keeper"));
    frames.send(&KeeperRequest::Hello { version: VERSION, role: Role::Holder { epoch }, holder }, &[]);
    frames.flush();
    frames
}

fn refused(frames: &mut Frames) -> String {
    hear(frames, |tell| if let KeeperMessage::Refused { why } = tell { Some(why) } else { None })
}

fn welcomed(frames: &mut Frames) {
    hear(frames, |tell| matches!(tell, KeeperMessage::Welcome { .. }).then_some(()));
}

fn asked_whether_it_holds(frames: &mut Frames) -> u64 {
    hear(frames, |tell| if let KeeperMessage::StillYours { epoch } = tell { Some(epoch) } else { None })
}

#[test]
fn the_current_holder_is_asked_first_and_its_answer_decides() {
    let install = Install::new();
    let (dir, mut holder, _warm) = recorded(&install);
    let mut other = ask_for(&dir, 2, Some(sharing(&dir, 600_000)));
    assert_eq!(asked_whether_it_holds(&mut holder), 2);
    holder.send(&KeeperRequest::Mine, &[]);
    holder.flush();
    assert!(refusal::is_not_handed_over(&refused(&mut other)));
    // The other daemon may ask again over the same connection.
    let hello = KeeperRequest::Hello {
        version: VERSION,
        role: Role::Holder { epoch: 2 },
        holder: Some(sharing(&dir, 600_000)),
    };
    other.send(&hello, &[]);
    other.flush();
    assert_eq!(asked_whether_it_holds(&mut holder), 2);
    holder.send(&KeeperRequest::Yield, &[]);
    holder.flush();
    welcomed(&mut other);
    assert!(refusal::is_lease_lost(&refused(&mut holder)));
    other.send(&KeeperRequest::Cancel { now: true }, &[]);
    ended(&mut other);
}

#[test]
fn a_holder_silent_for_a_ttl_is_replaced() {
    let install = Install::new();
    let (dir, mut holder, _warm) = recorded(&install);
    let mut other = ask_for(&dir, 2, Some(sharing(&dir, 300)));
    welcomed(&mut other);
    assert_eq!(asked_whether_it_holds(&mut holder), 2);
    assert!(refusal::is_lease_lost(&refused(&mut holder)));
    other.send(&KeeperRequest::Cancel { now: true }, &[]);
    ended(&mut other);
}

#[test]
fn a_holder_that_disconnects_while_another_waits_is_replaced_at_once() {
    let install = Install::new();
    let (dir, mut holder, _warm) = recorded(&install);
    let mut other = ask_for(&dir, 2, Some(sharing(&dir, 600_000)));
    asked_whether_it_holds(&mut holder);
    drop(holder);
    welcomed(&mut other);
    other.send(&KeeperRequest::Cancel { now: true }, &[]);
    ended(&mut other);
}

#[test]
fn a_stranger_is_refused_with_or_without_a_holder() {
    let install = Install::new();
    let (dir, holder, _warm) = recorded(&install);
    let stranger = Holder { registry_id: RegistryId::from_random([3; 12]), ..sharing(&dir, 1) };
    let try_all = || {
        for epoch in [1, 2, 99] {
            assert!(refusal::is_not_handed_over(&refused(&mut ask_for(&dir, epoch, Some(stranger.clone())))));
        }
        // A daemon without an identity takes nothing over.
        assert!(refusal::is_not_handed_over(&refused(&mut ask_for(&dir, 2, None))));
    };
    try_all();
    drop(holder);
    try_all();
    // A daemon of an older version gets back the run that it left.
    let mut older = ask_for(&dir, 1, None);
    welcomed(&mut older);
    // The run's own instance gets the run, with any registry.
    let own = Holder { registry_id: RegistryId::from_random([3; 12]), ..owner_of(&dir) };
    let mut own = ask_for(&dir, 2, Some(own));
    // The older daemon uses a connection of the current version, so the keeper asks it.
    assert_eq!(asked_whether_it_holds(&mut older), 2);
    older.send(&KeeperRequest::Yield, &[]);
    older.flush();
    welcomed(&mut own);
    own.send(&KeeperRequest::Cancel { now: true }, &[]);
    ended(&mut own);
}
