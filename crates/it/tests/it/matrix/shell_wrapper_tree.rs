//! OS matrix, shell-wrapper-tree: a shell that stays as the parent of a child and a grandchild. None outlives a cancel.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::home::{Home, player};
use tenure_it::matrix::known::Known;

/// A shell of this system with a line that it cannot replace itself with.
fn wrapped(words: &str) -> [String; 3] {
    let player = player();
    if std::env::consts::FAMILY == "windows" {
        ["cmd".to_owned(), "/c".to_owned(), format!("{player} {words} & ver")]
    } else {
        ["sh".to_owned(), "-c".to_owned(), format!("'{player}' {words}; true")]
    }
}

#[test]
fn no_descendant_of_a_shell_outlives_a_cancel() {
    let home = Home::new();
    for flags in TRANSPORTS {
        for words in ["tree 2", "ignore-term tree 2"] {
            let line = wrapped(words);
            let line = line.each_ref().map(String::as_str);
            let run = home.start_in_background(&[flags, &["--grace", "100ms"]].concat(), &line);
            let players = home.book().wait_for(&run, 2);
            let shell = Known::recorded(&home.note(&run).root).expect("a shell that waits");
            let tree: serde_json::Value =
                serde_json::from_str(&home.says(&["tree", "--json", &run])).expect("JSON");
            let listed = |known: &Known| {
                let processes = tree["processes"].as_array().expect("processes");
                processes.iter().any(|process| process["pid"] == known.pid())
            };
            assert!(players.iter().chain([&shell]).all(listed), "all three are seen: {tree}");
            home.says(&["cancel", &run]);
            assert_eq!(home.wait(&run), Some(123), "{flags:?} {words:?}");
            players.iter().chain([&shell]).for_each(Known::wait_dead);
            assert_eq!(home.termination(&run)["confirmed"], true);
        }
    }
    home.finish();
}

#[test]
fn what_a_command_leaves_behind_is_ended_with_it_and_is_no_failure() {
    let home = Home::new();
    for flags in TRANSPORTS {
        let run = home.play(&[flags, &["--grace", "100ms"]].concat(), &["leave", "ignore-term", "hold"]);
        assert_eq!(home.wait(&run), Some(4), "{flags:?}: {}", home.termination(&run));
        assert_eq!(home.book().of(&run).len(), 2, "both played");
        home.book().wait_nobody_of(&run);
        let ending = home.termination(&run);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &4.into()), "{ending}");
        assert_eq!(ending["leftovers"], 1, "{ending}");
    }
    home.finish();
}
