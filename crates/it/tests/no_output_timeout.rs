//! OS matrix, no-output-timeout: a silent command is ended, for that reason and no other.

use tenure_it::home::{Home, TRANSPORTS};

#[test]
fn a_silent_command_is_ended_with_its_tree_and_counted() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id =
            home.act(&[flags, &["--no-output-timeout", "300ms", "--grace", "100ms"]].concat(), &["tree"]);
        assert_eq!(home.wait(&id), 124, "{flags:?}");
        let ending = home.show(&id)["termination"].clone();
        assert_eq!((&ending["reason"], &ending["confirmed"]), (&"no-output-timeout".into(), &true.into()));
    }
    home.finish();
}

#[test]
fn the_shorter_limit_is_the_reason() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let limits = ["--no-output-timeout", "30s", "--timeout", "200ms", "--grace", "100ms"];
        let id = home.act(&[flags, &limits].concat(), &["sleep"]);
        assert_eq!(home.wait(&id), 124);
        assert_eq!(home.show(&id)["termination"]["reason"], "overall-timeout");
    }
    home.finish();
}

#[test]
fn silence_is_counted_on_while_no_daemon_lives() {
    let home = Home::unwatched();
    for flags in TRANSPORTS {
        let id =
            home.act(&[flags, &["--no-output-timeout", "500ms", "--grace", "100ms"]].concat(), &["sleep"]);
        home.kill();
        assert_eq!(home.wait(&id), 124, "{flags:?}");
        home.begin();
        assert_eq!(home.audit().run(&id).reason(), Some("no-output-timeout"));
    }
    home.finish();
}
