//! Two installations whose runs look alike: neither ever touches the other's. One state root has one daemon.

use tenure_it::matrix::held_process::HeldProcess;
use tenure_it::matrix::install::MatrixInstall;

const ALIKE: [&str; 8] =
    ["--label", "same", "--session", "agent:main:same", "--scope", "same", "--grace", "100ms"];

#[test]
fn two_installations_with_runs_that_look_alike_leave_each_other_alone() {
    let theirs = MatrixInstall::new();
    let ours = MatrixInstall::new();
    let their_run = theirs.play_tree(&ALIKE);
    let their_processes = theirs.book().wait_for(&their_run, 3);
    // All holders of a run of ours are killed at once, then the daemon alone, then the keeper alone.
    let run = ours.play_tree(&ALIKE);
    let killed = [ours.daemon().expect("a daemon"), ours.nursery(&run), ours.keeper(&run)];
    let root = ours.root(&run);
    killed.iter().for_each(HeldProcess::kill);
    killed.iter().chain([&root]).for_each(HeldProcess::wait_dead);
    ours.start_daemon();
    assert_eq!(ours.wait(&run), Some(121), "{}", ours.termination(&run));
    let run = ours.play_tree(&ALIKE);
    ours.kill_daemon();
    ours.start_daemon();
    assert_eq!(ours.show(&run)["state"], "running");
    assert_eq!(ours.tenure(&["cancel", &their_run]).code, Some(4), "it is unknown there");
    for words in [&["cancel", "--scope", "same"][..], &["cancel", "--session", "agent:main:same"], &["reap"]]
    {
        ours.tenure(words);
    }
    assert_eq!(ours.wait(&run), Some(123));
    let run = ours.play_tree(&ALIKE);
    ours.keeper(&run).kill();
    ours.wait(&run);
    ours.finish();
    assert!(
        their_processes.iter().all(|one| !one.is_dead()),
        "a process of the other installation was ended"
    );
    let shown = theirs.show(&their_run);
    assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &1.into()), "{shown}");
    theirs.output_of(&["cancel", &their_run]);
    assert_eq!(theirs.wait(&their_run), Some(123));
    theirs.finish();
}

#[test]
fn one_state_root_has_one_daemon() {
    let fixture = MatrixInstall::new();
    let first = fixture.daemon().expect("a daemon");
    let second = fixture.tenure(&["daemon", "run"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.err.contains("a state root has only one daemon"), "{second:?}");
    let run = fixture.play(&[], &["exit", "0"]);
    assert_eq!(fixture.wait(&run), Some(0), "the first one keeps serving");
    assert!(!first.is_dead());
    fixture.finish();
}
