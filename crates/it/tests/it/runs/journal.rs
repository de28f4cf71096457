//! A run's journal: the events of its life and end, and the number of kills.

use std::time::Duration;
use tenure_core::ending::{Cause, Exit, Reason};
use tenure_core::journal::{JournalEvent, MAX_ENTRIES, Proof, Target};
use tenure_core::limits::Limits;
use tenure_core::record::Ending;
use tenure_core::signal::Signal;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::nursery_fixture::{WarmNursery, hear, owner_of, wait_written};
use tenure_it::{WAIT_LIMIT, eventually, proc};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const HOLDER: Role = Role::Holder { epoch: 1 };

/// A nursery whose runs have a short grace.
fn short_grace_nursery(install: &Install) -> WarmNursery {
    let mut warm = WarmNursery::new(install);
    warm.limits = Limits { grace: Duration::from_millis(50), ..Limits::default() };
    warm
}

#[track_caller]
fn started(keeper: &mut Frames) -> i32 {
    hear(keeper, |tell| if let KeeperMessage::Started { note } = tell { Some(note.root.pid) } else { None })
}

#[track_caller]
fn ended(keeper: &mut Frames) -> Ending {
    hear(keeper, |tell| if let KeeperMessage::Ended { ending } = tell { Some(*ending) } else { None })
}

#[track_caller]
fn journal(dir: &RunDir) -> Vec<JournalEvent> {
    dir.journal().expect("a journal").into_iter().map(|entry| entry.what).collect()
}

/// The signals of a journal, each with its target and proof.
fn signals(journal: &[JournalEvent]) -> Vec<(Signal, Target, Proof)> {
    let signal = |what: &JournalEvent| match what {
        JournalEvent::Signalled { signal, target, proof } => Some((*signal, target.clone(), *proof)),
        _ => None,
    };
    journal.iter().filter_map(signal).collect()
}

#[test]
fn an_uneventful_run_has_a_short_journal_and_zero_kills() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["echo", "hello"], &[HOLDER]);
    let ending = ended(&mut peers[0]);
    assert!(ending.kills.is_none(), "{:?}", ending.kills);
    let journal = journal(&dir);
    let [JournalEvent::Started { pid, exe: Some(exe), .. }, rest @ ..] = &journal[..] else {
        panic!("{journal:?}");
    };
    assert!(*pid > 1 && exe.ends_with("/echo"), "{exe}");
    // The end and the last output may be seen in either order.
    let exiting = JournalEvent::Exiting { cause: None, exit: Some(Exit::Code(0)), detail: None };
    assert!(
        rest.len() == 2 && rest.contains(&JournalEvent::FirstOutput) && rest.contains(&exiting),
        "{rest:?}"
    );
}

#[test]
fn the_journal_is_written_only_after_the_command_executes() {
    let install = Install::new().with_env("TENURE_PAUSE", "keeper-started");
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    let keeper = eventually("a note", || dir.note().expect("a record")).keeper.pid;
    let keeper = HeldProcess::hold(keeper).expect("it lives");
    eventually("the keeper is stopped", || proc::is_stopped(keeper.pid).then_some(()));
    assert!(!dir.path().join("journal").exists());
    keeper.send(rustix::process::Signal::CONT);
    eventually("the journal of a live run", || (journal(&dir).len() == 1).then_some(()));
    peers[0].send(&KeeperRequest::Stdin { offset: 0, eof: true }, &[]);
    ended(&mut peers[0]);
}

#[test]
fn the_signals_of_a_stop_are_recorded_with_their_proof() {
    let install = Install::new();
    let actor = install.actor();
    let (dir, mut peers) =
        short_grace_nursery(&install).launch(&[&actor, "setsid", "ignore-term", "sleep"], &[HOLDER]);
    let root = started(&mut peers[0]);
    // The root prints its line last: a child that the root no longer waits for would exit by itself.
    wait_written(&mut peers[0], "ready sleep\nready ignore-term\nready setsid\n");
    peers[0].send(&KeeperRequest::Cancel { now: false }, &[]);
    let ending = ended(&mut peers[0]);
    assert_eq!(ending.termination.reason, Reason::ManualCancel);
    let journal = journal(&dir);
    assert!(
        journal.contains(&JournalEvent::Exiting {
            cause: Some(Cause::ManualCancel),
            exit: None,
            detail: None
        }),
        "{journal:?}"
    );
    let signals = signals(&journal);
    let group = Target::Group { pgid: root };
    assert!(signals.contains(&(Signal::TERM, group, Proof::UnreapedRoot)), "{signals:?}");
    let killed = signals.iter().any(|(signal, target, proof)| {
        *signal == Signal::KILL
            && matches!(target, Target::Process { pid, start_time } if *pid != root && *start_time > 0)
            && matches!(proof, Proof::Child | Proof::Adopted)
    });
    assert!(killed, "{signals:?}");
    // Also of the root, if it was slow to exit.
    assert!(ending.kills.pid >= 1 && ending.kills.cgroup == 0, "{journal:?}");
}

#[test]
fn a_group_that_ignores_sigterm_is_killed_at_once_and_counted() {
    let install = Install::new();
    let (dir, mut peers) = short_grace_nursery(&install)
        .launch(&["sh", "-c", "trap '' TERM; echo; while :; do sleep 1; done"], &[HOLDER]);
    let root = started(&mut peers[0]);
    wait_written(&mut peers[0], "\n");
    peers[0].send(&KeeperRequest::Cancel { now: false }, &[]);
    let ending = ended(&mut peers[0]);
    assert!(ending.kills.pgid >= 1, "{:?}", ending.kills);
    let group = (Signal::KILL, Target::Group { pgid: root }, Proof::UnreapedRoot);
    assert!(signals(&journal(&dir)).contains(&group));
}

#[test]
fn a_killed_cgroup_is_counted() {
    let install = Install::new();
    let script = "trap '' TERM; echo; while :; do sleep 1; done";
    let id = install.start_in_background(&["--grace", "50ms"], &["sh", "-c", script]);
    install.wait_for_output(&id, "\n");
    let dir = RunDir::open(&install.state().join("runs").join(&id)).expect("the run");
    install.cancel(&id);
    let kills = dir.ending().expect("a record").expect("an ending").kills;
    let has_cgroup = install.show(&id)["boundary"]["kind"] == "cgroup";
    assert_eq!(kills.cgroup > 0, has_cgroup, "{kills:?}");
    let noted = signals(&journal(&dir)).iter().any(|(_, target, _)| matches!(target, Target::Cgroup { .. }));
    assert_eq!(noted, has_cgroup);
}

#[test]
fn a_journal_is_bounded_and_notes_the_cut_once() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    started(&mut peers[0]);
    for _ in 0..MAX_ENTRIES + 50 {
        peers[0].send(&KeeperRequest::Signal { signal: Signal(28) }, &[]);
        hear(&mut peers[0], |tell| matches!(tell, KeeperMessage::Done).then_some(()));
    }
    peers[0].send(&KeeperRequest::Stdin { offset: 0, eof: true }, &[]);
    ended(&mut peers[0]);
    let journal = journal(&dir);
    assert_eq!((journal.len(), journal.last()), (MAX_ENTRIES + 1, Some(&JournalEvent::MoreNotWritten)));
    assert_eq!(journal.iter().filter(|what| **what == JournalEvent::MoreNotWritten).count(), 1);
}

#[test]
fn holders_that_connect_and_disconnect_are_recorded() {
    let install = Install::new();
    let (dir, mut peers) = WarmNursery::new(&install).launch(&["cat"], &[HOLDER]);
    started(&mut peers[0]);
    drop(peers);
    eventually("a lost holder", || journal(&dir).contains(&JournalEvent::HolderLost).then_some(()));
    let mut holder = Frames::new(dir.connect().expect("a keeper"));
    holder.hello_as(Role::Holder { epoch: 3 }, Some(&owner_of(&dir)), WAIT_LIMIT).expect("an answer");
    let mut late = Frames::new(dir.connect().expect("a keeper"));
    late.hello_as(Role::Holder { epoch: 2 }, Some(&owner_of(&dir)), WAIT_LIMIT).expect("an answer");
    holder.send(&KeeperRequest::Release, &[]);
    hear(&mut holder, |tell| matches!(tell, KeeperMessage::Done).then_some(()));
    holder.send(&KeeperRequest::Cancel { now: false }, &[]);
    ended(&mut holder);
    let journal = journal(&dir);
    for what in [
        JournalEvent::HolderBack { epoch: 3 },
        JournalEvent::EpochRefused { epoch: 2, current: 3 },
        JournalEvent::HolderReleased,
    ] {
        assert!(journal.contains(&what), "{what:?}: {journal:?}");
    }
}

#[test]
fn leftovers_and_escapees_are_recorded() {
    let install = Install::new();
    let actor = install.actor();
    for (words, escaped) in
        [(["leave", "sleep"].as_slice(), false), (&["daemon", "--exit", "0", "sleep"], true)]
    {
        let command: Vec<&str> = [&[&*actor], words].concat();
        let (dir, mut peers) = short_grace_nursery(&install).launch(&command, &[HOLDER]);
        ended(&mut peers[0]);
        let journal = journal(&dir);
        let noted = journal.iter().any(|what| match what {
            JournalEvent::Leftovers { count, processes } => !escaped && *count == 1 && processes.len() == 1,
            JournalEvent::Escapees { processes } => escaped && processes.len() == 1,
            _ => false,
        });
        assert!(noted, "{words:?}: {journal:?}");
    }
}
