//! Time limits: activity that counts against them, activity that does not, and their endings.

use serde_json::Value;
use std::time::{Duration, Instant};
use tenure_core::defaults::GRACE;
use tenure_core::duration::show;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::{at_some_pace, millis};

/// A run that ends by itself or by a limit: its code, its ending, and its duration.
struct Ended {
    code: i32,
    ending: Value,
    took: Duration,
    out: String,
}

impl Ended {
    /// Returns some if the command came to its end, which takes at least this long.
    #[track_caller]
    fn is_exit(&self, least: Duration) -> Option<()> {
        (self.code == 0).then(|| {
            assert_eq!(self.ending["reason"], "exit");
            assert!(self.took >= least, "{:?}", self.took);
        })
    }
}

fn run(install: &Install, options: &[&str], verbs: &[&str]) -> Ended {
    let actor = install.actor();
    let mut run = install.start(&[&["run"], options, &["--", &actor], verbs].concat());
    ended(install, &mut run)
}

fn shell(options: &[&str], script: &str) -> Ended {
    let install = Install::new();
    let mut run = install.start(&[&["run"], options, &["--", "sh", "-c", script]].concat());
    ended(&install, &mut run)
}

fn ended(install: &Install, run: &mut ChildProgram) -> Ended {
    let code = run.code();
    let id = install.only_run();
    let record = install.show(&id);
    let ms = |field: &str| record[field].as_u64().expect("a time");
    let took = Duration::from_millis(ms("endedAtMs") - ms("startedAtMs"));
    Ended { code, ending: install.assert_ended_cleanly(&id), took, out: run.out() }
}

#[test]
fn the_overall_limit_ends_a_run_that_keeps_printing() {
    at_some_pace(Duration::from_millis(600), |limit| {
        let ended = run(&Install::new(), &["--timeout", &millis(limit)], &["tick", "50"]);
        assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("overall-timeout")));
        assert!(ended.took >= limit, "{:?}", ended.took);
        let detail = format!("ran longer than {}", show(limit));
        assert_eq!(ended.ending["detail"], detail);
        ended.out.contains("tick 3").then_some(())
    });
}

#[test]
fn an_overall_timeout_exits_with_124_even_if_the_command_exits_with_0() {
    let script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    at_some_pace(Duration::from_millis(500), |limit| {
        let ended = shell(&["--timeout", &millis(limit)], script);
        assert_eq!(ended.code, 124);
        ended.out.contains("ready").then(|| assert_eq!(ended.ending["exitCode"], 0))
    });
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
fn each_output_restarts_the_silence_limit() {
    // Twelve ticks take longer than the limit, but no pause between two of them does.
    at_some_pace(Duration::from_secs(1), |limit| {
        let pause = (limit / 7).as_millis().to_string();
        let ended = run(&Install::new(), &["--no-output-timeout", &millis(limit)], &["tick", &pause, "12"]);
        ended.is_exit(limit * 3 / 2)
    });
}

#[test]
fn silence_after_the_last_output_counts_from_that_output() {
    at_some_pace(Duration::from_millis(800), |limit| {
        let half = limit / 2;
        let script = format!("sleep {}; echo x; sleep 100", half.as_secs_f64());
        let ended = shell(&["--no-output-timeout", &millis(limit)], &script);
        assert_eq!((ended.code, &ended.ending["reason"]), (124, &Value::from("no-output-timeout")));
        ended.out.contains('x').then(|| assert!(ended.took >= limit + half, "{:?}", ended.took))
    });
}

#[test]
fn stderr_counts_as_output() {
    at_some_pace(Duration::from_secs(1), |limit| {
        let pause = (limit / 5).as_secs_f64();
        let script = format!("for i in 1 2 3 4 5 6 7 8 9; do echo $i >&2; sleep {pause}; done");
        shell(&["--no-output-timeout", &millis(limit)], &script).is_exit(limit * 3 / 2)
    });
}

#[test]
fn a_silent_worker_is_kept_alive_by_its_cpu_time() {
    is_kept_alive(Install::new, &["silent-cpu"]);
}

#[test]
fn a_silent_worker_below_the_root_is_kept_alive_by_its_cpu_time() {
    is_kept_alive(|| Install::new().without_cgroup(), &["child", "setsid", "silent-cpu"]);
}

#[test]
fn a_silent_writer_is_kept_alive_by_its_io() {
    is_kept_alive(Install::new, &["silent-io"]);
}

/// Works in silence for three times the silence limit.
fn is_kept_alive(install: fn() -> Install, work: &[&str]) {
    at_some_pace(Duration::from_millis(700), |limit| {
        let time = limit * 3;
        let options = ["--no-output-timeout", &millis(limit), "--activity", "cpu"];
        run(&install(), &options, &[work, &[&time.as_secs_f64().to_string()]].concat()).is_exit(time)
    });
}

#[test]
fn an_idle_run_is_ended_even_with_activity_counting_on() {
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
fn a_stop_waits_exactly_the_grace() {
    let grace = Duration::from_millis(500);
    at_some_pace(Duration::from_millis(400), |limit| {
        let options = ["--timeout", &millis(limit), "--grace", &millis(grace)];
        let ended = run(&Install::new(), &options, &["ignore-term", "sleep"]);
        assert_eq!(ended.code, 124);
        // Far less than the default grace.
        let is_over = ended.took < limit + GRACE / 2;
        (ended.out.contains("ready") && is_over).then(|| {
            assert_eq!(ended.ending["signal"], 9);
            assert!(ended.took >= limit + grace, "{:?}", ended.took);
        })
    });
}

#[test]
fn a_zero_grace_kills_at_once() {
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
fn a_zero_limit_is_off() {
    let options = ["--timeout", "0", "--no-output-timeout", "0s"];
    assert_eq!(run(&Install::new(), &options, &["sleep", "0.3"]).code, 0);
}

#[test]
fn a_second_cancel_shortens_the_grace_only_with_now() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "50s"], &[&actor, "ignore-term", "sleep"]);
    install.wait_for_output(&id, "ready ignore-term\n");
    install.ask_to_cancel(&[&id]);
    install.ask_to_cancel(&[&id]);
    // The run still has its grace.
    assert_eq!(install.start(&["wait", "--timeout", "300ms", &id]).code(), 124);
    assert!(install.show(&id)["termination"].is_null());
    let before = Instant::now();
    install.ask_to_cancel(&["--now", &id]);
    assert_eq!(install.wait(&id), 123);
    assert!(before.elapsed() < Duration::from_secs(40), "{:?}", before.elapsed());
    assert_eq!(install.assert_ended_cleanly(&id)["signal"], 9);
}

#[test]
fn a_suspended_tree_receives_sigterm() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "30s"], &[&actor, "stop"]);
    install.wait_for_output(&id, "ready stop\n");
    let pid = install.root_pid(&id);
    tenure_it::eventually("the actor stops itself", || tenure_it::proc::is_stopped(pid).then_some(()));
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
    assert_eq!(install.assert_ended_cleanly(&id)["signal"], 15, "it did not need its whole grace");
}
