//! OS matrix, overall-timeout: a command that exceeds its limit is ended, for that reason.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::install::MatrixInstall;

const LIMITS: [&str; 4] = ["--timeout", "5s", "--grace", "100ms"];
/// Long enough for three programs to start one after the other on a busy machine.
const LONG: [&str; 4] = ["--timeout", "12s", "--grace", "100ms"];

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_three_levels_of_its_tree() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LONG].concat(), &["tree", "3"]));
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        assert_eq!(fixture.book().of(run).len(), 3, "the whole tree played");
        fixture.book().wait_nobody_of(run);
        let ending = fixture.termination(run);
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"overall-timeout".into(), &true.into()),
            "{ending}"
        );
    }
    fixture.finish();
}

#[test]
fn output_does_not_postpone_the_timeout() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMITS].concat(), &["speak", "20", "100000"]));
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        assert!(fixture.logs(run).contains("word 1"));
    }
    fixture.finish();
}

#[test]
fn the_limit_holds_while_no_daemon_lives() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMITS].concat(), &["hold"]));
    fixture.kill_daemon();
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        fixture.book().wait_nobody_of(run);
    }
    fixture.start_daemon();
    for run in &runs {
        assert_eq!(fixture.ended(run)["reason"], "overall-timeout");
    }
    fixture.finish();
}
