//! `tenure exec`, `process`, `approvals` and `allowlist`, used from a shell by people and programs.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::child_program::ChildProgram;
use tenure_it::cli_output::{json_of, run_cli, run_cli_with_input};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};

fn fixture() -> DaemonFixture {
    DaemonFixture::of(Install::new().with_daemon())
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The one live run, once it says that it is ready.
#[track_caller]
fn ready(fixture: &DaemonFixture) -> String {
    let id = eventually("a run", || {
        let runs = json_of(fixture, &["ps", "--state", "running", "--json"], 0);
        runs[0]["runId"].as_str().map(str::to_owned)
    });
    fixture.wait_ready(&id);
    id
}

#[test]
fn the_exit_code_is_the_commands_or_names_the_failure() {
    let fixture = fixture();
    let (out, err) = run_cli(&fixture, &["exec", "--", "echo out; echo err >&2; exit 3"], 3);
    assert!(out.contains("out\n") && out.contains("err\n") && err.is_empty(), "{out} / {err}");
    let (_, err) = run_cli(&fixture, &["exec", "--timeout", "100ms", "--", "sleep 1000"], 124);
    assert!(err.contains("--timeout"), "{err}");
    run_cli(&fixture, &["exec", "--no-output-timeout", "100ms", "--", "sleep 1000"], 124);
    run_cli(&fixture, &["exec", "--", "kill -9 $$"], 137);
    run_cli(&fixture, &["exec", "--", "no-such-program-of-anybody"], 127);
    let (_, err) = run_cli(&fixture, &["exec", "--workdir", "/no/such/place", "--", "true"], 126);
    assert!(err.contains("/no/such/place"), "{err}");
    let reply = json_of(&fixture, &["exec", "--json", "--", "echo x; exit 5"], 5);
    assert_eq!((&reply["status"], &reply["output"]), (&"completed".into(), &"x\n".into()), "{reply}");
    for line in
        [&["exec"][..], &["exec", "--env", "A", "--", "true"], &["exec", "--json-in", "-", "--", "true"]]
    {
        run_cli(&fixture, line, 2);
    }
    run_cli(&fixture, &["exec", "--", " "], 1);
    let unprinted = fixture.shell("exec \"$TENURE\" exec -- 'echo x' > /dev/full");
    assert_eq!(unprinted.status.code(), Some(125), "{unprinted:?}");
    fixture.finish();
}

#[test]
fn exec_uses_the_callers_directory_and_environment() {
    let fixture = fixture();
    run_cli(&fixture, &["daemon", "start"], 0);
    let below = fixture.dir().join("below");
    std::fs::create_dir(&below).expect("a directory");
    let line = "pwd; echo $OF_CALLER $GIVEN; umask; ulimit -n";
    let mut command = fixture.shell_command(&format!(
        "umask 027; ulimit -n 321; exec \"$TENURE\" exec --env GIVEN='a b' -- '{line}'"
    ));
    command.current_dir(&below).env("OF_CALLER", "theirs");
    let output = ChildProgram::new(command).output();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], below.canonicalize().expect("a path").to_str().expect("UTF-8"), "{output:?}");
    assert_eq!(lines[1..], ["theirs a b", "0027", "321"], "{output:?}");
    let (out, _) = run_cli(&fixture, &["exec", "--workdir", "below", "--", "pwd"], 0);
    assert!(out.trim_end().ends_with("/below"), "{out}");
    fixture.finish();
}

#[test]
fn several_arguments_stay_separate() {
    let fixture = fixture();
    let words = ["a b", "it's", "\"q\"", "$HOME", "*", "", "é\nz", "-n", "A=b", "\\"];
    let (out, _) = run_cli(&fixture, &[&["exec", "--", "printf", "<%s>"], &words[..]].concat(), 0);
    assert_eq!(out, words.map(|word| format!("<{word}>")).concat());
    let (out, _) = run_cli(&fixture, &["exec", "--", "echo a | tr a b"], 0);
    assert_eq!(out, "b\n", "a single argument is a command line");
    fixture.finish();
}

#[test]
fn json_output_is_machine_readable() {
    let fixture = fixture();
    let request = json!({"command": "pwd; echo $GIVEN; exit 4", "env": {"GIVEN": "x"}}).to_string();
    let (out, _) = run_cli_with_input(&fixture, &["exec", "--json-in", "-"], &request, 4);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    let here = fixture.dir().canonicalize().expect("a path");
    assert_eq!(reply["output"], format!("{}\nx\n", here.display()), "the caller's directory");
    assert_eq!((&reply["exitCode"], &reply["status"]), (&4.into(), &"completed".into()));
    let file = fixture.dir().join("request.json");
    std::fs::write(&file, json!({"action": "list"}).to_string()).expect("a file");
    let listed = json_of(&fixture, &["process", "--json-in", "request.json"], 0);
    assert_eq!(listed["runs"][0]["runId"], reply["runId"]);
    let (out, err) =
        run_cli_with_input(&fixture, &["exec", "--json-in", "-"], r#"{"command":"true","surplus":1}"#, 1);
    assert!(out.is_empty() && err.contains("surplus") && err.contains("yieldMs"), "{err}");
    for (verb, nonsense) in [("exec", "no json"), ("exec", "[]"), ("exec", ""), ("process", "{}")] {
        let (out, err) = run_cli_with_input(&fixture, &[verb, "--json-in", "-"], nonsense, 1);
        assert!(out.is_empty() && err.lines().count() == 1, "{nonsense:?}: {err}");
    }
    let unknown = json!({"action": "poll", "runId": "0000dead"}).to_string();
    run_cli_with_input(&fixture, &["process", "--json-in", "-"], &unknown, 4);
    fixture.finish();
}

#[test]
fn a_background_command_can_be_polled_read_written_to_and_killed() {
    let fixture = fixture();
    let line = "echo one; echo two; cat";
    let reply = json_of(&fixture, &["exec", "--background", "--session", "s", "--json", "--", line], 0);
    assert_eq!(reply["status"], "running", "{reply}");
    let id = text(&reply["runId"]);
    fixture.wait_for_output(&id, "two");
    let (out, err) = run_cli(&fixture, &["process", "poll", &id], 0);
    assert!(out == "one\ntwo\n" && err.lines().count() == 1, "{out} / {err}");
    let (out, _) = run_cli(&fixture, &["process", "poll", &id, "--timeout", "10ms"], 0);
    assert_eq!(out, "", "read output is not returned again");
    let (out, err) = run_cli(&fixture, &["process", "log", &id, "--offset", "1", "--limit", "1"], 0);
    assert!(out == "two\n" && err.contains("of 2"), "{out} / {err}");
    run_cli_with_input(&fixture, &["process", "write", &id], "piped\n", 0);
    let (out, _) = run_cli(&fixture, &["process", "poll", &id, "--timeout", "1m"], 0);
    assert_eq!(out, "piped\n");
    run_cli(&fixture, &["process", "send-keys", &id, "--literal", "typed ", "--hex", "78", "--hex", "0a"], 0);
    let (out, _) = run_cli(&fixture, &["process", "poll", &id, "--timeout", "1m"], 0);
    assert_eq!(out, "typed x\n");
    let (out, _) = run_cli(&fixture, &["process", "list", "--session", "s"], 0);
    assert!(out.starts_with("RUN ") && out.contains(&id[..12]) && out.contains(line), "{out}");
    let (out, _) = run_cli(&fixture, &["process", "list", "--session", "another"], 0);
    assert!(!out.contains(&id[..12]), "{out}");
    run_cli(&fixture, &["process", "poll", &id, "--session", "another"], 4);
    run_cli(&fixture, &["process", "screen", &id], 1);
    run_cli(&fixture, &["process", "clear", &id], 1);
    let killed = json_of(&fixture, &["process", "kill", &id, "--json"], 0);
    assert_eq!((&killed["exitReason"], &killed["status"]), (&"manual-cancel".into(), &"failed".into()));
    run_cli(&fixture, &["process", "remove", &id], 0);
    run_cli(&fixture, &["process", "poll", &id], 4);
    run_cli(&fixture, &["daemon", "stop"], 0);
    fixture.assert_nothing_left();
}

#[test]
fn a_terminal_program_takes_keys_and_shows_its_screen() {
    let fixture = fixture();
    let reply = json_of(&fixture, &["exec", "--background", "--pty", "--json", "--", "stty size; cat"], 0);
    let id = text(&reply["runId"]);
    fixture.wait_for_output(&id, "120");
    run_cli(&fixture, &["process", "resize", &id, "90x20"], 0);
    run_cli(&fixture, &["process", "paste", &id, "pasted words"], 0);
    run_cli(&fixture, &["process", "submit", &id], 0);
    fixture.wait_for_output(&id, "pasted words\r\npasted words");
    let (out, _) = run_cli(&fixture, &["process", "screen", &id], 0);
    assert_eq!(out.lines().filter(|line| *line == "pasted words").count(), 2, "{out}");
    run_cli(&fixture, &["process", "send-keys", &id, "C-d"], 0);
    assert_eq!(fixture.wait(&id), 0);
    fixture.finish();
}

#[test]
fn a_command_that_outlasts_the_wait_continues() {
    let fixture = fixture();
    let (out, err) = run_cli(&fixture, &["exec", "--yield", "3s", "--", "echo early; sleep 1000"], 0);
    let id = fixture.only_run();
    assert_eq!(out, "early\n");
    assert!(err.contains(&id) && err.contains("tenure process poll"), "{err}");
    assert_eq!(fixture.show(&id)["state"], "running");
    run_cli(&fixture, &["process", "kill", &id], 0);
    fixture.finish();
}

#[test]
fn a_caller_that_stops_waiting_ends_the_whole_tree() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let fixture = fixture();
        let mut caller = fixture.start(&["exec", "--yield", "2m", "--", &fixture.actor(), "tree"]);
        let id = ready(&fixture);
        proc::send(caller.pid(), signal);
        assert_eq!(caller.code(), 128 + signal.as_raw(), "{signal:?}");
        fixture.wait_nobody(WAIT_LIMIT);
        assert_eq!(fixture.wait(&id), 123, "{signal:?}");
        fixture.finish();
    }
}

#[test]
fn a_call_continues_with_the_next_daemon_and_the_same_run() {
    let fixture = fixture();
    run_cli(&fixture, &["daemon", "start"], 0);
    let line = "echo ready; until test -e go; do sleep 0.05; done; echo finished; exit 7";
    let mut caller = fixture.start(&["exec", "--json", "--yield", "2m", "--", line]);
    let id = ready(&fixture);
    for _ in 0..2 {
        let killed = fixture.kill();
        fixture.wait_next_daemon(killed);
    }
    std::fs::write(fixture.dir().join("go"), "").expect("write");
    assert_eq!(caller.code(), 7, "{}", caller.err());
    let reply: Value = serde_json::from_str(&caller.out()).expect("JSON");
    assert_eq!((&reply["runId"], &reply["status"]), (&Value::from(&*id), &"completed".into()), "{reply}");
    assert_eq!(reply["output"], "ready\nfinished\n");
    assert_eq!(fixture.runs().len(), 1, "it was started once");
    fixture.finish();
}

#[test]
fn a_call_whose_daemon_died_still_yields_and_still_ends_with_its_caller() {
    let fixture = fixture();
    run_cli(&fixture, &["daemon", "start"], 0);
    let mut caller = fixture.start(&["exec", "--yield", "3s", "--", &fixture.actor(), "sleep"]);
    let id = ready(&fixture);
    let killed = fixture.kill();
    assert_eq!(caller.code(), 0, "{}", caller.err());
    assert!(caller.err().contains(&format!("the command goes on as run {id}")), "{}", caller.err());
    fixture.wait_next_daemon(killed);
    fixture.cancel(&id);
    let mut caller = fixture.start(&["exec", "--yield", "2m", "--", &fixture.actor(), "sleep"]);
    let id = ready(&fixture);
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    // The next daemon learns of the caller when the caller asks again.
    eventually("the command ends with its caller", || {
        proc::send(caller.pid(), Signal::INT);
        caller.ended().map(drop)
    });
    let waited = fixture.tenure(&["wait", "--timeout", "2s", &id]).status.code();
    if waited == Some(124) {
        // The caller exited before it had asked: then the command continues, as promised.
        fixture.cancel(&id);
    }
    fixture.finish();
}

#[test]
fn an_unknown_id_exits_with_4() {
    let fixture = fixture();
    for id in ["0000dead", "../x"] {
        for action in ["poll", "log", "submit", "screen", "kill", "clear", "remove"] {
            run_cli(&fixture, &["process", action, id], 4);
        }
        run_cli(&fixture, &["process", "write", id, "x"], 4);
        run_cli(&fixture, &["approvals", "allow-once", id], 4);
        run_cli(&fixture, &["allowlist", "remove", id], 4);
    }
    for line in [&["process", "poll"][..], &["process", "fly"], &["process"], &["approvals", "deny"]] {
        run_cli(&fixture, line, 2);
    }
    fixture.finish();
}

#[test]
fn a_person_is_asked_and_answers() {
    let fixture = fixture();
    let asked = |line: &str| {
        let args = ["exec", "--ask", "always", "--session", "agent:a:main", "--json", "--", line];
        let reply = json_of(&fixture, &args, 1);
        assert_eq!(reply["status"], "approval-pending", "{reply}");
        text(&reply["runId"])
    };
    let (allowed, denied) = (asked("echo allowed"), asked("echo denied"));
    let (out, _) = run_cli(&fixture, &["approvals"], 0);
    assert_eq!(out.lines().count(), 7, "three lines each: {out}");
    for words in ["agent:a:main", &allowed[..12], &denied[..12], "    echo denied\n", "in 29 min"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&fixture, &["approvals", "allow-once", &allowed[..8]], 0);
    assert!(out.contains(&allowed[..12]) && out.contains("echo allowed"), "{out}");
    let (out, _) = run_cli(&fixture, &["process", "poll", &allowed, "--timeout", "1m"], 0);
    assert_eq!(out, "allowed\n");
    let answered = json_of(&fixture, &["approvals", "deny", &denied, "--json"], 0);
    assert_eq!(answered["state"], "denied", "{answered}");
    assert!(!fixture.runs().contains(&denied), "it did not run");
    assert_eq!(json_of(&fixture, &["approvals", "--json"], 0), json!([]));
    let all = json_of(&fixture, &["approvals", "list", "--all", "--json"], 0);
    assert_eq!(all.as_array().map(Vec::len), Some(2), "{all}");
    let (_, err) = run_cli(&fixture, &["exec", "--ask", "always", "--", "echo for people"], 1);
    assert!(err.contains("tenure approvals allow-once"), "{err}");
    assert_eq!(fixture.wait(&allowed), 0);
    fixture.finish();
}

#[test]
fn an_allowlisted_command_runs_without_a_question() {
    let fixture = DaemonFixture::of(Install::new().with_daemon().with_env("TENURE_EXEC_MODE", "allowlist"));
    let (_, err) = run_cli(&fixture, &["exec", "--", "ls -d /"], 1);
    assert!(err.contains("ls"), "{err}");
    let (id, _) = run_cli(&fixture, &["allowlist", "add", "ls", "--args", "-d .*"], 0);
    let (out, _) = run_cli(&fixture, &["exec", "--", "ls -d /"], 0);
    assert_eq!(out, "/\n");
    run_cli(&fixture, &["exec", "--", "ls -l /"], 1);
    let (out, _) = run_cli(&fixture, &["allowlist"], 0);
    assert!(out.contains("ls, arguments like -d .*"), "{out}");
    let entries = json_of(&fixture, &["allowlist", "list", "--json"], 0);
    assert_eq!((&entries[0]["entry"]["program"], &entries[0]["uses"]), (&"ls".into(), &1.into()));
    run_cli(&fixture, &["allowlist", "add", "relative/path"], 1);
    run_cli(&fixture, &["allowlist", "remove", id.trim()], 0);
    run_cli(&fixture, &["allowlist", "remove", id.trim()], 4);
    run_cli(&fixture, &["exec", "--", "ls -d /"], 1);
    fixture.finish();
}

#[test]
fn run_settings_in_the_callers_environment_apply_to_that_call() {
    let fixture = fixture();
    run_cli(&fixture, &["daemon", "start"], 0);
    let code = |script: &str| fixture.shell(script).status.code();
    let limit = "TENURE_EXEC_TIMEOUT=200ms $TENURE exec";
    assert_eq!(code(&format!("{limit} -- 'sleep 1000'")), Some(124));
    assert_eq!(code(&format!("echo '{{\"command\":\"sleep 1000\"}}' | {limit} --json-in -")), Some(124));
    assert_eq!(code(&format!("{limit} --timeout 1m -- 'sleep 0.5'")), Some(0), "a flag comes first");
    assert_eq!(code("$TENURE exec -- 'sleep 0.5'"), Some(0), "other calls have the daemon's");
    let dropped = |env: &str, verb: &str| {
        let output = fixture.shell(&format!("{env} $TENURE {verb} 'head -c 300000 /dev/zero' | wc -c"));
        assert!(output.status.success(), "{output:?}");
        json_of(&fixture, &["ps", "--all", "--limit", "1", "--json"], 0)[0]["output"]["droppedBytes"].clone()
    };
    let less = "TENURE_OUTPUT_HEAD=0 TENURE_OUTPUT_TAIL=64KiB";
    for verb in ["exec --", "run --quiet -- sh -c"] {
        assert!(dropped(less, verb).as_u64().is_some_and(|bytes| bytes > 100_000), "{verb}");
        assert_eq!(dropped("", verb), 0, "{verb}");
    }
    fixture.finish();
}

#[test]
fn a_truncated_list_says_so() {
    let fixture = fixture();
    (0..4).for_each(|_| drop(run_cli(&fixture, &["run", "--quiet", "--", "true"], 0)));
    let (out, err) = run_cli(&fixture, &["process", "list", "--limit", "3"], 0);
    assert!(out.lines().count() == 4 && err.contains("the newest 3 are shown"), "{out}{err}");
    let (_, err) = run_cli(&fixture, &["process", "list"], 0);
    assert_eq!(err, "", "all are shown");
    fixture.finish();
}
