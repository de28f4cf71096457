//! Time limits: what counts against them, what does not, and what they leave.

use serde_json::Value;
use std::time::{Duration, Instant};
use tenure_it::install::Install;
use tenure_it::started::Started;

/// A run that ends by itself or by a limit: its code, its ending, and how long the run itself took.
struct Ended {
    code: i32,
    ending: Value,
    took: Duration,
    out: String,
}

fn run(install: &Install, options: &[&str], verbs: &[&str]) -> Ended {
    let actor = install.actor();
    let mut run = install.start(&[&["run"], options, &["--", &actor], verbs].concat());
    ended(install, &mut run)
}

fn ended(install: &Install, run: &mut Started) -> Ended {
    let code = run.code();
    let id = install.only_run();
    let record = install.show(&id);
    let ms = |field: &str| record[field].as_u64().expect("a time");
    let took = Duration::from_millis(ms("endedAtMs") - ms("startedAtMs"));
    Ended { code, ending: install.assert_ended_whole(&id), took, out: run.out() }
}

#[test]
fn the_overall_limit_ends_a_run_that_goes_on_talking() {
    let ended = run(&Install::new(), &["--timeout", "600ms"], &["tick", "50"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("overall-timeout")));
    assert!(ended.took >= Duration::from_millis(600), "{:?}", ended.took);
    assert!(ended.out.contains("tick 3"), "{}", ended.out);
    assert!(ended.ending["detail"].as_str().is_some_and(|text| text.contains("600 ms")), "{}", ended.ending);
}

#[test]
fn the_overall_limit_is_124_even_if_the_command_leaves_with_zero_when_asked() {
    let install = Install::new();
    let script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut run = install.start(&["run", "--timeout", "500ms", "--", "sh", "-c", script]);
    let ended = ended(&install, &mut run);
    assert_eq!((ended.code, &ended.ending["exitCode"]), (124, &Value::from(0)));
}

#[test]
fn an_exit_before_the_deadline_is_no_timeout() {
    let install = Install::new();
    let options = ["--timeout", "30s", "--no-output-timeout", "20s"];
    let ended = run(&install, &options, &["exit", "5"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (5, &Value::from("exit")));
    assert!(ended.took < Duration::from_secs(25), "{:?}", ended.took);
}

#[test]
fn silence_ends_a_run() {
    let ended = run(&Install::new(), &["--no-output-timeout", "500ms"], &["sleep"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("no-output-timeout")));
    assert!(ended.took >= Duration::from_millis(500), "{:?}", ended.took);
}

#[test]
fn output_puts_the_silence_limit_off_every_time() {
    // Twelve ticks of 150 ms take longer than the limit, but no pause between two of them does.
    let ended = run(&Install::new(), &["--no-output-timeout", "1s"], &["tick", "150", "12"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (0, &Value::from("exit")));
    assert!(ended.took > Duration::from_millis(1500), "{:?}", ended.took);
}

#[test]
fn silence_after_the_last_output_counts_from_that_output() {
    let install = Install::new();
    let mut run = install.start(&[
        "run",
        "--no-output-timeout",
        "800ms",
        "--",
        "sh",
        "-c",
        "sleep 0.4; echo x; sleep 100",
    ]);
    let ended = ended(&install, &mut run);
    assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("no-output-timeout")));
    assert!(ended.took >= Duration::from_millis(1200), "{:?}", ended.took);
}

#[test]
fn errors_are_output_too() {
    let install = Install::new();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i >&2; sleep 0.2; done";
    let mut run = install.start(&["run", "--no-output-timeout", "1s", "--", "sh", "-c", script]);
    assert_eq!(ended(&install, &mut run).code, 0);
}

#[test]
fn a_silent_worker_is_kept_alive_by_its_cpu_time() {
    let options = ["--no-output-timeout", "700ms", "--activity", "cpu"];
    let ended = run(&Install::new(), &options, &["silent-cpu", "2"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (0, &Value::from("exit")));
    assert!(ended.took >= Duration::from_secs(2), "{:?}", ended.took);
}

#[test]
fn a_silent_worker_below_the_root_is_kept_alive_by_its_cpu_time() {
    let options = ["--no-output-timeout", "700ms", "--activity", "cpu"];
    let ended = run(&Install::new().without_cgroup(), &options, &["child", "setsid", "silent-cpu", "2"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (0, &Value::from("exit")));
}

#[test]
fn a_silent_writer_is_kept_alive_by_its_io() {
    let options = ["--no-output-timeout", "700ms", "--activity", "cpu"];
    let ended = run(&Install::new(), &options, &["silent-io", "2"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (0, &Value::from("exit")));
    assert!(ended.took >= Duration::from_secs(2), "{:?}", ended.took);
}

#[test]
fn an_idle_run_is_ended_although_activity_would_count() {
    let options = ["--no-output-timeout", "700ms", "--activity", "cpu"];
    let ended = run(&Install::new(), &options, &["tree"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("no-output-timeout")));
}

#[test]
fn cpu_time_does_not_count_unless_asked_for() {
    let ended = run(&Install::new(), &["--no-output-timeout", "600ms"], &["silent-cpu", "30"]);
    assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("no-output-timeout")));
}

#[test]
fn the_grace_is_given_and_no_more() {
    let options = ["--timeout", "400ms", "--grace", "500ms"];
    let ended = run(&Install::new(), &options, &["ignore-term", "sleep"]);
    assert_eq!((ended.code, &ended.ending["signal"]), (124, &Value::from(9)));
    assert!(ended.took >= Duration::from_millis(900), "{:?}", ended.took);
    assert!(ended.took < Duration::from_secs(4), "{:?}", ended.took);
}

#[test]
fn a_grace_of_nothing_kills_at_once() {
    let install = Install::new();
    let script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut run = install.start(&["run", "--grace", "0", "--", "sh", "-c", script]);
    run.wait_for("ready");
    install.ask_to_cancel(&[&install.only_run()]);
    let ended = ended(&install, &mut run);
    assert_eq!((ended.code, &ended.ending["signal"]), (123, &Value::from(9)));
    assert!(!ended.out.contains("asked"), "{}", ended.out);
}

#[test]
fn a_limit_of_nothing_is_off() {
    let options = ["--timeout", "0", "--no-output-timeout", "0s"];
    assert_eq!(run(&Install::new(), &options, &["sleep", "0.3"]).code, 0);
}

#[test]
fn a_cancel_hastens_nothing_unless_it_says_now() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "50s"], &[&actor, "ignore-term", "sleep"]);
    install.wait_for_output(&id, "ready ignore-term\n");
    install.ask_to_cancel(&[&id]);
    install.ask_to_cancel(&[&id]);
    // It has its grace still.
    assert_eq!(install.start(&["wait", "--timeout", "300ms", &id]).code(), 124);
    assert!(install.show(&id)["termination"].is_null());
    let before = Instant::now();
    install.ask_to_cancel(&["--now", &id]);
    assert_eq!(install.wait(&id), 123);
    assert!(before.elapsed() < Duration::from_secs(40), "{:?}", before.elapsed());
    assert_eq!(install.assert_ended_whole(&id)["signal"], 9);
}

#[test]
fn a_stopped_tree_hears_that_it_is_to_leave() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "30s"], &[&actor, "stop"]);
    install.wait_for_output(&id, "ready stop\n");
    let pid = i32::try_from(install.show(&id)["pid"].as_i64().expect("a pid")).expect("a pid");
    tenure_it::eventually("the actor stops itself", || tenure_it::proc::is_stopped(pid).then_some(()));
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
    assert_eq!(install.assert_ended_whole(&id)["signal"], 15, "it had its grace and did not need it");
}
