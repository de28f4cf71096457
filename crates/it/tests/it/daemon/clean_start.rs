//! State that a command inherits: a session of its own, its stdio, clean signals, and the caller's environment.

use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::Command;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;

/// The inherited state that the actor prints under `tenure run` with these options.
fn state(install: &Install, options: &[&str]) -> Value {
    let actor = install.actor();
    state_by(install.command(&[&["run", "--quiet"], options, &["--", &actor, "print-state"]].concat()))
}

fn state_by(command: Command) -> Value {
    let mut run = ChildProgram::new(command);
    assert_eq!(run.code(), 0, "{}", run.err());
    serde_json::from_str(run.out().trim_end()).expect("JSON")
}

/// Runs shell commands in the caller before it becomes `tenure run`.
fn state_after(install: &Install, preparation: &str) -> Value {
    let actor = install.actor();
    state_by(
        install.shell_command(&format!("{preparation}; exec \"$TENURE\" run --quiet -- {actor} print-state")),
    )
}

#[test]
fn the_root_leads_a_session_and_a_group_of_its_own() {
    for install in [Install::new(), Install::new().unprivileged().without_cgroup()] {
        let state = state(&install, &[]);
        assert_eq!((&state["pgid"], &state["sid"]), (&state["pid"], &state["pid"]), "{state}");
        let record = install.show(&install.only_run());
        assert_eq!((&record["pid"], &record["processGroupId"]), (&state["pid"], &state["pid"]));
        assert_eq!(record["keeperPid"], state["ppid"]);
    }
}

#[test]
fn no_descriptor_but_its_stdio_is_inherited() {
    let install = Install::new();
    let file = std::fs::File::create(install.dir().join("held")).expect("create");
    let (reading, writing) = rustix::pipe::pipe().expect("pipe");
    let high = rustix::io::fcntl_dupfd_cloexec(&file, 200).expect("dup");
    for descriptor in [&std::os::fd::OwnedFd::from(file), &reading, &writing, &high] {
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty()).expect("inheritable");
    }
    for options in [&[][..], &["--stdin", "closed"], &["--pty"]] {
        let state = state(&install, options);
        let numbers: Vec<_> =
            state["descriptors"].as_array().expect("a list").iter().map(|one| &one["fd"]).collect();
        assert_eq!(numbers, [0, 1, 2], "{options:?} {state}");
    }
}

#[test]
fn no_descriptor_is_inherited_in_the_background_either() {
    let install = Install::new();
    let actor = install.actor();
    let output =
        install.shell(&format!("exec 7</dev/zero 9>held; \"$TENURE\" run --bg -- {actor} print-state"));
    let id = String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned();
    assert_eq!(install.wait(&id), 0);
    let state: Value = serde_json::from_slice(&install.logs(&[&id])).expect("JSON");
    let numbers: Vec<_> =
        state["descriptors"].as_array().expect("a list").iter().map(|one| &one["fd"]).collect();
    assert_eq!(numbers, [0, 1, 2], "{state}");
}

#[test]
fn signals_that_the_caller_ignores_are_not_ignored() {
    let state = state_after(&Install::new(), "trap '' INT HUP PIPE TERM QUIT USR1 TSTP TTIN TTOU");
    assert_eq!((&state["ignoredSignals"], &state["blockedSignals"]), (&json!([]), &json!([])), "{state}");
}

#[test]
fn signals_that_the_caller_blocks_are_not_blocked() {
    let install = Install::new();
    let actor = install.actor();
    let mut command = install.command(&["run", "--quiet", "--", &actor, "print-state"]);
    block_all_signals(&mut command);
    let state = state_by(command);
    assert_eq!((&state["blockedSignals"], &state["ignoredSignals"]), (&json!([]), &json!([])), "{state}");
}

#[expect(unsafe_code, reason = "the signal mask of a program is set between fork and exec")]
fn block_all_signals(command: &mut Command) {
    // SAFETY: the calls are async-signal-safe, and the set is filled before it is used.
    unsafe {
        command.pre_exec(|| {
            let mut set = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            Ok(())
        });
    }
}

#[test]
fn a_caller_that_ignores_and_blocks_signals_is_still_ended_by_them() {
    let install = Install::new();
    let mut command =
        install.command(&["run", "--grace", "200ms", "--", "sh", "-c", "echo ready; sleep 1000"]);
    block_all_signals(&mut command);
    let mut run = ChildProgram::new(command);
    run.wait_for("ready");
    tenure_it::proc::send(run.pid(), rustix::process::Signal::TERM);
    assert_eq!(run.code(), 123);
}

#[test]
fn umask_directory_and_descriptor_limit_are_the_callers() {
    let install = Install::new();
    let place = install.dir().join("some where");
    std::fs::create_dir(&place).expect("mkdir");
    let state = state_after(&install, "umask 0137; ulimit -Sn 333; ulimit -Hn 555; cd 'some where'");
    assert_eq!(state["umask"], "0137", "{state}");
    assert_eq!(state["nofile"], json!({"soft": 333, "hard": 555}), "{state}");
    assert_eq!(state["cwd"], place.to_str().expect("UTF-8"));
}

#[test]
fn another_directory_may_be_asked_for() {
    let install = Install::new();
    std::fs::create_dir(install.dir().join("below")).expect("mkdir");
    let below = install.dir().join("below").to_str().expect("UTF-8").to_owned();
    assert_eq!(state(&install, &["--cwd", "below"])["cwd"], below);
    assert_eq!(state(&install, &["--cwd", &below])["cwd"], below);
}

#[test]
fn the_environment_is_the_callers_plus_the_set_variables_and_the_run_marks() {
    let install = Install::new().with_env("FROM_CALLER", "a b=c").with_env("CHANGED", "before");
    let script = "echo $FROM_CALLER; echo $CHANGED; echo $NEW; echo $TENURE_RUN_ID; echo $TENURE_LEASE_ID; \
                  echo $TENURE_INSTANCE_ID; echo $TENURE_SESSION_KEY";
    let options = ["--env", "CHANGED=after", "--env", "NEW=x=y", "--session", "main:1"];
    let output = install.tenure(&[&["run", "--quiet"], &options[..], &["--", "sh", "-c", script]].concat());
    let record = install.show(&install.only_run());
    let expected = [
        "a b=c",
        "after",
        "x=y",
        text(&record["runId"]),
        text(&record["leaseId"]),
        text(&record["ownerInstanceId"]),
        "main:1",
    ];
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), expected);
}

fn text(value: &Value) -> &str {
    value.as_str().filter(|text| !text.is_empty()).expect("a text")
}

#[test]
fn a_nested_run_replaces_the_marks_of_the_outer_run() {
    let install = Install::new().with_env("TENURE_RUN_ID", "stale").with_env("TENURE_LEASE_ID", "stale");
    let output = install.tenure(&["run", "--quiet", "--", "env"]);
    let env = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!env.contains("stale"), "{env}");
    assert_eq!(env.lines().filter(|line| line.starts_with("TENURE_RUN_ID=")).count(), 1, "{env}");
}

#[test]
fn a_pty_is_the_controlling_terminal_and_has_a_size() {
    let install = Install::new();
    let state = state(&install, &["--pty"]);
    assert_eq!(
        (&state["controllingTty"], &state["winsize"]),
        (&json!(true), &json!({"cols": 120, "rows": 30}))
    );
    assert_eq!((&state["pgid"], &state["sid"]), (&state["pid"], &state["pid"]), "{state}");
    let targets: Vec<_> =
        state["descriptors"].as_array().expect("a list").iter().map(|one| &one["target"]).collect();
    assert!(
        targets.iter().all(|target| text(target).starts_with("/dev/pts/") && *target == targets[0]),
        "{state}"
    );
}

#[test]
fn without_a_pty_there_is_no_terminal() {
    let state = state(&Install::new(), &[]);
    assert_eq!((&state["controllingTty"], &state["winsize"]), (&json!(false), &Value::Null), "{state}");
}

#[test]
fn the_record_names_the_executable_and_the_group() {
    let install = Install::new();
    let output = install.tenure(&["run", "--json", "--", "sh", "-c", "true"]);
    assert!(output.status.success(), "{output:?}");
    let record = install.show(&install.only_run());
    let exe = std::path::Path::new(text(&record["exe"]));
    assert!(exe.is_absolute() && exe.ends_with("sh") && exe.exists(), "{record}");
    assert_eq!(record["processGroupId"], record["pid"]);
}
