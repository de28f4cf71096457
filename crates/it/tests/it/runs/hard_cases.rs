//! Situations that supervisors get wrong.

use rustix::process::Signal;
use std::process::Stdio;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::witness::Witness;
use tenure_it::{eventually, is_whole_range, proc};

#[test]
fn ten_thousand_environment_variables_arrive() {
    let install = Install::new();
    for how in [&["run", "--quiet"][..], &["run", "--quiet", "--pty"]] {
        let mut command = install.command(&[how, &["--", "env"]].concat());
        command.envs((0..10_000).map(|n| (format!("VARIABLE_{n}"), format!("value {n}"))));
        let output = command.output().expect("tenure starts");
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers: Vec<u32> = text
            .lines()
            .filter_map(|line| line.strip_prefix("VARIABLE_")?.split_once("=value "))
            .map(|(name, value)| {
                assert_eq!(name, value.trim_end());
                name.parse().expect("a number")
            })
            .collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10_000), "{how:?}");
    }
}

#[test]
fn a_shell_that_captures_the_id_of_a_background_run_goes_on_at_once() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let actor = install.actor();
    let fifo = witness.path().display();
    // The substitution ends when its pipe is closed everywhere: neither nursery, keeper nor command may hold
    // it.
    let script = format!("x=$(\"$TENURE\" run --bg -- {actor} --witness {fifo} tree 2>&1); echo \"<$x>\"");
    let output = install.shell(&script);
    let id = install.only_run();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("<{id}>\n"));
    install.wait_for_output(&id, "ready tree\n");
    assert_eq!((witness.all_dead(), &install.show(&id)["state"]), (false, &"running".into()));
    install.cancel(&id);
    assert!(witness.all_dead());
    install.assert_ended_cleanly(&id);
}

/// `tenure run` in a `tenure run` in a `tenure run`, each with less grace than the outer one: a run whose
/// keeper is killed by the outer run has no ending.
fn nested(install: &Install, command: &[&str]) -> ChildProgram {
    let tenure = install.program(tenure_it::install::tenure());
    let run = |grace| [tenure.to_str().expect("UTF-8"), "run", "--grace", grace, "--"];
    install.start(&[&["run", "--grace", "20s", "--"], &run("10s")[..], &run("200ms")[..], command].concat())
}

#[test]
fn nested_runs_keep_their_code_and_nothing_escapes() {
    for install in [Install::new(), Install::new().unprivileged().without_cgroup()] {
        let mut run = nested(&install, &["sh", "-c", "echo deep; echo down >&2; exit 7"]);
        assert_eq!((run.code(), run.out()), (7, "deep\n".to_owned()), "{}", run.err());
        assert!(run.err().contains("down\n"), "{}", run.err());
        assert_eq!(install.runs().len(), 3);
        for id in install.runs() {
            let ending = install.assert_ended_cleanly(&id);
            assert_eq!((&ending["reason"], &ending["leftovers"]), (&"exit".into(), &0.into()), "{ending}");
        }
    }
}

/// The runs from the outermost to the innermost.
fn from_outside(install: &Install) -> Vec<String> {
    let mut runs = install.runs();
    runs.sort_by_key(|id| install.show(id)["command"].as_array().map_or(0, Vec::len));
    runs.reverse();
    runs
}

#[test]
fn cancelling_an_outer_run_leaves_nothing() {
    for install in [Install::new(), Install::new().unprivileged().without_cgroup()] {
        let witness = Witness::new(install.dir());
        let (actor, fifo) = (install.actor(), witness.path().to_str().expect("UTF-8").to_owned());
        let mut run = nested(&install, &[&actor, "--witness", &fifo, "chrome-like", "2"]);
        run.wait_for("ready chrome-like\n");
        let runs = from_outside(&install);
        install.ask_to_cancel(&[&runs[0]]);
        assert_eq!(run.code(), 123, "{}", run.err());
        assert!(witness.all_dead());
        for id in &runs {
            let ending = install.assert_ended_cleanly(id);
            assert!(matches!(ending["reason"].as_str(), Some("manual-cancel" | "owner-lost")), "{ending}");
            assert_eq!(ending["escapees"], serde_json::json!([]), "{ending}");
        }
    }
}

#[test]
fn cancelling_the_innermost_run_gives_the_outer_runs_its_code() {
    let install = Install::new();
    let actor = install.actor();
    let mut run = nested(&install, &[&actor, "tree"]);
    run.wait_for("ready tree\n");
    let runs = from_outside(&install);
    install.ask_to_cancel(&[&runs[2]]);
    assert_eq!(run.code(), 123, "{}", run.err());
    assert_eq!(install.assert_ended_cleanly(&runs[2])["reason"], "manual-cancel");
    for id in &runs[..2] {
        let ending = install.assert_ended_cleanly(id);
        assert_eq!((&ending["reason"], &ending["exitCode"]), (&"exit".into(), &123.into()), "{ending}");
    }
}

#[test]
fn killing_an_outer_run_leaves_nothing() {
    let install = Install::new().without_cgroup();
    let witness = Witness::new(install.dir());
    let (actor, fifo) = (install.actor(), witness.path().to_str().expect("UTF-8").to_owned());
    let mut run = nested(&install, &[&actor, "--witness", &fifo, "ignore-term", "tree"]);
    run.wait_for("ready ignore-term\n");
    let runs = from_outside(&install);
    install.ask_to_cancel(&["--now", &runs[0]]);
    assert_eq!(run.code(), 123, "{}", run.err());
    assert!(witness.all_dead());
    install.assert_no_process_left();
}

/// `tenure run` as the first process of a pid namespace.
fn as_pid_one(install: &Install, command: &str) -> ChildProgram {
    let script = format!(
        "exec unshare --pid --fork --mount-proc --kill-child \"$TENURE\" run --grace 200ms -- {command}"
    );
    ChildProgram::new(install.shell_command(&script))
}

/// The first process of the namespace, by its outside pid.
fn pid_one(container: &ChildProgram) -> i32 {
    eventually("the namespace's first process", || proc::children(container.pid()).first().copied())
}

#[test]
fn tenure_as_pid_1_exits_with_its_commands_code() {
    let install = Install::new();
    let mut container = as_pid_one(&install, "sh -c 'echo \"$PPID\"; exit 9'");
    assert_eq!(container.code(), 9, "{}", container.err());
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn tenure_as_pid_1_forwards_sigterm_and_exits() {
    let install = Install::new();
    let witness = Witness::new(install.dir());
    let command = format!("{} --witness {} chrome-like 2", install.actor(), witness.path().display());
    let mut container = as_pid_one(&install, &command);
    container.wait_for("ready chrome-like\n");
    proc::send(pid_one(&container), Signal::TERM);
    assert_eq!(container.code(), 123, "{}", container.err());
    assert!(witness.all_dead());
    assert_eq!(install.assert_ended_cleanly(&install.only_run())["reason"], "manual-cancel");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody enters the container beside Tenure")]
fn tenure_as_pid_1_reaps_orphans_of_others() {
    let install = Install::new();
    let mut container = as_pid_one(&install, "sh -c 'echo ready; sleep 1000'");
    container.wait_for("ready\n");
    let first = pid_one(&container);
    let mut nsenter = std::process::Command::new("nsenter");
    nsenter.args(["--target", &first.to_string(), "--pid", "--mount", "sh", "-c"]);
    // A stranger's child that loses its parent, then lives until it is told: its end is Tenure's to reap.
    nsenter
        .arg("exec 3<&0; (read x <&3; exit 5) >/dev/null 2>&1 &")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let before = proc::children(first);
    let mut stranger = nsenter.spawn().expect("nsenter starts");
    let orphan = eventually("an orphan of the namespace", || {
        proc::children(first).into_iter().find(|pid| !before.contains(pid))
    });
    assert!(proc::runs(orphan), "the orphan is left alone while it lives");
    drop(stranger.stdin.take());
    stranger.wait().expect("wait");
    eventually("the orphan is reaped", || proc::stat(orphan).is_none().then_some(()));
    proc::send(first, Signal::TERM);
    assert_eq!(container.code(), 123, "{}", container.err());
}

/// The whole range for `just test-all`, and otherwise the values at which something could change.
fn sample(all: impl Iterator<Item = i32>, values: &[i32]) -> Vec<i32> {
    if is_whole_range() { all.collect() } else { values.to_vec() }
}

#[test]
fn every_exit_code_is_passed_on() {
    let install = Install::new();
    let actor = install.actor();
    for code in sample(0..=255, &[0, 1, 2, 119, 125, 126, 127, 128, 255]) {
        let output = install.tenure(&["run", "--quiet", "--", &actor, "exit", &code.to_string()]);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn death_by_a_signal_exits_with_128_plus_its_number() {
    let install = Install::new();
    let actor = install.actor();
    // Signals that stop, continue or do nothing by default, and the C library's own.
    let harmless = [17, 18, 19, 20, 21, 22, 23, 28, 32, 33];
    for number in sample((1..=64).filter(|number| !harmless.contains(number)), &[1, 2, 9, 11, 15, 34, 64]) {
        let output = install.tenure(&[
            "run",
            "--quiet",
            "--json",
            "--",
            &actor,
            "--quiet",
            "die",
            &number.to_string(),
        ]);
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let ending = &record["termination"];
        assert_eq!(output.status.code(), Some(128 + number), "{ending}");
        assert_eq!((&ending["reason"], &ending["signal"]), (&"signal".into(), &number.into()), "{ending}");
        assert_eq!(ending["exitCode"], serde_json::Value::Null, "{ending}");
    }
}

#[test]
fn many_runs_in_one_installation_do_not_disturb_each_other() {
    let install = Install::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let install = &install;
            scope.spawn(move || {
                for n in 0..5 {
                    let word = format!("{thread}-{n}");
                    let output = install.tenure(&[
                        "run",
                        "--quiet",
                        "--",
                        "sh",
                        "-c",
                        &format!("sleep 0.05 & echo {word}; exit {n}"),
                    ]);
                    assert_eq!(
                        (output.status.code(), output.stdout),
                        (Some(n), format!("{word}\n").into_bytes())
                    );
                }
            });
        }
    });
    install.assert_no_process_left();
}
