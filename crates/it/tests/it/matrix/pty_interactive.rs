//! OS matrix, pty-interactive: output now and then re-arms the watchdog, also across a death of the daemon.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::home::Home;

/// Twenty words in ten seconds: more than the limit, and never near it.
const LIMIT: [&str; 2] = ["--no-output-timeout", "8s"];
const WORDS: [&str; 3] = ["speak", "500", "20"];

#[test]
fn intermittent_output_is_no_silence() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMIT].concat(), &WORDS));
    for run in &runs {
        assert_eq!(home.wait(run), Some(0), "{}", home.termination(run));
        assert!(home.logs(run).contains("word 20"), "{:?}", home.logs(run));
    }
    home.finish();
}

#[test]
fn the_watchdog_is_rearmed_while_the_daemon_dies_and_comes_back() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMIT].concat(), &WORDS));
    home.kill_daemon();
    home.begin();
    for run in &runs {
        assert_eq!(home.wait(run), Some(0), "{}", home.termination(run));
    }
    home.finish();
}

#[test]
fn one_that_answers_is_typed_to_by_the_next_daemon_too() {
    let home = Home::new();
    let run = home.play(&["--pty"], &["echo"]);
    home.wait_for_output(&run, "ready");
    home.says(&["write", &run, "one\r"]);
    home.wait_for_output(&run, "heard one");
    home.kill_daemon();
    home.begin();
    home.says(&["write", &run, "end\r"]);
    assert_eq!(home.wait(&run), Some(0));
    assert!(home.logs(&run).contains("heard end"), "{:?}", home.logs(&run));
    home.finish();
}
