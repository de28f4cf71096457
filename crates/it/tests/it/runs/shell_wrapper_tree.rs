//! Shells of Unix that stay as the parents of children and grandchildren: in the background, nested, with a login. None
//! outlives a cancel. The promises for every system are in the scenario of the OS matrix.

use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::daemon_fixture::DaemonFixture;

/// Shells that cannot `exec` their child, and that child.
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
    let fixture = DaemonFixture::with_warden();
    for flags in TRANSPORTS {
        for words in wrappers(&fixture.actor()) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let id = fixture.start_in_background(&[flags, &["--grace", "100ms"]].concat(), &words);
            fixture.wait_ready(&id);
            fixture.ask_to_cancel(&[&id]);
            assert_eq!(fixture.wait(&id), 123, "{words:?}");
            fixture.wait_nobody(Duration::from_secs(10));
            assert_eq!(fixture.show(&id)["termination"]["confirmed"], true);
        }
    }
    fixture.finish();
}
