//! OS matrix, pty-interactive: intermittent output re-arms the watchdog, also across a daemon crash.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::install::MatrixInstall;

/// Twenty words in ten seconds: more than the limit, and never near it.
const LIMIT: [&str; 2] = ["--no-output-timeout", "8s"];
const WORDS: [&str; 3] = ["speak", "500", "20"];

#[test]
fn intermittent_output_is_not_silence() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMIT].concat(), &WORDS));
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(0), "{}", fixture.termination(run));
        assert!(fixture.logs(run).contains("word 20"), "{:?}", fixture.logs(run));
    }
    fixture.finish();
}

#[test]
fn the_watchdog_is_rearmed_while_the_daemon_dies_and_restarts() {
    let fixture = MatrixInstall::new();
    let runs = TRANSPORTS.map(|flags| fixture.play(&[flags, &LIMIT].concat(), &WORDS));
    fixture.kill_daemon();
    fixture.start_daemon();
    for run in &runs {
        assert_eq!(fixture.wait(run), Some(0), "{}", fixture.termination(run));
    }
    fixture.finish();
}

#[test]
fn the_next_daemon_can_type_to_an_interactive_command() {
    let fixture = MatrixInstall::new();
    let run = fixture.play(&["--pty"], &["echo"]);
    fixture.wait_for_output(&run, "ready");
    fixture.output_of(&["write", &run, "one\r"]);
    fixture.wait_for_output(&run, "heard one");
    fixture.kill_daemon();
    fixture.start_daemon();
    fixture.output_of(&["write", &run, "end\r"]);
    assert_eq!(fixture.wait(&run), Some(0));
    assert!(fixture.logs(&run).contains("heard end"), "{:?}", fixture.logs(&run));
    fixture.finish();
}
