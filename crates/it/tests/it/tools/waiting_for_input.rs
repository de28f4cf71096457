//! `waitingForInput` in `process list` and `poll`: a fact about a blocked process, or unknown.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::tool_run::ToolRun;
use tenure_it::{eventually, proc};

/// Number of checks of a value that must not change.
const LOOKS: usize = 15;

/// Asserts that it starts to wait, stays waiting, and that poll tells the agent what to do.
#[track_caller]
fn assert_waits(run: &ToolRun) {
    run.wait_until_waiting_is(&json!(true));
    let polled = poll_until_read(run);
    assert_eq!(polled["waitingForInput"], true, "{polled}");
    let message = polled["message"].as_str().expect("a message");
    assert!(message.contains("waits for input") && message.contains("send-keys"), "{polled}");
    run.kill();
}

/// Polls until no output is unread.
#[track_caller]
fn poll_until_read(run: &ToolRun) -> Value {
    eventually("a poll without output", || {
        let polled = run.expect_ok("poll", &json!({"timeoutMs": 0}));
        (polled["output"] == "").then_some(polled)
    })
}

/// Asserts that every check shows this value.
#[track_caller]
fn assert_always(run: &ToolRun, expected: &Value) {
    for _ in 0..LOOKS {
        let listed = run.listed();
        assert_eq!(listed["waitingForInput"], *expected, "{listed}");
    }
    let polled = poll_until_read(run);
    assert_eq!(polled["waitingForInput"], *expected, "{polled}");
    assert!(!polled["message"].as_str().expect("a message").contains("waits for input"), "{polled}");
}

#[test]
fn a_command_that_reads_the_stdin_pipe_waits_for_input() {
    let (_install, agent) = Agent::new();
    for command in [
        "cat",
        "read x; echo got $x",
        "sh",
        "cat | sort",
        "python3 -c 'import sys; sys.stdin.read()'",
        "python3 -c 'input()'",
        "sh -c 'sh -c \"cat; true\"; true'",
    ] {
        eprintln!("{command}");
        assert_waits(&agent.on_pipes(command));
    }
}

#[test]
fn a_command_that_splices_the_stdin_pipe_waits_for_input() {
    let (_install, agent) = Agent::new();
    assert_waits(&agent.on_pipes("python3 -c 'import os; os.splice(0, 1, 100)'"));
}

#[test]
fn a_command_that_reads_the_terminal_waits_for_input() {
    let (_install, agent) = Agent::new();
    for command in [
        "cat",
        "read x; echo got $x",
        "sh",
        "bash --norc --noprofile -i",
        "python3 -q",
        "python3 -c 'import getpass; getpass.getpass()'",
        "bash -c 'read -s x; echo'",
        "cat | sort",
    ] {
        eprintln!("{command}");
        assert_waits(&agent.in_terminal(command));
    }
}

#[test]
fn a_command_that_does_something_else_does_not_wait_for_input() {
    let (install, agent) = Agent::new();
    let dir = install.dir().to_str().expect("UTF-8");
    std::fs::write(install.dir().join("Makefile"), "all: one two\none two:\n\t@sleep 1000\n").expect("write");
    for command in [
        "sleep 1000".to_owned(),
        "while :; do :; done".to_owned(),
        "sleep 1000 | cat".to_owned(),
        "python3 -c 'import subprocess; subprocess.run([\"sleep\", \"1000\"])'".to_owned(),
        "python3 -c 'import threading; threading.Event().wait()'".to_owned(),
        format!("mkfifo {dir}/a 2>/dev/null; exec cat {dir}/a"),
        format!("mkfifo {dir}/b 2>/dev/null; exec cat <> {dir}/b"),
        format!("exec make -j 2 -C {dir}"),
    ] {
        for pty in [false, true] {
            eprintln!("{command} {pty}");
            let command = format!("echo ready; {command}");
            let run = agent.begin_run(json!({"command": command, "pty": pty}));
            run.wait_for_log("ready");
            assert_always(&run, &json!(false));
            run.kill();
        }
    }
}

#[test]
fn a_command_that_polls_many_descriptors_has_an_unknown_state() {
    let (_install, agent) = Agent::new();
    let poll = "python3 -c 'import os, select; r, w = os.pipe(); p = select.poll(); p.register(0, 1); p.register(r, 1); \
                p.poll()'";
    let epoll = "python3 -c 'import os, select; r, w = os.pipe(); p = select.epoll(); p.register(0, 1); p.register(r, 1); \
                 p.poll()'";
    let both = "python3 -c 'import os, select; r, w = os.pipe(); select.select([0, r], [], [])'";
    for (command, pty) in
        [(poll, false), (epoll, false), (poll, true), (epoll, true), (both, false), (both, true)]
    {
        // Before that, it is read from disk.
        let command = command.replace("r, w = os.pipe()", "r, w = os.pipe(); print(\"ready\", flush=True)");
        let run = agent.begin_run(json!({"command": command, "pty": pty}));
        run.wait_for_log("ready");
        run.wait_until_waiting_is(&json!("unknown"));
        assert_always(&run, &json!("unknown"));
        run.kill();
    }
    let node = agent.in_terminal("node");
    node.wait_for_prompt(">");
    node.wait_until_waiting_is(&json!("unknown"));
    assert_always(&node, &json!("unknown"));
    node.kill();
}

#[test]
fn a_background_job_that_wants_to_read_does_not_wait_for_input() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal("exec env PS1='prompt> ' bash --norc --noprofile -i");
    run.wait_for_prompt("prompt>");
    run.types("cat & sleep 1000");
    // The background job is stopped in the middle of reading the terminal.
    let shell = run.listed()["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    eventually("both jobs, the first stopped", || {
        let jobs = proc::children(shell);
        let stopped = jobs.iter().any(|&pid| proc::name(pid) == "cat" && proc::is_stopped(pid));
        (stopped && jobs.iter().any(|&pid| proc::name(pid) == "sleep")).then_some(())
    });
    assert_always(&run, &json!(false));
    // In the foreground again, it does.
    run.keys(&["C-c"]);
    run.wait_for_prompt("prompt>");
    run.wait_until_waiting_is(&json!(true));
    run.types("fg");
    run.wait_for_line("cat");
    run.wait_until_waiting_is(&json!(true));
    run.types("typed");
    run.wait_for_screen("the echo and the copy", |screen| {
        screen["lines"].as_array().expect("lines").iter().filter(|line| *line == "typed").count() == 2
    });
    run.kill();
}

#[test]
fn a_reader_that_lost_its_terminal_does_not_wait_for_input() {
    let (install, agent) = Agent::new();
    let script = r#"
import os, signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    os.read(0, 1)
sleeps = lambda: open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
while not (os.tcgetpgrp(0) == child and sleeps()):
    pass
os.tcsetpgrp(0, os.getpgrp())
print("ready", flush=True)
signal.pause()
"#;
    let file = install.dir().join("taken.py");
    std::fs::write(&file, script).expect("write");
    let run = agent.in_terminal(&format!("python3 {}", file.display()));
    run.wait_for_log("ready");
    assert_always(&run, &json!(false));
    run.kill();
}

#[test]
fn a_reader_stopped_in_the_middle_does_not_wait_for_input() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("exec cat");
    run.wait_until_waiting_is(&json!(true));
    let cat = run.listed()["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    assert_eq!(proc::name(cat), "cat");
    proc::send(cat, rustix::process::Signal::STOP);
    eventually("cat is stopped", || proc::is_stopped(cat).then_some(()));
    assert_always(&run, &json!(false));
    proc::send(cat, rustix::process::Signal::CONT);
    run.wait_until_waiting_is(&json!(true));
    run.kill();
}

#[test]
fn a_command_does_not_wait_for_input_after_stdin_eof() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("cat; echo over; sleep 1000");
    run.wait_until_waiting_is(&json!(true));
    assert_eq!(run.listed()["stdinWritable"], true);
    run.expect_ok("write", &json!({"data": "last\n", "eof": true}));
    run.wait_for_log("last\nover\n");
    assert_always(&run, &json!(false));
    assert_eq!(run.listed()["stdinWritable"], false);
    let killed = run.kill();
    assert_eq!((&killed["waitingForInput"], &killed["stdinWritable"]), (&json!(false), &json!(false)));
}
