//! OS matrix, shell-wrapper-tree: a shell that stays as the parent of a child and a grandchild. None outlives a cancel.

use tenure_it::TRANSPORTS;
use tenure_it::matrix::held_process::HeldProcess;
use tenure_it::matrix::install::{MatrixInstall, player};

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
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        for words in ["tree 2", "ignore-term tree 2"] {
            let line = wrapped(words);
            let line = line.each_ref().map(String::as_str);
            let run = fixture.start_in_background(&[flags, &["--grace", "100ms"]].concat(), &line);
            let players = fixture.book().wait_for(&run, 2);
            let shell = HeldProcess::recorded(&fixture.note(&run).root).expect("a shell that waits");
            let tree: serde_json::Value =
                serde_json::from_str(&fixture.output_of(&["tree", "--json", &run])).expect("JSON");
            let listed = |known: &HeldProcess| {
                let processes = tree["processes"].as_array().expect("processes");
                processes.iter().any(|process| process["pid"] == known.pid())
            };
            assert!(players.iter().chain([&shell]).all(listed), "all three are shown: {tree}");
            fixture.output_of(&["cancel", &run]);
            assert_eq!(fixture.wait(&run), Some(123), "{flags:?} {words:?}");
            players.iter().chain([&shell]).for_each(HeldProcess::wait_dead);
            assert_eq!(fixture.termination(&run)["confirmed"], true);
        }
    }
    fixture.finish();
}

#[test]
fn leftover_processes_are_ended_and_are_no_failure() {
    let fixture = MatrixInstall::new();
    for flags in TRANSPORTS {
        let run = fixture.play(&[flags, &["--grace", "100ms"]].concat(), &["leave", "ignore-term", "hold"]);
        assert_eq!(fixture.wait(&run), Some(4), "{flags:?}: {}", fixture.termination(&run));
        assert_eq!(fixture.book().of(&run).len(), 2, "both played");
        fixture.book().wait_nobody_of(&run);
        let ending = fixture.termination(&run);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &4.into()), "{ending}");
        assert_eq!(ending["leftovers"], 1, "{ending}");
    }
    fixture.finish();
}
