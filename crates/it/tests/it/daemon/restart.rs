//! kill -9 of the daemon in the middle of everything: its warden starts the next, runs continue, no output is lost, and
//! waiting clients and followers do not notice.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::registry_file::metric;
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// Lines of a slow command.
const LINES: usize = 400;

/// A command that writes known lines over about a second and ends with 6.
fn slow_writer() -> [String; 3] {
    let line = format!(
        "i=0; while [ $i -lt {LINES} ]; do echo line $i of many; i=$((i+1)); \
         [ $((i%20)) -eq 0 ] && sleep 0.05; done; exit 6"
    );
    ["sh".to_owned(), "-c".to_owned(), line]
}

fn written(flags: &[&str]) -> String {
    let end = if flags.contains(&"--pty") { "\r\n" } else { "\n" };
    (0..LINES).map(|i| format!("line {i} of many{end}")).collect()
}

fn start_writer(fixture: &DaemonFixture, flags: &[&str]) -> String {
    let words = slow_writer();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    fixture.start_in_background(flags, &words)
}

#[test]
fn a_background_run_survives_a_restart_and_its_output_is_complete_to_the_byte() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::with_warden();
        let id = start_writer(&fixture, flags);
        let mut waiting = fixture.start(&["wait", &id]);
        let mut following = fixture.start(&["logs", "-f", &id]);
        following.wait_for("line 20 ");
        for _ in 0..2 {
            let killed = fixture.kill();
            fixture.wait_next_daemon(killed);
        }
        assert_eq!(waiting.code(), 6, "{}", waiting.err());
        assert_eq!(following.code(), 0, "{}", following.err());
        assert_eq!(following.out(), written(flags));
        assert_eq!(String::from_utf8_lossy(&fixture.logs(&[&id])), written(flags));
        fixture.finish();
    }
}

#[test]
fn a_foreground_run_survives_a_restart_and_passes_all_output_on() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::with_warden();
        let words = slow_writer();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut run = fixture.start(&[&["run", "--quiet"], flags, &["--"], &words].concat());
        run.wait_for("line 20 ");
        let killed = fixture.kill();
        assert_eq!(run.code(), 6, "{}", run.err());
        assert_eq!(run.out().replace("\r\n", "\n"), written(&[]));
        fixture.wait_next_daemon(killed);
        fixture.finish();
    }
}

/// The keeper's first messages may arrive together with the daemon's response, and none after it for a long
/// time.
#[test]
fn a_foreground_caller_prints_output_written_before_it_connected() {
    let fixture = DaemonFixture::with_warden();
    let actor = fixture.actor();
    let args = ["run", "--quiet", "--grace", "100ms", "--", &actor, "tree"];
    let mut runs: Vec<ChildProgram> = (0..16).map(|_| fixture.start(&args)).collect();
    runs.iter_mut().for_each(|run| run.wait_for("ready tree"));
    runs.iter().for_each(|run| proc::send(run.pid(), Signal::TERM));
    assert!(runs.iter_mut().all(|run| run.code() == 123));
    fixture.finish();
}

/// The caller's end is the run's end, with or without a daemon.
#[test]
fn a_foreground_caller_that_leaves_after_the_daemon_died_ends_its_run() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let actor = fixture.actor();
        let mut run = fixture
            .start(&[&["run", "--quiet", "--grace", "100ms"], flags, &["--", &actor, "tree"]].concat());
        run.wait_for("ready tree");
        fixture.kill();
        proc::send(run.pid(), Signal::TERM);
        assert_eq!(run.code(), 123, "{}", run.err());
        fixture.wait_nobody(WAIT_LIMIT);
        fixture.start_daemon();
        fixture.finish();
    }
}

/// The next daemon is never started, and need not be: the keeper writes the ending.
#[test]
fn a_waiting_client_gets_the_ending_even_if_no_daemon_returns() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let command = ["sh", "-c", "read line; exit 6"];
        let id = fixture.start_in_background(&[flags, &["--stdin", "open"]].concat(), &command);
        let mut waiting = fixture.start(&["wait", &id]);
        let mut impatient = fixture.start(&["wait", "--timeout", "3s", &id]);
        let pids = [waiting.pid(), impatient.pid()];
        eventually("both are connected", || pids.iter().all(|&pid| is_waiting(pid)).then_some(()));
        fixture.kill();
        assert_eq!(impatient.code(), 124, "{}", impatient.err());
        assert!(fixture.tenure(&["write", &id, "go\n"]).status.success());
        assert_eq!(waiting.code(), 6, "{}", waiting.err());
        fixture.start_daemon();
        fixture.finish();
    }
}

#[test]
fn a_follower_of_events_gets_each_once_across_a_daemon_crash() {
    let fixture = DaemonFixture::with_warden();
    let mut events = fixture.start(&["events", "-f", "--json", "--since", "0"]);
    events.wait_for("daemon-started");
    let before = fixture.act(&[], &["exit", "0"]);
    events.wait_for("run-ended");
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    let after = fixture.act(&[], &["exit", "3"]);
    assert_eq!((fixture.wait(&before), fixture.wait(&after)), (0, 3));
    eventually("the second ending", || (events.out().matches("\"run-ended\"").count() >= 2).then_some(()));
    let heard: Vec<serde_json::Value> = events.out().lines().flat_map(serde_json::from_str).collect();
    let seqs: Vec<u64> = heard.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "each once and in order: {seqs:?}");
    drop(events);
    fixture.finish();
}

/// True if a client has had a response and waits for more of it: it has received something, and sleeps.
fn is_waiting(pid: i32) -> bool {
    let io = std::fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let connected = targets.filter(|to| to.to_string_lossy().starts_with("socket:")).count();
    let waits = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    !io.is_empty() && connected > 0 && waits.contains("poll")
}

/// Events between the crash and the next connection are not missed, even by a follower without any event yet.
#[test]
fn a_follower_without_any_event_yet_misses_nothing_across_a_daemon_crash() {
    let fixture = DaemonFixture::without_warden();
    let line = ["sh", "-c", "read line; exit 0"];
    let id = fixture.start_in_background(&["--stdin", "open"], &line);
    let newest = fixture.tenure(&["events", "--json"]);
    let newest = String::from_utf8_lossy(&newest.stdout).lines().count();
    let mut following = fixture.start_with_autostart(&["events", "-f", "--json"]);
    let pid = following.pid();
    eventually("it waits for the response body", || is_waiting(pid).then_some(()));
    fixture.kill();
    assert!(fixture.tenure(&["write", &id, "go\n"]).status.success());
    fixture.start_daemon();
    following.wait_for("run-ended");
    assert!(newest > 0 && !following.out().contains("run-created"), "{}", following.out());
    drop(following);
    assert_eq!(fixture.wait(&id), 0);
    fixture.finish();
}

/// Each run is requested at about the moment of a crash. A caller with an id has a run that ends as it
/// should; a run whose caller got none may exist, and then has its own true ending too.
#[test]
fn short_runs_around_a_daemon_crash_have_true_endings() {
    let fixture = DaemonFixture::with_warden();
    let mut told = Vec::new();
    for round in 0..10_u64 {
        let daemon = fixture.daemon();
        let actor = fixture.actor();
        let label = format!("round-{round}");
        let flags = TRANSPORTS[usize::from(round % 2 == 0)];
        let args = [&["run", "--bg", "--label", &label], flags, &["--", &actor, "exit", "4"]].concat();
        let mut asked: ChildProgram = fixture.start(&args);
        // No synchronisation: any moment will do.
        std::thread::park_timeout(Duration::from_millis(round * 2));
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        match asked.code() {
            0 => told.push(asked.out().trim().to_owned()),
            125 => assert!(!asked.err().is_empty()),
            other => panic!("{other}: {}", asked.err()),
        }
        fixture.start_daemon();
    }
    for id in &told {
        assert_eq!(fixture.wait(id), 4, "{}", fixture.show(id)["termination"]);
    }
    let ledger = eventually("every ending", || {
        let ledger = fixture.audit();
        ledger.runs.iter().all(|run| run.ending.is_some()).then_some(ledger)
    });
    for run in &ledger.runs {
        let same = ledger.runs.iter().filter(|other| other.label == run.label).count();
        assert_eq!(same, 1, "requested once, started once: {run:?}");
        assert!(run.reason() == Some("spawn-error") || run.termination()["exitCode"] == 4, "{run:?}");
    }
    fixture.finish();
}

/// An upgrade: the new program, at another path, holds the runs of the old one.
#[test]
fn a_daemon_with_another_program_file_takes_the_runs_over() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let id = start_writer(&fixture, flags);
        let kept = fixture.act(&[flags, &["--grace", "100ms"]].concat(), &["tree"]);
        fixture.wait_ready(&kept);
        assert!(fixture.tenure(&["daemon", "stop"]).status.success());
        let copy = fixture.dir().join("tenure-new");
        std::fs::copy(tenure_it::install::tenure(), &copy).expect("a copy");
        let script = format!("{} daemon start", copy.display());
        assert!(fixture.shell(&script).status.success());
        let daemon = fixture.daemon();
        let exe = std::fs::read_link(format!("/proc/{}/exe", daemon.pid)).expect("a program");
        assert_eq!(exe, copy);
        assert_eq!(fixture.wait(&id), 6);
        assert_eq!(String::from_utf8_lossy(&fixture.logs(&[&id])), written(flags));
        fixture.ask_to_cancel(&[&kept]);
        assert_eq!(fixture.wait(&kept), 123);
        fixture.finish();
    }
}

/// A keeper announces once that its run is stopping; a later client must ask.
#[test]
fn a_run_that_started_to_stop_without_a_daemon_is_known_to_be_stopping() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let stays = ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 600; done"];
        let id = fixture.start_in_background(&[flags, &["--grace", "1h"]].concat(), &stays);
        fixture.wait_ready(&id);
        fixture.kill();
        fixture.ask_to_cancel(&[&id]);
        fixture.start_daemon();
        let listed = |state: &str| {
            let runs = fixture.tenure(&["ps", "--json"]);
            let runs: Vec<serde_json::Value> = serde_json::from_slice(&runs.stdout).expect("a list");
            runs.iter().any(|run| run["runId"] == id.as_str() && run["state"] == state)
        };
        eventually("the run is shown as stopping", || listed("exiting").then_some(()));
        assert_eq!(fixture.audit().run(&id).event_count("run-leaving"), 1);
        fixture.ask_to_cancel(&["--now", &id]);
        assert_eq!(fixture.wait(&id), 123);
        let metrics = fixture.tenure(&["metrics"]);
        let metrics = String::from_utf8_lossy(&metrics.stdout).into_owned();
        assert_eq!(metric(&metrics, "tenure_run_stop_seconds_count"), 1);
        assert_eq!(fixture.audit().run(&id).event_count("run-leaving"), 1);
        fixture.finish();
    }
}
