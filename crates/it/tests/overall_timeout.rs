//! OS matrix, overall-timeout: a command that takes longer than it may is ended, for that reason.

use tenure_it::home::{Home, TRANSPORTS};

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_tree_and_counted() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--timeout", "300ms", "--grace", "100ms"]].concat(), &["tree"]);
        assert_eq!(home.wait(&id), 124, "{flags:?}");
        let ending = home.show(&id)["termination"].clone();
        assert_eq!((&ending["reason"], &ending["confirmed"]), (&"overall-timeout".into(), &true.into()));
    }
    home.finish();
}

#[test]
fn output_does_not_put_the_end_off() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--timeout", "300ms", "--grace", "100ms"]].concat(), &["tick", "20"]);
        assert_eq!(home.wait(&id), 124, "{flags:?}");
    }
    home.finish();
}

#[test]
fn the_limit_holds_while_no_daemon_lives() {
    let home = Home::unwatched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--timeout", "500ms", "--grace", "100ms"]].concat(), &["sleep"]);
        home.kill();
        assert_eq!(home.wait(&id), 124, "{flags:?}");
        home.begin();
        assert_eq!(home.audit().run(&id).reason(), Some("overall-timeout"));
    }
    home.finish();
}
