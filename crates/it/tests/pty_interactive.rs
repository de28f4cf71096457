//! OS matrix, pty-interactive: output now and then re-arms the watchdog, also across a death of the daemon.

use tenure_it::home::{Home, TRANSPORTS};

#[test]
fn intermittent_output_is_no_silence() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        // Ten ticks in two seconds: twice the limit, and never near it.
        let id = home.act(&[flags, &["--no-output-timeout", "1s"]].concat(), &["tick", "200", "10"]);
        assert_eq!(home.wait(&id), 0, "{flags:?}: {}", home.show(&id)["termination"]);
        assert!(String::from_utf8_lossy(&home.logs(&[&id])).contains("tick 10"));
    }
    home.finish();
}

#[test]
fn the_watchdog_is_rearmed_while_the_daemon_dies_and_comes_back() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--no-output-timeout", "1s"]].concat(), &["tick", "200", "10"]);
        let killed = home.kill();
        home.next_after(killed);
        assert_eq!(home.wait(&id), 0, "{flags:?}: {}", home.show(&id)["termination"]);
    }
    home.finish();
}

#[test]
fn one_that_answers_a_question_is_typed_to_by_the_next_daemon() {
    let home = Home::watched();
    let script = "read a; echo got $a; read b; echo got $b";
    let id = home.start_in_background(&["--pty"], &["sh", "-c", script]);
    assert!(home.tenure(&["write", &id, "one\n"]).status.success());
    home.wait_for_output(&id, "got one");
    let killed = home.kill();
    home.next_after(killed);
    let written = home.tenure(&["write", &id, "two\n"]);
    assert!(written.status.success(), "{written:?}");
    assert_eq!(home.wait(&id), 0);
    assert!(String::from_utf8_lossy(&home.logs(&[&id])).contains("got two"));
    home.finish();
}
