//! OS matrix, no-output-timeout: a silent command is ended, for that reason and no other.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::home::Home;

/// Long enough for three programs to start on a busy machine.
const LIMITS: [&str; 4] = ["--no-output-timeout", "8s", "--grace", "100ms"];

#[test]
fn a_silent_command_is_ended_with_all_three_levels_of_its_tree() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMITS].concat(), &["tree", "3"]));
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        assert_eq!(home.book().of(run).len(), 3, "the whole tree played");
        home.book().wait_nobody_of(run);
        let ending = home.termination(run);
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"no-output-timeout".into(), &true.into()),
            "{ending}"
        );
    }
    home.finish();
}

#[test]
fn the_shorter_limit_is_the_reason() {
    let home = Home::new();
    let limits = ["--no-output-timeout", "30s", "--timeout", "200ms", "--grace", "100ms"];
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &limits].concat(), &["hold"]));
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        assert_eq!(home.termination(run)["reason"], "overall-timeout");
    }
    home.finish();
}

#[test]
fn silence_is_counted_on_while_no_daemon_lives() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMITS].concat(), &["hold"]));
    home.kill_daemon();
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        home.book().wait_nobody_of(run);
    }
    home.begin();
    for run in &runs {
        assert_eq!(home.ended(run)["reason"], "no-output-timeout");
    }
    home.finish();
}
