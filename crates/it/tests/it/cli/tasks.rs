//! `tenure tasks`, used from a shell by people and programs.

use serde_json::{Value, json};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::terminal::Terminal;

/// A command that runs until it is ended.
const LONG: &[&str] = &["sleep", "1000"];

fn fixture() -> DaemonFixture {
    DaemonFixture::of(Install::new().with_daemon())
}

#[track_caller]
fn run_tasks(install: &Install, args: &[&str], code: i32) -> (String, String) {
    let output = install.tenure(&[&["tasks"], args].concat());
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out} / {err}");
    (out, err)
}

#[track_caller]
fn json_of(install: &Install, args: &[&str]) -> Value {
    serde_json::from_str(&run_tasks(install, &[args, &["--json"]].concat(), 0).0).expect("JSON")
}

/// The task of a run or session in `show`.
#[track_caller]
fn task(install: &Install, lookup: &str) -> Value {
    json_of(install, &["show", lookup])["task"].clone()
}

/// Waits until a task has this status.
#[track_caller]
fn wait_status(install: &Install, lookup: &str, status: &str) -> Value {
    eventually(&format!("{lookup} is {status}"), || {
        Some(task(install, lookup)).filter(|task| task["status"] == status)
    })
}

/// The runs of a list's tasks, in order.
#[track_caller]
fn runs(install: &Install, args: &[&str]) -> Vec<String> {
    let reply = json_of(install, args);
    let tasks = reply["tasks"].as_array().unwrap_or_else(|| panic!("no list: {reply}"));
    tasks.iter().map(|task| task["runId"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_background_run_is_a_task_from_its_start_to_its_end() {
    let fixture = fixture();
    let run = fixture.start_in_background(&["--label", "the sleeper"], LONG);
    let begun = task(&fixture, &run);
    assert_eq!((&begun["kind"], &begun["status"]), (&json!("run"), &json!("running")), "{begun}");
    assert_eq!((&begun["runId"], &begun["notifyPolicy"]), (&json!(run), &json!("done_only")), "{begun}");
    assert!(begun["startedAtMs"].as_u64() >= begun["createdAtMs"].as_u64(), "{begun}");
    for field in [
        "taskId",
        "deliveryStatus",
        "ownerSessionKey",
        "childSessionKey",
        "label",
        "progressSummary",
        "terminalSummary",
        "error",
        "recentEvents",
        "endedAtMs",
        "lastEventAtMs",
        "cleanupAfterMs",
    ] {
        assert!(begun.get(field).is_some(), "{field}: {begun}");
    }
    let id = begun["taskId"].as_str().expect("an id");
    assert_eq!(task(&fixture, id)["runId"], run, "by its own id");
    assert_eq!(task(&fixture, &id[..10])["runId"], run, "by a prefix of that");
    assert_eq!(task(&fixture, &run[..10])["taskId"], id, "by its run's id prefix");
    let (out, _) = run_tasks(&fixture, &[], 0);
    let lines: Vec<&str> = out.lines().collect();
    let headings: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(headings, ["TASK", "KIND", "STATUS", "DELIVERY", "RUN/SESSION", "AGE", "SUMMARY"]);
    assert!(lines.len() == 2 && lines[1].contains("running") && lines[1].contains("the sleeper"), "{out}");
    let (out, _) = run_tasks(&fixture, &["show", &run], 0);
    for words in [id, &run, "the sleeper", "running", "done_only", "Recent events", "started"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_tasks(&fixture, &["cancel", &run], 0);
    assert!(out.contains(&id[..12]), "{out}");
    let ended = wait_status(&fixture, id, "cancelled");
    assert_eq!(ended["taskId"], id);
    assert!(ended["endedAtMs"].is_u64() && ended["cleanupAfterMs"].is_u64(), "{ended}");
    let (out, err) = run_tasks(&fixture, &["cancel", &run], 1);
    assert!(out.is_empty() && err.contains("cancelled"), "it names the task's status: {err}");
    fixture.finish();
}

#[test]
fn a_task_ends_with_the_outcome_of_its_command() {
    let fixture = fixture();
    for (script, status) in [("echo built", "succeeded"), ("echo no >&2; exit 3", "failed")] {
        let run = fixture.start_in_background(&[], &["sh", "-c", script]);
        let ended = wait_status(&fixture, &run, status);
        assert_eq!(ended["outcome"]["reason"], "exit", "{ended}");
        let kinds: Vec<&Value> =
            ended["recentEvents"].as_array().expect("events").iter().map(|event| &event["kind"]).collect();
        assert!(kinds.contains(&&json!("started")) && kinds.contains(&&json!("ended")), "{ended}");
    }
    let slow = fixture.start_in_background(&["--timeout", "200ms"], LONG);
    let ended = wait_status(&fixture, &slow, "timed_out");
    assert!(ended["error"].is_string() || ended["terminalSummary"].is_string(), "{ended}");
    fixture.finish();
}

#[test]
fn lists_are_filtered_and_paged() {
    let fixture = fixture();
    let done = fixture.start_in_background(&[], &["true"]);
    wait_status(&fixture, &done, "succeeded");
    let live: Vec<String> = (0..2).map(|_| fixture.start_in_background(&[], LONG)).collect();
    let newest_first = [live[1].clone(), live[0].clone(), done.clone()];
    assert_eq!(runs(&fixture, &["list"]), newest_first);
    assert_eq!(runs(&fixture, &["--status", "running"]), newest_first[..2]);
    assert_eq!(runs(&fixture, &["list", "--status", "succeeded", "--status", "lost"]), [done.as_str()]);
    assert_eq!(runs(&fixture, &["list", "--kind", "run", "--status", "running,succeeded"]), newest_first);
    assert_eq!(runs(&fixture, &["list", "--kind", "subagent"]), [""; 0]);
    assert_eq!(runs(&fixture, &["list", "--owner", "agent:nobody:1"]), [""; 0]);
    let (out, err) = run_tasks(&fixture, &["list", "--limit", "2"], 0);
    assert_eq!(out.lines().count(), 3, "{out}");
    let after =
        err.split("--after ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a cursor");
    let after = after.trim_matches('\'');
    assert_eq!(runs(&fixture, &["list", "--limit", "2", "--after", after]), [done.as_str()]);
    live.iter().for_each(|run| fixture.cancel(run));
    fixture.finish();
}

#[test]
fn the_notification_policy_can_be_changed_at_any_time() {
    let fixture = fixture();
    let run = fixture.start_in_background(&[], LONG);
    for policy in ["state_changes", "silent", "done_only"] {
        let (out, _) = run_tasks(&fixture, &["notify", &run, policy], 0);
        assert!(out.contains(policy), "{out}");
        assert_eq!(task(&fixture, &run)["notifyPolicy"], policy);
    }
    fixture.cancel(&run);
    wait_status(&fixture, &run, "cancelled");
    let reply = json_of(&fixture, &["notify", &run, "silent"]);
    assert_eq!(reply["task"]["notifyPolicy"], "silent", "also of an ended task: {reply}");
    fixture.finish();
}

#[test]
fn a_turn_is_the_task_of_its_session() {
    let fixture = fixture();
    let spawn =
        ["sessions", "spawn", "--backend", "exec", "--key", "agent:a:1", "--task", "echo hi; sleep 1000"];
    let output = fixture.tenure(&spawn);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let turn = wait_status(&fixture, "agent:a:1", "running");
    assert_eq!(turn["childSessionKey"], "agent:a:1", "{turn}");
    let (out, _) = run_tasks(&fixture, &["show", "agent:a:1"], 0);
    assert!(out.contains("session  agent:a:1"), "{out}");
    run_tasks(&fixture, &["cancel", "agent:a:1"], 0);
    wait_status(&fixture, "agent:a:1", "cancelled");
    fixture.finish();
}

#[test]
fn a_session_sees_only_the_tasks_it_may_see() {
    let fixture = fixture();
    for key in ["agent:a:1", "agent:b:1"] {
        let output =
            fixture.tenure(&["sessions", "spawn", "--backend", "exec", "--key", key, "--task", "sleep 1000"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        wait_status(&fixture, key, "running");
    }
    let seen = |who: &str| {
        let reply = json_of(&fixture, &["list", "--as", who, "--visibility", "self"]);
        let tasks = reply["tasks"].as_array().expect("tasks").clone();
        tasks
            .iter()
            .map(|task| task["childSessionKey"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(seen("agent:a:1"), ["agent:a:1"]);
    assert_eq!(seen("agent:b:1"), ["agent:b:1"]);
    for line in [&["show", "agent:b:1"][..], &["cancel", "agent:b:1"], &["notify", "agent:b:1", "silent"]] {
        let output =
            fixture.tenure(&[&["tasks"], line, &["--as", "agent:a:1", "--visibility", "self"]].concat());
        assert!(matches!(output.status.code(), Some(1 | 4)), "{line:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{line:?}: {output:?}");
    }
    for line in [&["audit"][..], &["maintenance", "--apply"], &["retry", "agent:a:1"]] {
        run_tasks(&fixture, &[line, &["--as", "agent:a:1"]].concat(), 1);
    }
    assert_eq!(task(&fixture, "agent:b:1")["notifyPolicy"], "done_only", "that had no effect");
    for key in ["agent:a:1", "agent:b:1"] {
        run_tasks(&fixture, &["cancel", key], 0);
    }
    fixture.finish();
}

#[test]
fn a_clean_audit_exits_with_0_and_maintenance_is_a_dry_run() {
    let fixture = fixture();
    let run = fixture.start_in_background(&[], LONG);
    let (out, err) = run_tasks(&fixture, &["audit"], 0);
    assert_eq!((out.as_str(), err.as_str()), ("nothing is wrong\n", ""));
    assert_eq!(json_of(&fixture, &["audit"])["findings"], json!([]));
    let due = json_of(&fixture, &["maintenance"])["maintenance"].clone();
    assert_eq!(due, json!({"applied": false, "lost": [], "reconciled": [], "pruned": 0}));
    assert_eq!(json_of(&fixture, &["maintenance", "--apply"])["maintenance"]["applied"], true);
    let (out, _) = run_tasks(&fixture, &["maintenance"], 0);
    assert!(out.contains("--apply"), "{out}");
    assert_eq!(task(&fixture, &run)["status"], "running", "it has a live run");
    fixture.cancel(&run);
    fixture.finish();
}

#[test]
fn watching_a_task_prints_each_change_until_its_end() {
    let fixture = fixture();
    let run = fixture.start_in_background(&[], LONG);
    let mut lines = fixture.start(&["tasks", "show", &run, "--watch"]);
    let mut json = fixture.start(&["tasks", "show", &run, "--watch", "--json"]);
    let mut person = Terminal::start(fixture.command(&["tasks", "show", &run, "--watch"]), 100, 40);
    lines.wait_for("running");
    json.wait_for("\"running\"");
    person.wait_for("running");
    run_tasks(&fixture, &["cancel", &run], 0);
    assert_eq!((lines.code(), json.code(), person.code()), (0, 0, 0));
    let out = lines.out();
    assert!(out.lines().last().is_some_and(|line| line.contains("cancelled")), "{out}");
    assert!(!out.contains('\u{1b}'), "{out}");
    let last: Value = serde_json::from_str(json.out().lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["task"]["status"], "cancelled", "{last}");
    person.wait_for("cancelled");
    assert!(person.screen().contains("\u{1b}[H"));
    fixture.finish();
}

#[test]
fn watching_the_list_prints_added_and_removed_tasks() {
    let fixture = fixture();
    fixture.start_daemon();
    let mut watch = fixture.start(&["tasks", "--status", "running", "--watch", "--json"]);
    let run = fixture.start_in_background(&[], LONG);
    watch.wait_for(&run);
    fixture.cancel(&run);
    watch.wait_for("\"cancelled\"");
    let statuses: Vec<Value> = watch
        .out()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["task"]["status"].clone())
        .collect();
    assert_eq!(statuses.first(), Some(&json!("running")), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&json!("cancelled")), "{statuses:?}");
    drop(watch);
    fixture.finish();
}

#[test]
fn each_failure_has_its_exit_code() {
    let fixture = fixture();
    for verb in ["show", "cancel", "retry"] {
        let (out, err) = run_tasks(&fixture, &[verb, "agent:nobody:1"], 4);
        assert!(out.is_empty() && err.lines().count() == 1, "{out} / {err}");
    }
    run_tasks(&fixture, &["notify", "agent:nobody:1", "silent"], 4);
    run_tasks(&fixture, &["show", ""], 2);
    let live: Vec<String> = (0..17).map(|_| fixture.start_in_background(&[], LONG)).collect();
    // There are sixteen hex digits, so two of seventeen ids share the first.
    let shared =
        live.iter().map(|id| &id[..1]).find(|one| live.iter().filter(|id| id.starts_with(one)).count() > 1);
    let (_, err) = run_tasks(&fixture, &["show", shared.expect("two that begin alike")], 1);
    assert!(err.contains("more"), "{err}");
    live.iter().for_each(|run| fixture.cancel(run));
    fixture.finish();
}

#[test]
fn a_wrong_word_lists_the_valid_ones() {
    let install = Install::new();
    for (line, valid) in [
        (&["notify", "x", "loud"][..], "done_only, state_changes, silent"),
        (&["list", "--status", "done"], "queued, running, succeeded, failed, timed_out, cancelled, lost"),
        (&["--status", "done"], "queued, running, succeeded, failed, timed_out, cancelled, lost"),
        (&["list", "--kind", "exec"], "run, acp, subagent, cli"),
        (&["list", "--visibility", "none"], "self, tree, agent, all"),
        (&["--status", "running", "show", "x"], "tenure tasks list"),
    ] {
        let (out, err) = run_tasks(&install, line, 2);
        assert!(out.is_empty() && err.lines().count() == 1 && err.contains(valid), "{line:?}: {out} / {err}");
    }
    assert!(!install.state().join("daemon.sock").exists(), "nothing was started");
}

/// A rollback of task state alone.
#[test]
fn a_reset_names_what_it_would_discard_and_leaves_runs_alone() {
    let fixture = fixture();
    let run = fixture
        .start_in_background(&["--session", "main", "--stdin", "open"], &["sh", "-c", "read line; exit 3"]);
    let pid = fixture.root_pid(&run);
    let (out, err) = run_tasks(&fixture, &["reset"], 1);
    assert!(out.is_empty() && err.contains("1 task (1 active)") && err.contains("--yes"), "{err}");
    assert_eq!(task(&fixture, &run)["status"], "running", "nothing was done");
    assert_eq!(json_of(&fixture, &["reset", "--yes"])["reset"]["tasks"], 1);
    assert_eq!(runs(&fixture, &["list"]), Vec::<String>::new());
    assert_eq!((&fixture.show(&run)["state"], fixture.root_pid(&run)), (&json!("running"), pid));
    assert!(fixture.tenure(&["write", &run, "--eof"]).status.success());
    assert_eq!(fixture.wait(&run), 3, "its end is recorded");
    assert_eq!(runs(&fixture, &["list"]), Vec::<String>::new());
    run_tasks(&fixture, &["reset", "--yes", "--as", "main"], 1);
    fixture.finish();
}
