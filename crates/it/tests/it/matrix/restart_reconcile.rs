//! OS matrix, restart-reconcile: the daemon crashes in the middle of runs. The next one holds those that are alive,
//! records the endings of the others, and closes those without a keeper, each with one recorded decision.

use serde_json::Value;
use tenure_it::TRANSPORTS;
use tenure_it::matrix::exceptions;
use tenure_it::matrix::held_process::HeldProcess;
use tenure_it::matrix::install::MatrixInstall;

#[test]
fn the_next_daemon_holds_a_live_run() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let run = fixture.play_tree(&[flags, &["--grace", "100ms"]].concat());
        let before = fixture.show(&run);
        fixture.kill_daemon();
        fixture.start_daemon();
        let record = fixture.show(&run);
        assert_eq!((&record["state"], &record["identity"]), (&"running".into(), &before["identity"]));
        assert_eq!(fixture.wait_events_of(&run, "reconciled").len(), 1, "one decision, reported once");
        fixture.output_of(&["cancel", &run]);
        assert_eq!(fixture.wait(&run), Some(123), "{flags:?}");
        fixture.book().wait_nobody_of(&run);
    }
    fixture.finish();
}

#[test]
fn an_ending_written_without_a_daemon_is_recorded_unchanged() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        // A terminal has its own key for the end of a line.
        let (input, line): (&[&str], &str) =
            if flags.is_empty() { (&["--stdin", "open"], "end\n") } else { (&[], "end\r") };
        let run = fixture.play(&[flags, input].concat(), &["echo"]);
        fixture.wait_for_output(&run, "ready");
        fixture.kill_daemon();
        fixture.output_of(&["write", &run, line]);
        assert_eq!(fixture.wait(&run), Some(0), "{flags:?}");
        fixture.start_daemon();
        let ending = fixture.ended(&run);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &0.into()), "{ending}");
    }
    fixture.finish();
}

/// The nursery of a killed keeper writes the ending, and a later daemon records that.
#[test]
fn a_killed_keeper_leaves_no_process_and_its_run_gets_an_ending() {
    for daemon_lives in [true, false] {
        let fixture = MatrixInstall::new();
        for flags in TRANSPORTS {
            let run = fixture.play(flags, &["ignore-term", "tree", "3"]);
            let players = fixture.book().wait_for(&run, 3);
            let keeper = fixture.keeper(&run);
            if !daemon_lives {
                fixture.kill_daemon();
            }
            keeper.kill();
            players.iter().chain([&keeper]).for_each(HeldProcess::wait_dead);
            if !daemon_lives {
                fixture.start_daemon();
            }
            let ending = fixture.ended(&run);
            assert_eq!(ending["reason"], "owner-lost", "{flags:?}: {ending}");
            assert_eq!(ending["detail"], "keeper-killed", "{flags:?}: {ending}");
            assert_ne!(ending["exitCode"], 0, "no exit is recorded: {ending}");
            if !exceptions::skipped("restart-reconcile: an end that is confirmed") {
                assert_eq!(ending["confirmed"], true, "{flags:?}: {ending}");
            }
            assert_eq!(fixture.wait(&run), Some(123), "{flags:?}");
        }
        fixture.finish();
    }
}

/// The daemon, the nursery and the keeper die: the next daemon ends their processes, if the system has not.
#[test]
fn a_run_without_a_keeper_is_ended_and_nothing_is_invented() {
    for flags in TRANSPORTS {
        let fixture = MatrixInstall::new();
        let run = fixture.play(&[flags, &["--grace", "100ms"]].concat(), &["ignore-term", "tree", "3"]);
        let players = fixture.book().wait_for(&run, 3);
        let killed = [fixture.daemon().expect("a daemon"), fixture.nursery(&run), fixture.keeper(&run)];
        let root = fixture.root(&run);
        killed.iter().for_each(HeldProcess::kill);
        killed.iter().chain([&root]).for_each(HeldProcess::wait_dead);
        fixture.start_daemon();
        let code = fixture.wait(&run);
        assert_eq!(code, Some(121), "{flags:?}: {}", fixture.termination(&run));
        players.iter().for_each(HeldProcess::wait_dead);
        let ending = fixture.termination(&run);
        // Its root died with its keeper, and its exit code is unknown.
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"reconciled-stale".into(), &Value::Null));
        assert_eq!(fixture.wait_events_of(&run, "reconciled").len(), 1, "one decision, reported once");
        fixture.finish();
    }
}
