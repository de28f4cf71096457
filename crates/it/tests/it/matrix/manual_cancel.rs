//! OS matrix, manual-cancel: a long command that is ended on request, with its whole tree, for a reason that is always
//! the same.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::exceptions;
use tenure_it::matrix::home::Home;

#[test]
fn a_cancelled_run_ends_with_all_three_levels_of_its_tree_and_says_who_asked() {
    let home = Home::new();
    for flags in TRANSPORTS {
        for words in [&["tree", "3"][..], &["ignore-term", "tree", "3"]] {
            let run = home.play(&[flags, &["--grace", "100ms"]].concat(), words);
            let players = home.book().wait_for(&run, 3);
            home.says(&["cancel", &run]);
            assert_eq!(home.wait(&run), Some(123), "{flags:?} {words:?}");
            players.iter().for_each(tenure_it::matrix::known::Known::wait_dead);
            let ending = home.termination(&run);
            assert_eq!(
                (&ending["reason"], &ending["confirmed"]),
                (&"manual-cancel".into(), &true.into()),
                "{ending}"
            );
            assert_eq!(home.told(&run, "cancel-asked").len(), 1);
        }
    }
    home.finish();
}

#[test]
fn a_command_that_leaves_when_it_is_asked_is_not_killed() {
    if exceptions::skipped("manual-cancel: leaving when asked") {
        return;
    }
    let home = Home::new();
    for flags in TRANSPORTS {
        let run = home.play(&[flags, &["--grace", "50s"]].concat(), &["obey", "5"]);
        home.wait_for_output(&run, "ready");
        home.says(&["cancel", &run]);
        assert_eq!(home.wait(&run), Some(123), "{flags:?}");
        let ending = home.termination(&run);
        assert_eq!(
            (&ending["reason"], &ending["exitCode"]),
            (&"manual-cancel".into(), &5.into()),
            "{ending}"
        );
    }
    home.finish();
}

#[test]
fn a_run_that_is_cancelled_at_once_and_twice_ends_once() {
    let home = Home::new();
    for flags in TRANSPORTS {
        let run = home.play(flags, &["ignore-term", "tree", "3"]);
        home.book().wait_for(&run, 3);
        let both = [home.start(&["cancel", "--now", &run]), home.start(&["cancel", "--now", &run])];
        for one in both {
            let output = one.output();
            // The second may find that it has ended.
            assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
        }
        assert_eq!(home.wait(&run), Some(123), "{flags:?}");
        home.book().wait_nobody_of(&run);
    }
    home.finish();
}

#[test]
fn every_run_of_a_session_is_cancelled_and_no_other() {
    let home = Home::new();
    let of = |session: &str| {
        let run = home.play(&["--grace", "100ms", "--session", session], &["hold"]);
        home.book().wait_for(&run, 1);
        run
    };
    let (first, second, other) = (of("agent:a:main"), of("agent:a:main"), of("agent:b:main"));
    home.says(&["cancel", "--session", "agent:a:main"]);
    assert_eq!((home.wait(&first), home.wait(&second)), (Some(123), Some(123)));
    assert_eq!(home.show(&other)["state"], "running");
    home.says(&["cancel", "--agent", "b"]);
    assert_eq!(home.wait(&other), Some(123));
    home.finish();
}
