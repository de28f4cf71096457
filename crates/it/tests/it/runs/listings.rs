//! Listings of runs: lists, trees, details.

use serde_json::Value;
use std::process::Output;
use tenure_it::install::Install;

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn ids(install: &Install, flags: &[&str]) -> Vec<String> {
    let listed: Value =
        serde_json::from_str(&text(&install.tenure(&[&["ps", "--json"], flags].concat()))).expect("JSON");
    let id = |run: &Value| run["runId"].as_str().expect("an id").to_owned();
    listed.as_array().expect("an array").iter().map(id).collect()
}

#[test]
fn ps_shows_the_requested_runs() {
    let install = Install::new();
    let ended = install.start_in_background(&["--session", "a"], &["true"]);
    install.wait(&ended);
    let mine = install.start_in_background(&["--session", "a"], &["sleep", "1000"]);
    let other = install.start_in_background(&["--session", "b"], &["sleep", "1000"]);
    assert_eq!(ids(&install, &[]), [&*mine, &other]);
    assert_eq!(ids(&install, &["--session", "a"]), [&*mine]);
    assert_eq!(ids(&install, &["--session", "a", "--all"]), [&*ended, &mine]);
    assert_eq!(ids(&install, &["--state", "exited"]), [&*ended]);
    assert_eq!(ids(&install, &["--state", "running"]), [&*mine, &other]);
    assert_eq!(ids(&install, &["--all", "--limit", "2"]), [&*mine, &other]);
    assert!(ids(&install, &["--scope", "none"]).is_empty());
    let refused = install.tenure(&["ps", "--state", "walking"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(why.contains("starting, running, exiting, exited, lost") && why.lines().count() == 1, "{why}");
    let table = text(&install.tenure(&["ps", "--all"]));
    let head: Vec<&str> = table.lines().next().expect("headings").split_whitespace().collect();
    assert_eq!(head, ["RUN", "STATE", "AGE", "PID", "SESSION", "ENDING", "OUTPUT", "COMMAND"]);
    assert!(table.lines().nth(1).is_some_and(|row| row.contains("exit 0")), "{table}");
    assert!(!table.contains('\x1b'), "no colours in a pipe");
    install.cancel(&mine);
    install.cancel(&other);
}

#[test]
fn a_tree_of_all_runs_is_a_forest() {
    let install = Install::new();
    let one = install.start_in_background(&["--label", "one"], &["sh", "-c", "sleep 1000 & wait"]);
    let two = install.start_in_background(&["--label", "two"], &["sleep", "1000"]);
    let both = tenure_it::eventually("the child of the first", || {
        let both = text(&install.tenure(&["tree"]));
        // A shell's child looks like the shell until it executes its program.
        let child = both.lines().find(|line| line.starts_with("   └─ "))?;
        child.ends_with("child  sleep 1000").then_some(both)
    });
    let lines: Vec<&str> = both.lines().collect();
    assert!(lines[0].starts_with(&one[..12]) && lines[0].ends_with("one"), "{both}");
    assert!(lines[1].starts_with("└─ ") && lines[1].contains("sh -c sleep 1000"), "{both}");
    assert!(
        lines[2].starts_with("   └─ ") && lines[2].contains("child") && lines[2].ends_with("sleep 1000"),
        "{both}"
    );
    assert!(lines[4].starts_with(&two[..12]) && lines[4].ends_with("two"), "{both}");
    let all: Value = serde_json::from_str(&text(&install.tenure(&["tree", "--json"]))).expect("JSON");
    assert_eq!((all[0]["runId"].as_str(), all[1]["runId"].as_str()), (Some(&*one), Some(&*two)));
    assert_eq!(all[0]["processes"].as_array().map(Vec::len), Some(2));
    let alone: Value = serde_json::from_str(&text(&install.tenure(&["tree", "--json", &two]))).expect("JSON");
    assert_eq!(
        (alone["runId"].as_str(), alone["processes"][0]["via"].as_str()),
        (Some(&*two), Some("child"))
    );
    assert!(!text(&install.tenure(&["tree", &two])).contains(&one[..12]));
    install.cancel(&one);
    install.cancel(&two);
    assert_eq!(text(&install.tenure(&["tree"])), "");
    assert_eq!(install.tenure(&["tree", &two]).status.code(), Some(1));
}

#[test]
fn one_run_is_shown_in_groups() {
    let install = Install::new();
    let id =
        install.start_in_background(&["--label", "a\u{1b}[31m", "--timeout", "90s"], &["sh", "-c", "exit 3"]);
    install.wait(&id);
    let shown = text(&install.tenure(&["show", &id]));
    for group in ["Run", "Command", "Limits", "Processes", "Output", "Ending"] {
        assert!(shown.lines().any(|line| line == group), "{group}: {shown}");
    }
    assert!(shown.contains("1 min 30 s") && shown.contains("sh -c exit 3"), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown:?}");
}
