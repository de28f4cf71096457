//! OS matrix, overall-timeout: a command that takes longer than it may is ended, for that reason.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::home::Home;

const LIMITS: [&str; 4] = ["--timeout", "5s", "--grace", "100ms"];
/// Long enough for three programs to start one after the other on a busy machine.
const LONG: [&str; 4] = ["--timeout", "12s", "--grace", "100ms"];

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_three_levels_of_its_tree() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LONG].concat(), &["tree", "3"]));
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        assert_eq!(home.book().of(run).len(), 3, "the whole tree played");
        home.book().wait_nobody_of(run);
        let ending = home.termination(run);
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"overall-timeout".into(), &true.into()),
            "{ending}"
        );
    }
    home.finish();
}

#[test]
fn output_does_not_put_the_end_off() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMITS].concat(), &["speak", "20", "100000"]));
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        assert!(home.logs(run).contains("word 1"));
    }
    home.finish();
}

#[test]
fn the_limit_holds_while_no_daemon_lives() {
    let home = Home::new();
    let runs = TRANSPORTS.map(|flags| home.play(&[flags, &LIMITS].concat(), &["hold"]));
    home.kill_daemon();
    for run in &runs {
        assert_eq!(home.wait(run), Some(124));
        home.book().wait_nobody_of(run);
    }
    home.begin();
    for run in &runs {
        assert_eq!(home.ended(run)["reason"], "overall-timeout");
    }
    home.finish();
}
