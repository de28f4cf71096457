//! OS matrix, no-output-timeout: a silent command is ended, for that reason and no other.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::install::MatrixInstall;

/// Long enough for three programs to start on a busy machine.
const LIMITS: [&str; 4] = ["--no-output-timeout", "8s", "--grace", "100ms"];

#[test]
fn a_silent_command_is_ended_with_all_three_levels_of_its_tree() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMITS].concat(), &["tree", "3"]));
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        assert_eq!(fixture.book().of(run).len(), 3, "the whole tree played");
        fixture.book().wait_nobody_of(run);
        let ending = fixture.termination(run);
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"no-output-timeout".into(), &true.into()),
            "{ending}"
        );
    }
    fixture.finish();
}

#[test]
fn the_shorter_limit_is_the_reason() {
    let fixture = MatrixInstall::new();
    let limits = ["--no-output-timeout", "30s", "--timeout", "200ms", "--grace", "100ms"];
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &limits].concat(), &["hold"]));
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        assert_eq!(fixture.termination(run)["reason"], "overall-timeout");
    }
    fixture.finish();
}

#[test]
fn the_silence_limit_holds_while_no_daemon_lives() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMITS].concat(), &["hold"]));
    fixture.kill_daemon();
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(124));
        fixture.book().wait_nobody_of(run);
    }
    fixture.start_daemon();
    for run in &runs {
        assert_eq!(fixture.ended(run)["reason"], "no-output-timeout");
    }
    fixture.finish();
}
