//! Two installations whose runs look alike: neither ever touches the other's. One state root has one daemon.

use tenure_it::matrix::home::Home;
use tenure_it::matrix::known::Known;

const ALIKE: [&str; 8] =
    ["--label", "same", "--session", "agent:main:same", "--scope", "same", "--grace", "100ms"];

#[test]
fn two_installations_with_runs_that_look_alike_leave_each_other_alone() {
    let theirs = Home::new();
    let ours = Home::new();
    let their_run = theirs.play_tree(&ALIKE);
    let their_processes = theirs.book().wait_for(&their_run, 3);
    // Everybody who holds a run of ours is killed at once, then the daemon alone, then the keeper alone.
    let run = ours.play_tree(&ALIKE);
    let killed = [ours.daemon().expect("a daemon"), ours.nursery(&run), ours.keeper(&run)];
    let root = ours.root(&run);
    killed.iter().for_each(Known::kill);
    killed.iter().chain([&root]).for_each(Known::wait_dead);
    ours.begin();
    assert_eq!(ours.wait(&run), Some(121), "{}", ours.termination(&run));
    let run = ours.play_tree(&ALIKE);
    ours.kill_daemon();
    ours.begin();
    assert_eq!(ours.show(&run)["state"], "running");
    assert_eq!(ours.tenure(&["cancel", &their_run]).code, Some(4), "it is not known there");
    for words in [&["cancel", "--scope", "same"][..], &["cancel", "--session", "agent:main:same"], &["reap"]]
    {
        ours.tenure(words);
    }
    assert_eq!(ours.wait(&run), Some(123));
    let run = ours.play_tree(&ALIKE);
    ours.keeper(&run).kill();
    ours.wait(&run);
    ours.finish();
    assert!(their_processes.iter().all(|one| !one.is_dead()), "a process of theirs was ended");
    let shown = theirs.show(&their_run);
    assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &1.into()), "{shown}");
    theirs.says(&["cancel", &their_run]);
    assert_eq!(theirs.wait(&their_run), Some(123));
    theirs.finish();
}

#[test]
fn one_state_root_has_one_daemon() {
    let home = Home::new();
    let first = home.daemon().expect("a daemon");
    let second = home.tenure(&["daemon", "run"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.err.contains("one state root has one daemon"), "{second:?}");
    let run = home.play(&[], &["exit", "0"]);
    assert_eq!(home.wait(&run), Some(0), "the first one serves on");
    assert!(!first.is_dead());
    home.finish();
}
