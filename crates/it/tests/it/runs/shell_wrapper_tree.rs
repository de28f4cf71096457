//! Shells of Unix that stay as the parents of children and grandchildren: in the background, nested, with a login. None
//! outlives a cancel. What holds on every system is in the scenario of the OS matrix.

use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::home::Home;

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
