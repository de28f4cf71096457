//! Processes that outlive the root: escapees fail the run and are named, leftovers are counted, and both are ended.

use serde_json::Value;
use tenure_it::install::Install;
use tenure_it::witness::Witness;

/// Result of a run whose actor leaves a process behind.
struct Left {
    code: i32,
    err: String,
    ending: Value,
    /// The lines `ROLE PID` of its processes.
    pids: String,
}

impl Left {
    fn behind(install: &Install, options: &[&str], verbs: &[&str]) -> Self {
        let witness = Witness::new(install.dir());
        let pids = install.dir().join("pids");
        let (actor, fifo) = (install.actor(), witness.path().to_str().expect("UTF-8"));
        let command =
            [&[actor.as_str(), "--witness", fifo, "--pids", pids.to_str().expect("UTF-8")], verbs].concat();
        let mut run = install.start(&[&["run", "--grace", "200ms"], options, &["--"], &command].concat());
        let code = run.code();
        assert!(witness.all_dead(), "a process outlived the run");
        let ending = install.assert_ended_cleanly(&install.only_run());
        let pids = std::fs::read_to_string(pids).expect("a list of pids");
        Self { code, err: run.err(), ending, pids }
    }

    fn pid_of(&self, role: &str) -> i64 {
        let line = self.pids.lines().find_map(|line| line.strip_prefix(role)?.strip_prefix(' '));
        line.and_then(|pid| pid.parse().ok()).expect("a role in the list of pids")
    }
}

#[test]
fn an_escape_fails_the_run_and_names_the_escapee_by_pid_and_executable() {
    let install = Install::new();
    let left = Left::behind(&install, &[], &["daemon", "--exit", "0", "sleep"]);
    assert_eq!(left.code, 122);
    assert_eq!(left.ending["reason"], "ownership-escape");
    assert_eq!(left.ending["exitCode"], 0, "the root's own code is kept in the record");
    let escapees = left.ending["escapees"].as_array().expect("a list");
    assert_eq!(escapees.len(), 1, "{escapees:?}");
    assert_eq!(escapees[0]["pid"], left.pid_of("sleep"));
    let actor = std::fs::canonicalize(install.actor()).expect("a path");
    assert_eq!(escapees[0]["exe"], actor.to_str().expect("UTF-8"));
    let line = left.err.lines().last().expect("a line about the ending");
    assert!(line.contains("escaped") && line.contains(&left.pid_of("sleep").to_string()), "{line}");
}

#[test]
fn an_escape_fails_the_run_whatever_code_the_root_exits_with() {
    let left = Left::behind(&Install::new(), &["--on-escape", "fail"], &["daemon", "--exit", "9", "sleep"]);
    assert_eq!((left.code, &left.ending["exitCode"]), (122, &Value::from(9)));
}

#[test]
fn every_escapee_is_named() {
    let left = Left::behind(&Install::new(), &[], &["leave", "chrome-like", "3"]);
    assert_eq!(left.code, 122);
    // The zygote, three renderers with a helper each, and the crash handler; their starter stayed in the session.
    assert_eq!(left.ending["escapees"].as_array().map(Vec::len), Some(8), "{}", left.ending);
    assert_eq!(left.ending["leftovers"], 1, "{}", left.ending);
}

#[test]
fn a_reaped_escape_leaves_the_run_its_own_code() {
    let install = Install::new();
    let left = Left::behind(&install, &["--on-escape", "reap"], &["daemon", "--exit", "7", "sleep"]);
    assert_eq!((left.code, &left.ending["reason"]), (7, &Value::from("exit")));
    assert_eq!(left.ending["escapees"][0]["pid"], left.pid_of("sleep"));
}

#[test]
fn a_reaped_escape_of_an_unprivileged_run_without_cgroup_leaves_the_run_its_own_code() {
    let install = Install::new().unprivileged().without_cgroup();
    let left =
        Left::behind(&install, &["--on-escape", "reap"], &["daemon", "--exit", "0", "ignore-term", "sleep"]);
    assert_eq!((left.code, &left.ending["reason"]), (0, &Value::from("exit")));
}

#[test]
fn leftovers_in_the_session_are_counted_and_no_failure() {
    let left = Left::behind(&Install::new(), &[], &["leave", "tree"]);
    assert_eq!((left.code, &left.ending["reason"]), (0, &Value::from("exit")));
    assert_eq!(left.ending["leftovers"], 3, "{}", left.ending);
    assert_eq!(left.ending["escapees"], serde_json::json!([]));
}

#[test]
fn leftovers_do_not_change_the_roots_code() {
    let left =
        Left::behind(&Install::new().without_cgroup(), &[], &["leave-code", "3", "ignore-term", "sleep"]);
    assert_eq!((left.code, &left.ending["leftovers"]), (3, &Value::from(1)));
}

#[test]
fn a_background_job_of_a_shell_is_a_leftover() {
    let install = Install::new();
    let output = install.tenure(&["run", "--grace", "200ms", "--", "sh", "-c", "sleep 1000 & exit 4"]);
    assert_eq!(output.status.code(), Some(4));
    let ending = install.assert_ended_cleanly(&install.only_run());
    assert_eq!((&ending["leftovers"], &ending["exitCode"]), (&Value::from(1), &Value::from(4)));
}

#[test]
fn a_process_ended_by_a_cancel_has_not_escaped() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "200ms"], &[&actor, "daemon", "sleep"]);
    install.wait_for_output(&id, "ready daemon\n");
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
    let ending = install.assert_ended_cleanly(&id);
    assert_eq!(
        (&ending["reason"], &ending["escapees"]),
        (&Value::from("manual-cancel"), &serde_json::json!([]))
    );
}

/// The escapee chooses its name, but must not choose the run's last line by it.
#[test]
fn the_name_of_an_escapee_is_printed_without_terminal_controls() {
    let install = Install::new();
    let name = "sl\u{1b}[2J\nee\u{202e}p";
    let program = install.dir().join(name);
    std::fs::copy("/bin/sleep", &program).expect("a copy");
    let program = program.to_str().expect("UTF-8");
    let command = ["sh", "-c", "setsid \"$0\" 100 & sleep 0.2", program];
    let mut run = install.start(&[&["run", "--grace", "200ms", "--"], &command[..]].concat());
    assert_eq!(run.code(), 122);
    let err = run.err();
    assert!(err.contains("sl\\x1b[2J\\nee\\u{202e}p"), "{err:?}");
    for args in [&["show"][..], &["why"], &["tree"]] {
        let output = install.tenure(&[args, &[&install.only_run()]].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{args:?}: {said:?}");
    }
    assert!(!err.contains(['\u{1b}', '\u{202e}']), "{err:?}");
}
