//! The basic commands over a daemon: readable texts and reliable exit codes.

use std::os::unix::fs::PermissionsExt;
use tenure_it::cli_output::run_cli;
use tenure_it::eventually;
use tenure_it::install::Install;

#[test]
fn the_daemon_starts_on_first_use_and_reports_its_status() {
    let install = Install::new().with_daemon();
    let (out, _) = run_cli(&install, &["daemon", "status"], 1);
    assert_eq!(out, "no daemon is running\n");
    let (out, _) = run_cli(&install, &["daemon", "status", "--json"], 1);
    assert_eq!(out.trim(), "{\"running\":false}");
    run_cli(&install, &["daemon", "stop"], 0);
    let (out, err) = run_cli(&install, &["ps"], 0);
    assert!(err.is_empty(), "{err}");
    assert!(out.lines().count() <= 1, "{out}");
    let (first, _) = run_cli(&install, &["daemon", "start"], 0);
    let (second, _) = run_cli(&install, &["daemon", "start"], 0);
    assert_eq!(first, second, "it is the same");
    let (out, _) = run_cli(&install, &["daemon", "status"], 0);
    assert!(out.starts_with("ok for ") && out.contains("0 live runs") && out.contains("tenure.db"), "{out}");
    let (out, _) = run_cli(&install, &["daemon", "status", "--json"], 0);
    let status: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&status["running"], &status["status"]), (&true.into(), &"ok".into()));
    run_cli(&install, &["daemon", "stop"], 0);
    run_cli(&install, &["daemon", "status"], 1);
}

#[test]
fn show_describes_a_run_in_words() {
    let install = Install::new().with_daemon();
    let id = install.start_in_background(
        &["--label", "the greeter", "--session", "agent:a:main"],
        &["sh", "-c", "echo hello; exit 3"],
    );
    assert_eq!(install.wait(&id), 3);
    let (out, _) = run_cli(&install, &["ps", "--all"], 0);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2, "a head and a run: {out}");
    assert!(lines[1].contains(&id[..12]) && lines[1].contains("the greeter"), "{out}");
    let (out, _) = run_cli(&install, &["show", &id[..6]], 0);
    for words in [&id[..], "agent:a:main", "the greeter", "3"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&install, &["why", &id], 0);
    for words in ["run-created", "asked by", "started", "first-output", "exited with 3", "run-ended"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(!out.contains('{') && !out.contains('\u{1b}'), "prose, not JSON: {out}");
    let (out, _) = run_cli(&install, &["events"], 0);
    for words in ["daemon-started", "run-created", "run-ended", &id[..12]] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&install, &["metrics"], 0);
    assert!(out.contains("tenure_run_spawn_total 1\n"), "{out}");
    let (out, _) = run_cli(&install, &["reap", "--dry-run"], 0);
    assert_eq!(out, "no orphaned runs\n");
    run_cli(&install, &["rm", &id], 0);
    run_cli(&install, &["show", &id], 4);
}

#[test]
fn exit_codes_distinguish_errors() {
    let install = Install::new().with_daemon();
    run_cli(&install, &["daemon", "start"], 0);
    for text in ["0000dead", "..", "../../x", "zz"] {
        for verb in ["show", "why", "cancel", "rm", "wait", "logs", "tree", "screen", "submit"] {
            let (out, err) = run_cli(&install, &[verb, "--", text], 4);
            assert!(
                out.is_empty() && err.starts_with("tenure: ") && err.lines().count() == 1,
                "{verb}: {out}{err}"
            );
        }
        run_cli(&install, &["reap", "--run", text], 4);
    }
    for args in [
        &["no-such-verb"][..],
        &["ps", "--no-such-flag"],
        &["show"],
        &["why"],
        &["cancel"],
        &["cancel", "x", "--scope", "y"],
        &["daemon", "fly"],
        &["events", "--since", "x"],
        &["backup"],
    ] {
        let (out, err) = run_cli(&install, args, 2);
        assert!(out.is_empty() && err.starts_with("tenure: "), "{args:?}: {out}{err}");
    }
    let (_, err) = run_cli(&install, &["backup", "/no/such/place/copy.db"], 1);
    assert!(err.contains("/no/such/place"), "{err}");
}

#[test]
fn a_backup_is_a_new_complete_file() {
    let install = Install::new().with_daemon();
    let id = install.start_in_background(&[], &["true"]);
    install.wait(&id);
    run_cli(&install, &["backup", "copy.db"], 0);
    let copy = install.dir().join("copy.db");
    let bytes = std::fs::read(&copy).expect("a copy");
    assert!(bytes.starts_with(b"SQLite format 3\0"));
    assert!(bytes.windows(id.len()).any(|part| part == id.as_bytes()), "the run is in it");
    let mode = std::fs::metadata(&copy).expect("a copy").permissions().mode();
    assert_eq!(mode & 0o077, 0, "others may not read it");
    let (_, err) = run_cli(&install, &["backup", "copy.db"], 1);
    assert!(err.contains("exists"), "{err}");
}

#[test]
fn following_events_survives_a_restart() {
    let install = Install::new().with_daemon();
    run_cli(&install, &["daemon", "start"], 0);
    let mut follower = install.start(&["events", "-f", "--since", "0", "--json"]);
    follower.wait_for("daemon-started");
    run_cli(&install, &["daemon", "stop"], 0);
    // A watcher does not start a stopped daemon.
    run_cli(&install, &["daemon", "status"], 1);
    let id = install.start_in_background(&[], &["true"]);
    follower.wait_for(&id);
    install.wait(&id);
    follower.wait_for("run-ended");
    assert!(follower.out().contains("daemon-stopped"));
    let out = follower.out();
    let numbers: Vec<u64> = out
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["seq"].as_u64())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn stop_with_cancel_ends_the_runs_first() {
    let install = Install::new().with_daemon();
    let kept = install.start_in_background(&[], &["sleep", "1000"]);
    run_cli(&install, &["daemon", "stop"], 0);
    run_cli(&install, &["daemon", "start"], 0);
    assert_eq!(install.show(&kept)["state"], "running", "it survived the daemon");
    run_cli(&install, &["daemon", "stop", "--cancel-runs"], 0);
    eventually("every process is gone", || install.processes().is_empty().then_some(()));
    assert_eq!(install.show(&kept)["termination"]["reason"], "manual-cancel");
}
