//! OS matrix, manual-cancel: a long command that is ended on request, with its whole tree, always for the same reason.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::exceptions;
use tenure_it::matrix::install::MatrixInstall;

#[test]
fn a_cancel_ends_all_three_levels_of_the_tree_and_records_its_requester() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        for words in [&["tree", "3"][..], &["ignore-term", "tree", "3"]] {
            let run = fixture.play(&[flags, &["--grace", "100ms"]].concat(), words);
            let players = fixture.book().wait_for(&run, 3);
            fixture.output_of(&["cancel", &run]);
            assert_eq!(fixture.wait(&run), Some(123), "{flags:?} {words:?}");
            players.iter().for_each(tenure_it::matrix::held_process::HeldProcess::wait_dead);
            let ending = fixture.termination(&run);
            assert_eq!(
                (&ending["reason"], &ending["confirmed"]),
                (&"manual-cancel".into(), &true.into()),
                "{ending}"
            );
            assert_eq!(fixture.events_of(&run, "cancel-asked").len(), 1);
        }
    }
    fixture.finish();
}

#[test]
fn a_command_that_exits_when_asked_is_not_killed() {
    if exceptions::skipped("manual-cancel: leaving when asked") {
        return;
    }
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let run = fixture.play(&[flags, &["--grace", "50s"]].concat(), &["obey", "5"]);
        fixture.wait_for_output(&run, "ready");
        fixture.output_of(&["cancel", &run]);
        assert_eq!(fixture.wait(&run), Some(123), "{flags:?}");
        let ending = fixture.termination(&run);
        assert_eq!(
            (&ending["reason"], &ending["exitCode"]),
            (&"manual-cancel".into(), &5.into()),
            "{ending}"
        );
    }
    fixture.finish();
}

#[test]
fn a_run_that_is_cancelled_at_once_and_twice_ends_once() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let run = fixture.play(flags, &["ignore-term", "tree", "3"]);
        fixture.book().wait_for(&run, 3);
        let both = [fixture.start(&["cancel", "--now", &run]), fixture.start(&["cancel", "--now", &run])];
        for one in both {
            let output = one.output();
            // The second may find that it has ended.
            assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
        }
        assert_eq!(fixture.wait(&run), Some(123), "{flags:?}");
        fixture.book().wait_nobody_of(&run);
    }
    fixture.finish();
}

#[test]
fn every_run_of_a_session_is_cancelled_and_no_other() {
    let fixture = MatrixInstall::new();
    let of = |session: &str| {
        let run = fixture.play(&["--grace", "100ms", "--session", session], &["hold"]);
        fixture.book().wait_for(&run, 1);
        run
    };
    let (first, second, other) = (of("agent:a:main"), of("agent:a:main"), of("agent:b:main"));
    fixture.output_of(&["cancel", "--session", "agent:a:main"]);
    assert_eq!((fixture.wait(&first), fixture.wait(&second)), (Some(123), Some(123)));
    assert_eq!(fixture.show(&other)["state"], "running");
    fixture.output_of(&["cancel", "--agent", "b"]);
    assert_eq!(fixture.wait(&other), Some(123));
    fixture.finish();
}
