//! OS matrix, manual-cancel: a long command that the API ends, with its whole tree, for a reason that is always the same.

use std::time::Duration;
use tenure_it::home::{Home, TRANSPORTS};

const TREES: [&[&str]; 3] = [&["tree"], &["child", "ignore-term", "sleep"], &["ignore-term", "sleep"]];

#[test]
fn a_cancelled_run_ends_with_its_whole_tree_and_says_who_asked() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        for words in TREES {
            let id = home.act(&[flags, &["--grace", "100ms"]].concat(), words);
            home.wait_ready(&id);
            home.ask_to_cancel(&[&id]);
            assert_eq!(home.wait(&id), 123, "{flags:?} {words:?}");
            home.wait_nobody(Duration::from_secs(10));
            let ending = home.show(&id)["termination"].clone();
            assert_eq!((&ending["reason"], &ending["confirmed"]), (&"manual-cancel".into(), &true.into()));
            assert_eq!(home.audit().run(&id).told("cancel-asked"), 1);
        }
    }
    home.finish();
}

#[test]
fn every_run_of_a_session_is_cancelled_and_no_other() {
    let home = Home::watched();
    let of = |session: &str| {
        let id = home.act(&["--grace", "100ms", "--session", session], &["sleep"]);
        home.wait_ready(&id);
        id
    };
    let (first, second, other) = (of("agent:a:main"), of("agent:a:main"), of("agent:b:main"));
    home.ask_to_cancel(&["--session", "agent:a:main"]);
    assert_eq!((home.wait(&first), home.wait(&second)), (123, 123));
    assert_eq!(home.show(&other)["state"], "running");
    home.ask_to_cancel(&["--agent", "b"]);
    assert_eq!(home.wait(&other), 123);
    home.finish();
}
