//! Callers with closed pipes, slow readers, rivals, and callers that were started in odd ways.

use std::time::{Duration, Instant};
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

#[test]
fn output_through_a_tee_that_outlives_the_command_is_complete() {
    let install = Install::new();
    let script = "exec > >(tee copy) 2>&1; seq 100000";
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    // On a busy machine it may be cut off, but not every time.
    eventually("all of the output", || {
        let output = install.tenure(&["run", "--quiet", "--", "bash", "-c", script]);
        assert_eq!(output.status.code(), Some(0));
        (output.stdout == expected.as_bytes()).then_some(())
    });
}

#[test]
fn a_filter_that_ends_just_after_the_command_can_still_print() {
    let install = Install::new();
    // Its last output starts when the command's end has closed its input.
    let script = "exec > >(cat; sleep 0.02; echo late); echo early";
    eventually("its last output", || {
        let output = install.tenure(&["run", "--quiet", "--", "bash", "-c", script]);
        (output.stdout == b"early\nlate\n").then_some(())
    });
}

#[test]
fn a_full_standard_error_changes_no_exit_code() {
    let install = Install::new();
    assert_eq!(install.shell("$TENURE run -- sh -c 'exit 3' 2>/dev/full").status.code(), Some(3));
    assert_eq!(install.shell("$TENURE show nosuch 2>/dev/full").status.code(), Some(4));
}

#[test]
fn a_failed_write_of_the_output_is_not_success() {
    let install = Install::new();
    assert_eq!(install.shell("$TENURE run -- echo x >/dev/full").status.code(), Some(125));
    assert_eq!(install.shell("$TENURE ps --all >/dev/full").status.code(), Some(1));
}

#[test]
fn a_background_run_whose_id_could_not_be_printed_is_cancelled() {
    let install = Install::new();
    assert_eq!(install.shell("$TENURE run --bg -- sleep 1000 >/dev/full").status.code(), Some(125));
    assert_eq!(install.tenure(&["wait", &install.only_run()]).status.code(), Some(123));
}

#[test]
fn a_run_whose_directory_was_removed_ends_and_says_so() {
    let install = Install::new();
    let script = "rm -rf $TENURE_STATE/runs/*; sleep 1000";
    let output = install.tenure(&["run", "--timeout", "3s", "--", "sh", "-c", script]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains("cannot be recorded"), "{said}");
}

#[test]
fn a_caller_started_with_sigchld_ignored_returns_at_once() {
    let install = Install::new();
    // Otherwise it would wait five seconds for its nursery, every time.
    eventually("its end", || {
        let begun = Instant::now();
        let output = install.shell("trap '' CHLD; exec $TENURE run -- true");
        assert_eq!(output.status.code(), Some(0));
        (begun.elapsed() < Duration::from_secs(4)).then_some(())
    });
}

#[test]
fn two_cancels_act_as_one() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["sleep", "1000"]);
    let output = install.tenure(&["cancel", &id, &id]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn removing_a_live_run_cancels_it() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["sleep", "1000"]);
    let pid = install.root_pid(&id);
    assert!(install.tenure(&["rm", &id]).status.success());
    assert!(!proc::runs(pid));
    assert_eq!(install.runs(), Vec::<String>::new());
}

#[test]
fn a_slow_reader_of_both_streams_loses_no_byte() {
    let install = Install::new().with_env("TENURE_OUTPUT_TAIL", "65536").with_env("TENURE_OUTPUT_HEAD", "0");
    let actor = install.actor();
    let script = format!("$TENURE run --quiet -- {actor} fill 2000000 --both 2>&1 | (sleep 1; wc -c)");
    assert_eq!(String::from_utf8_lossy(&install.shell(&script).stdout).trim(), "4000000");
}

#[test]
fn an_unread_run_ends_even_if_it_prints_more_than_is_kept() {
    let install = Install::new().with_env("TENURE_OUTPUT_TAIL", "65536").with_env("TENURE_OUTPUT_HEAD", "0");
    let script = r#"{ $TENURE run --grace 300ms -- sh -c 'trap "" TERM; yes'; echo $? >code; } | head -n 1"#;
    assert_eq!(install.shell(script).stdout, b"y\n");
    let code = tenure_it::eventually("its code", || {
        std::fs::read_to_string(install.dir().join("code")).ok().filter(|code| code.ends_with('\n'))
    });
    assert_eq!(code.trim(), "123");
}

#[test]
fn input_of_a_run_belongs_to_its_foreground_caller_alone() {
    let install = Install::new();
    let mut command = install.command(&["run", "--quiet", "--", "sh", "-c", "echo ready; cat"]);
    command.stdin(std::process::Stdio::piped());
    let mut run = tenure_it::child_program::ChildProgram::new(command);
    run.wait_for("ready\n");
    let id = install.only_run();
    let refused = install.tenure(&["write", &id, "foreign\n"]);
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
    run.write(b"own\n");
    run.close_input();
    assert_eq!(run.code(), 0);
    assert_eq!(run.out(), "ready\nown\n");
}

#[test]
fn a_late_sigcont_is_no_failure() {
    let install = Install::new();
    let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let mut run = install.start(&["run", "--grace", "500ms", "--", "sh", "-c", script]);
    run.wait_for("ready\n");
    proc::send(run.pid(), rustix::process::Signal::TERM);
    proc::send(run.pid(), rustix::process::Signal::CONT);
    assert_eq!(run.code(), 123, "{}", run.err());
}

#[test]
fn a_label_cannot_write_escape_sequences_to_the_callers_terminal() {
    let install = Install::new();
    install.tenure(&["run", "--quiet", "--label", "a\u{1b}]0;x\u{7}\nforged", "--", "true"]);
    let listed = String::from_utf8(install.tenure(&["ps", "--all"]).stdout).expect("UTF-8");
    assert!(listed.lines().count() == 2 && !listed.contains('\u{1b}'), "{listed:?}");
}
