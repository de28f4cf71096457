//! OS matrix, shell-wrapper-tree: a shell that stays as the parent of a child and a grandchild. None outlives a cancel.

use std::time::Duration;
use tenure_it::home::{Home, TRANSPORTS};

/// Shells that cannot `exec` what they start, and what they start.
fn wrappers(actor: &str) -> Vec<Vec<String>> {
    let lines = [
        format!("{actor} child sleep; true"),
        format!("{actor} sleep & {actor} tree; wait; true"),
        format!("sh -c '{actor} child ignore-term sleep; true'; true"),
    ];
    let shells = [["sh", "-c"], ["bash", "-lc"]];
    let all = shells.iter().flat_map(|shell| lines.iter().map(move |line| (shell, line)));
    all.map(|(shell, line)| vec![shell[0].to_owned(), shell[1].to_owned(), line.clone()]).collect()
}

#[test]
fn no_descendant_of_a_shell_outlives_a_cancel() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        for words in wrappers(&home.actor()) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let id = home.start_in_background(&[flags, &["--grace", "100ms"]].concat(), &words);
            home.wait_ready(&id);
            home.ask_to_cancel(&[&id]);
            assert_eq!(home.wait(&id), 123, "{words:?}");
            home.wait_nobody(Duration::from_secs(10));
            assert_eq!(home.show(&id)["termination"]["confirmed"], true);
        }
    }
    home.finish();
}

#[test]
fn what_a_shell_leaves_in_its_session_is_ended_with_it_and_is_no_failure() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let line = format!("{} sleep & sleep 0.2; exit 4", home.actor());
        let id = home.start_in_background(&[flags, &["--grace", "100ms"]].concat(), &["sh", "-c", &line]);
        assert_eq!(home.wait(&id), 4);
        home.wait_nobody(Duration::from_secs(10));
        let ending = home.show(&id)["termination"].clone();
        assert_eq!(ending["reason"], "exit", "{ending}");
        // On a terminal the system itself hangs up on who is left, and may be faster.
        let fewest = u64::from(flags.is_empty());
        assert!((fewest..=1).contains(&ending["leftovers"].as_u64().expect("a number")), "{ending}");
    }
    home.finish();
}
