//! kill -9 of the daemon in the middle of everything: its warden starts the next, runs go on, nothing of their output is
//! lost, and whoever waits, follows or watches does not notice.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::home::Home;
use tenure_it::ledger::metric;
use tenure_it::started::Started;
use tenure_it::{PATIENCE, eventually, proc};

/// What a command writes that takes a while: so many bytes a line, so many lines.
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

fn start_writer(home: &Home, flags: &[&str]) -> String {
    let words = slow_writer();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    home.start_in_background(flags, &words)
}

#[test]
fn a_background_run_goes_on_and_its_output_is_complete_to_the_byte() {
    for flags in TRANSPORTS {
        let home = Home::watched();
        let id = start_writer(&home, flags);
        let mut waiting = home.start(&["wait", &id]);
        let mut following = home.start(&["logs", "-f", &id]);
        following.wait_for("line 20 ");
        for _ in 0..2 {
            let killed = home.kill();
            home.next_after(killed);
        }
        assert_eq!(waiting.code(), 6, "{}", waiting.err());
        assert_eq!(following.code(), 0, "{}", following.err());
        assert_eq!(following.out(), written(flags));
        assert_eq!(String::from_utf8_lossy(&home.logs(&[&id])), written(flags));
        home.finish();
    }
}

#[test]
fn a_foreground_run_goes_on_and_passes_everything_on() {
    for flags in TRANSPORTS {
        let home = Home::watched();
        let words = slow_writer();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut run = home.start(&[&["run", "--quiet"], flags, &["--"], &words].concat());
        run.wait_for("line 20 ");
        let killed = home.kill();
        assert_eq!(run.code(), 6, "{}", run.err());
        assert_eq!(run.out().replace("\r\n", "\n"), written(&[]));
        home.next_after(killed);
        home.finish();
    }
}

/// What the keeper says first may come together with the daemon's answer, and nothing after it for long.
#[test]
fn a_foreground_caller_shows_what_came_before_it_looked() {
    let home = Home::watched();
    let actor = home.actor();
    let args = ["run", "--quiet", "--grace", "100ms", "--", &actor, "tree"];
    let mut runs: Vec<Started> = (0..16).map(|_| home.start(&args)).collect();
    runs.iter_mut().for_each(|run| run.wait_for("ready tree"));
    runs.iter().for_each(|run| proc::send(run.pid(), Signal::TERM));
    assert!(runs.iter_mut().all(|run| run.code() == 123));
    home.finish();
}

/// The caller's end is the run's end, whoever started it, and whoever lives.
#[test]
fn a_foreground_caller_that_leaves_after_the_daemon_died_ends_its_run() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let actor = home.actor();
        let mut run =
            home.start(&[&["run", "--quiet", "--grace", "100ms"], flags, &["--", &actor, "tree"]].concat());
        run.wait_for("ready tree");
        home.kill();
        proc::send(run.pid(), Signal::TERM);
        assert_eq!(run.code(), 123, "{}", run.err());
        home.wait_nobody(PATIENCE);
        home.begin();
        home.finish();
    }
}

/// Nobody starts the next daemon, and nobody has to: the keeper writes the ending.
#[test]
fn whoever_waits_hears_of_the_end_though_no_daemon_comes_back() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let command = ["sh", "-c", "read line; exit 6"];
        let id = home.start_in_background(&[flags, &["--stdin", "open"]].concat(), &command);
        let mut waiting = home.start(&["wait", &id]);
        let mut impatient = home.start(&["wait", "--timeout", "3s", &id]);
        let pids = [waiting.pid(), impatient.pid()];
        eventually("that both are connected", || pids.iter().all(|&pid| is_waiting(pid)).then_some(()));
        home.kill();
        assert_eq!(impatient.code(), 124, "{}", impatient.err());
        assert!(home.tenure(&["write", &id, "go\n"]).status.success());
        assert_eq!(waiting.code(), 6, "{}", waiting.err());
        home.begin();
        home.finish();
    }
}

#[test]
fn whoever_follows_events_hears_each_once_across_a_death() {
    let home = Home::watched();
    let mut events = home.start(&["events", "-f", "--json", "--since", "0"]);
    events.wait_for("daemon-started");
    let before = home.act(&[], &["exit", "0"]);
    events.wait_for("run-ended");
    let killed = home.kill();
    home.next_after(killed);
    let after = home.act(&[], &["exit", "3"]);
    assert_eq!((home.wait(&before), home.wait(&after)), (0, 3));
    eventually("the second ending", || (events.out().matches("\"run-ended\"").count() >= 2).then_some(()));
    let heard: Vec<serde_json::Value> = events.out().lines().flat_map(serde_json::from_str).collect();
    let seqs: Vec<u64> = heard.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "each once and in order: {seqs:?}");
    drop(events);
    home.finish();
}

/// Whether a client has had an answer and waits for more of it: it has received something, and sleeps.
fn is_waiting(pid: i32) -> bool {
    let io = std::fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let connected = targets.filter(|to| to.to_string_lossy().starts_with("socket:")).count();
    let waits = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    !io.is_empty() && connected > 0 && waits.contains("poll")
}

/// What happens between the death and the next connection is not missed, also by one who had heard nothing yet.
#[test]
fn one_who_follows_and_has_heard_nothing_yet_misses_nothing_either() {
    let home = Home::unwatched();
    let line = ["sh", "-c", "read line; exit 0"];
    let id = home.start_in_background(&["--stdin", "open"], &line);
    let newest = home.tenure(&["events", "--json"]);
    let newest = String::from_utf8_lossy(&newest.stdout).lines().count();
    let mut following = home.start_freely(&["events", "-f", "--json"]);
    let pid = following.pid();
    eventually("that it waits for the answer's body", || is_waiting(pid).then_some(()));
    home.kill();
    assert!(home.tenure(&["write", &id, "go\n"]).status.success());
    home.begin();
    following.wait_for("run-ended");
    assert!(newest > 0 && !following.out().contains("run-created"), "{}", following.out());
    drop(following);
    assert_eq!(home.wait(&id), 0);
    home.finish();
}

/// Each run is asked for at about the moment of a death. Whoever got an id got a run that ends as it should; whoever
/// got none may find that it was started nevertheless, and then that has its own true ending too.
#[test]
fn short_runs_around_a_death_have_true_endings() {
    let home = Home::watched();
    let mut told = Vec::new();
    for round in 0..10_u64 {
        let daemon = home.daemon();
        let actor = home.actor();
        let label = format!("round-{round}");
        let flags = TRANSPORTS[usize::from(round % 2 == 0)];
        let args = [&["run", "--bg", "--label", &label], flags, &["--", &actor, "exit", "4"]].concat();
        let mut asked: Started = home.start(&args);
        // No synchronisation: any moment is as good as another.
        std::thread::park_timeout(Duration::from_millis(round * 2));
        daemon.send(Signal::KILL);
        daemon.wait_dead(PATIENCE);
        match asked.code() {
            0 => told.push(asked.out().trim().to_owned()),
            125 => assert!(!asked.err().is_empty()),
            other => panic!("{other}: {}", asked.err()),
        }
        home.begin();
    }
    for id in &told {
        assert_eq!(home.wait(id), 4, "{}", home.show(id)["termination"]);
    }
    let ledger = eventually("every ending", || {
        let ledger = home.audit();
        ledger.runs.iter().all(|run| run.ending.is_some()).then_some(ledger)
    });
    for run in &ledger.runs {
        let same = ledger.runs.iter().filter(|other| other.label == run.label).count();
        assert_eq!(same, 1, "asked for once, started once: {run:?}");
        assert!(run.reason() == Some("spawn-error") || run.termination()["exitCode"] == 4, "{run:?}");
    }
    home.finish();
}

/// An upgrade: the runs of the old program are held by the new one, which lies elsewhere.
#[test]
fn a_daemon_of_another_program_file_takes_the_runs_over() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let id = start_writer(&home, flags);
        let kept = home.act(&[flags, &["--grace", "100ms"]].concat(), &["tree"]);
        home.wait_ready(&kept);
        assert!(home.tenure(&["daemon", "stop"]).status.success());
        let copy = home.dir().join("tenure-new");
        std::fs::copy(tenure_it::install::tenure(), &copy).expect("a copy");
        let script = format!("{} daemon start", copy.display());
        assert!(home.shell(&script).status.success());
        let daemon = home.daemon();
        let exe = std::fs::read_link(format!("/proc/{}/exe", daemon.pid)).expect("a program");
        assert_eq!(exe, copy);
        assert_eq!(home.wait(&id), 6);
        assert_eq!(String::from_utf8_lossy(&home.logs(&[&id])), written(flags));
        home.ask_to_cancel(&[&kept]);
        assert_eq!(home.wait(&kept), 123);
        home.finish();
    }
}

/// A keeper says once that its run leaves; whoever comes later finds out by asking.
#[test]
fn a_run_that_began_to_leave_while_no_daemon_lived_is_known_to_leave() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let stays = ["sh", "-c", "trap '' TERM HUP; echo ready; while :; do sleep 600; done"];
        let id = home.start_in_background(&[flags, &["--grace", "1h"]].concat(), &stays);
        home.wait_ready(&id);
        home.kill();
        home.ask_to_cancel(&[&id]);
        home.begin();
        let listed = |state: &str| {
            let runs = home.tenure(&["ps", "--json"]);
            let runs: Vec<serde_json::Value> = serde_json::from_slice(&runs.stdout).expect("a list");
            runs.iter().any(|run| run["runId"] == id.as_str() && run["state"] == state)
        };
        eventually("the run is said to leave", || listed("exiting").then_some(()));
        assert_eq!(home.audit().run(&id).told("run-leaving"), 1);
        home.ask_to_cancel(&["--now", &id]);
        assert_eq!(home.wait(&id), 123);
        let metrics = home.tenure(&["metrics"]);
        let metrics = String::from_utf8_lossy(&metrics.stdout).into_owned();
        assert_eq!(metric(&metrics, "tenure_run_stop_seconds_count"), 1);
        assert_eq!(home.audit().run(&id).told("run-leaving"), 1);
        home.finish();
    }
}
