//! `exec`: the outcome of a command line in the words of the reply, and the effect of a hang-up.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;
use tenure_it::registry_file::RegistryFile;
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// A daemon whose commands have a short grace.
fn short_grace_install() -> Install {
    Install::new().with_env("TENURE_RUN_GRACE", "200ms")
}

fn start_agent(install: Install) -> (DaemonFixture, Agent) {
    let fixture = DaemonFixture::of(install);
    fixture.start_daemon();
    let agent = Agent::of(&fixture);
    (fixture, agent)
}

fn daemon() -> (DaemonFixture, Agent) {
    start_agent(short_grace_install())
}

/// A path as a word of a command line.
fn word(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// A command line of an actor with the fixture's witness.
fn actor(fixture: &DaemonFixture, words: &str) -> String {
    format!("{} --witness {} {words}", fixture.actor(), word(&fixture.dir().join("witness")))
}

#[track_caller]
fn assert_failed(reply: &Value, kind: &str) {
    assert_eq!((&reply["status"], &reply["failureKind"]), (&json!("failed"), &json!(kind)), "{reply}");
    assert!(reply["followUp"].is_string(), "it names a remedy: {reply}");
}

#[test]
fn a_normal_exit_is_completed_with_its_code_and_both_streams() {
    let (fixture, agent) = daemon();
    for code in [0, 3, 255] {
        let reply = agent.run(&format!("echo out; echo err >&2; exit {code}"));
        assert_eq!((&reply["status"], &reply["exitCode"]), (&json!("completed"), &json!(code)), "{reply}");
        assert_eq!((&reply["exitReason"], &reply["failureKind"]), (&json!("exit"), &Value::Null), "{reply}");
        let mut lines: Vec<&str> = reply["output"].as_str().expect("a text").lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["err", "out"], "{reply}");
        assert_eq!((&reply["truncated"], &reply["tail"]), (&json!(false), &json!("")), "{reply}");
        assert_eq!(reply["warnings"], json!([]), "{reply}");
    }
    fixture.finish();
}

#[test]
fn a_command_not_found_or_not_executable_fails_and_says_which() {
    let (fixture, agent) = daemon();
    let file = fixture.dir().join("no-program");
    std::fs::write(&file, "#!/bin/sh\n").expect("a file");
    let reply = agent.run("no-such-program-at-all 1 2");
    assert_failed(&reply, "shell-command-not-found");
    assert_eq!((&reply["exitCode"], &reply["exitReason"]), (&json!(127), &json!("exit")), "{reply}");
    let reply = agent.run(&word(&file));
    assert_failed(&reply, "shell-not-executable");
    assert_eq!(reply["exitCode"], 126, "{reply}");
    fixture.finish();
}

#[test]
fn a_timeout_is_never_a_success_even_if_the_command_exits_with_0() {
    let (fixture, agent) = daemon();
    for command in ["sleep 600", "trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.05; done"] {
        let reply = agent.exec(&json!({"command": command, "timeoutSeconds": 0.4, "yieldMs": 60_000}));
        assert_failed(&reply, "overall-timeout");
        assert_eq!(reply["exitReason"], "overall-timeout", "{reply}");
    }
    let reply = agent.exec(&json!({"command": "trap 'exit 0' TERM; echo word; while :; do sleep 0.05; done",
        "noOutputTimeoutSeconds": 5, "yieldMs": 60_000}));
    assert_failed(&reply, "no-output-timeout");
    assert!(reply["output"].as_str().is_some_and(|said| said.starts_with("word\n")), "{reply}");
    fixture.finish();
}

#[test]
fn a_timeout_ends_a_command_in_the_background_too() {
    let (fixture, agent) = daemon();
    let run = agent.start_with(json!({"command": "sleep 600", "timeoutSeconds": 4}));
    let (_, last) = agent.poll_to_the_end(&run);
    assert_eq!((&last["status"], &last["failureKind"]), (&json!("failed"), &json!("overall-timeout")));
    fixture.finish();
}

#[test]
fn a_command_that_kills_itself_fails_with_that_signal() {
    let (fixture, agent) = daemon();
    for signal in ["KILL", "TERM", "SEGV"] {
        let reply = agent.run(&format!("kill -{signal} $$; sleep 600"));
        assert_failed(&reply, "signal");
        let named = (&reply["exitSignal"], &reply["exitCode"]);
        assert_eq!(named, (&json!(format!("SIG{signal}")), &Value::Null), "{reply}");
    }
    fixture.finish();
}

#[test]
fn a_command_cancelled_by_another_client_is_aborted() {
    let (fixture, agent) = daemon();
    let mut waiting = agent.begin_exec(json!({"command": "echo begun; sleep 600", "yieldMs": 60_000}));
    let run = agent.only_run();
    agent.wait_for(&run, "begun");
    fixture.ask_to_cancel(&[&run]);
    let reply = waiting.answer().is(200).json();
    assert_failed(&reply, "aborted");
    assert_eq!((&reply["exitReason"], &reply["output"]), (&json!("manual-cancel"), &json!("begun\n")));
    fixture.finish();
}

#[test]
fn a_command_in_a_missing_directory_cannot_start() {
    let (fixture, agent) = daemon();
    let missing = word(&fixture.dir().join("missing"));
    for request in [json!({"background": false}), json!({"background": true})] {
        let background = &request["background"];
        let reply = agent.exec(&json!({"command": "true", "workdir": missing, "background": background}));
        assert_failed(&reply, "spawn-error");
        assert!(reply["followUp"].as_str().is_some_and(|said| said.contains("missing")), "{reply}");
    }
    fixture.finish();
}

#[test]
fn a_process_that_leaves_its_session_and_outlives_the_command_is_an_escape_and_is_killed() {
    let (fixture, agent) = daemon();
    let reply = agent.run(&actor(&fixture, "leave setsid sleep 600"));
    assert_failed(&reply, "ownership-escape");
    fixture.wait_nobody(WAIT_LIMIT);
    fixture.finish();
}

#[test]
fn a_long_command_continues_in_the_background_with_all_its_output() {
    let (fixture, agent) = daemon();
    for request in [json!({"yieldMs": 500}), json!({"background": true})] {
        let mut request = request;
        request["command"] = "echo first $$; read line; echo second $$ $line; exit 4".into();
        let reply = agent.exec(&request);
        assert_eq!((&reply["status"], &reply["exitCode"]), (&json!("running"), &Value::Null), "{reply}");
        let run = text(&reply["runId"]);
        assert!(reply["followUp"].as_str().is_some_and(|said| said.contains(&run)), "{reply}");
        agent.wait_for(&run, "first");
        let pid = fixture.show(&run)["pid"].clone();
        let shown = agent.list().into_iter().find(|shown| shown["runId"] == run).expect("it is listed");
        assert_eq!((&shown["pid"], &shown["tail"]), (&pid, &json!(format!("first {pid}\n"))), "{shown}");
        agent.process("write", &run, &json!({"data": "go\n"}));
        let (read, last) = agent.poll_to_the_end(&run);
        assert_eq!(read, format!("first {pid}\nsecond {pid} go\n"), "from the start, by one process");
        assert_eq!((&last["status"], &last["exitCode"]), (&json!("completed"), &json!(4)), "{last}");
    }
    fixture.finish();
}

#[test]
fn a_yield_returns_the_tail_of_the_output() {
    let (fixture, agent) = daemon();
    // The command prints before any wait can time out: no window is too short for that.
    let gate = fixture.dir().join("gate");
    let command = format!("echo early; touch {0}; sleep 600", word(&gate));
    let mut wire = agent.begin_exec(json!({"command": command, "yieldMs": 6_000}));
    eventually("the command", || gate.exists().then_some(()));
    let reply = wire.answer().is(200).json();
    assert_eq!((&reply["status"], &reply["tail"]), (&json!("running"), &json!("early\n")), "{reply}");
    fixture.cancel(&text(&reply["runId"]));
    fixture.finish();
}

/// A caller that hangs up before its answer has stopped waiting: the whole tree ends.
#[test]
fn a_caller_that_hangs_up_while_it_waits_ends_the_whole_tree() {
    let (fixture, agent) = daemon();
    for words in ["tree", "ignore-term child setsid sleep 600"] {
        let wire = agent.begin_exec(json!({"command": actor(&fixture, words), "yieldMs": 120_000}));
        let run = agent.only_run();
        agent.wait_for(&run, "ready");
        drop(wire);
        fixture.wait_nobody(WAIT_LIMIT);
        assert_eq!(agent.api.wait(&run)["termination"]["reason"], "manual-cancel");
        agent.process("clear", &run, &json!({}));
    }
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.assert_nothing_left();
}

#[test]
fn a_caller_that_hangs_up_during_the_start_ends_the_command() {
    for point in ["daemon-row-written", "daemon-launched", "daemon-before-started"] {
        let fixture = DaemonFixture::of(short_grace_install());
        let daemon = fixture.start_daemon_paused(point);
        let agent = Agent::of(&fixture);
        let wire = agent.begin_exec(json!({"command": actor(&fixture, "tree"), "yieldMs": 120_000}));
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        drop(wire);
        daemon.send(Signal::CONT);
        let run = agent.only_run();
        assert_eq!(agent.api.wait(&run)["termination"]["reason"], "manual-cancel", "{point}");
        fixture.finish();
    }
}

#[test]
fn a_caller_that_hangs_up_in_the_queue_starts_nothing() {
    let (fixture, agent) = start_agent(short_grace_install().with_env("TENURE_RUNS_MAX", "1"));
    let queued = |length: u64| {
        eventually(&format!("{length} in the queue"), || {
            (agent.api.get("/v1/health").is(200).json()["queuedRuns"] == length).then_some(())
        });
    };
    let first = agent.start("read line");
    let marker = fixture.dir().join("marker");
    for background in [false, true] {
        let command = format!("touch {}", word(&marker));
        let wire = agent.begin_exec(json!({"command": command, "background": background}));
        queued(1);
        drop(wire);
        queued(0);
    }
    agent.process("write", &first, &json!({"eof": true}));
    agent.poll_to_the_end(&first);
    // The one place is free, and the next request gets it.
    assert_eq!(agent.run("echo next")["output"], "next\n");
    assert_eq!((RegistryFile::read(&fixture).runs.len(), marker.exists()), (2, false));
    fixture.finish();
}

#[test]
fn a_caller_that_hangs_up_after_the_yield_leaves_the_command_running() {
    let (fixture, agent) = daemon();
    let mut wire = agent.begin_exec(json!({"command": "read line; echo got $line", "yieldMs": 10}));
    let reply = wire.answer().is(200).json();
    drop(wire);
    let run = text(&reply["runId"]);
    agent.process("write", &run, &json!({"data": "it\n"}));
    let (read, last) = agent.poll_to_the_end(&run);
    assert_eq!((read.as_str(), &last["exitCode"]), ("got it\n", &json!(0)));
    fixture.finish();
}

#[test]
fn stdin_of_a_command_on_pipes_can_be_written_and_closed() {
    let (fixture, agent) = daemon();
    let run = agent.start("cat; echo over");
    let wrote = agent.process("write", &run, &json!({"data": "one\n"}));
    assert_eq!(wrote["bytesWritten"], 4, "{wrote}");
    assert_eq!(agent.poll_until(&run, "one\n"), "one\n");
    agent.process("write", &run, &json!({"data": "two\n", "eof": true}));
    let (read, last) = agent.poll_to_the_end(&run);
    assert_eq!((read.as_str(), &last["exitCode"]), ("two\nover\n", &json!(0)));
    agent.ask("write", &run, &json!({"data": "three\n"})).refused(409, "wrong-state");
    fixture.finish();
}

#[test]
fn a_command_has_a_terminal_only_with_pty() {
    let (fixture, agent) = daemon();
    let command = "test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM";
    let reply = agent.exec(&json!({"command": command, "pty": true, "yieldMs": 60_000}));
    assert_eq!(reply["output"].as_str().expect("a text").lines().next(), Some("30 120"), "{reply}");
    assert_eq!(reply["warnings"], json!([]), "{reply}");
    assert_eq!(agent.run("test -t 0 || test -t 1 || echo pipes")["output"], "pipes\n");
    let run = agent.start_with(json!({"command": "read line; echo got $line", "pty": true}));
    agent.process("send-keys", &run, &json!({"literal": "ab", "keys": ["BSpace", "c", "Enter"]}));
    let (read, _) = agent.poll_to_the_end(&run);
    assert!(read.contains("got ac"), "{read:?}");
    fixture.finish();
}

/// The shell replaces itself by a simple command, so listing, signals and measurements are the command's.
#[test]
fn the_root_of_a_simple_command_is_that_command() {
    for shell in ["/bin/bash", "/bin/sh", "/bin/dash"] {
        let (fixture, agent) = start_agent(short_grace_install().with_env("SHELL", shell));
        let lines = ["sleep 600", "sleep 600 > /dev/null", "A=1 sleep $((300 + 300)) # long"];
        for (line, pty) in lines.into_iter().flat_map(|line| [(line, false), (line, true)]) {
            let run = agent.start_with(json!({"command": line, "pty": pty}));
            let shown = fixture.show(&run);
            let number = |value: &Value| i32::try_from(value.as_i64().expect("a pid")).expect("a pid");
            let (root, keeper) = (number(&shown["pid"]), number(&shown["keeperPid"]));
            eventually("the command itself", || (proc::name(root) == "sleep").then_some(()));
            assert_eq!(proc::descendants(keeper), [root], "{shell}: {line}");
            let listed = &agent.process("log", &run, &json!({}))["command"];
            assert_eq!(listed, line, "unchanged");
            assert_eq!(shown["command"].as_array().and_then(|words| words.last()), Some(listed));
            fixture.cancel(&run);
        }
        fixture.finish();
    }
}

/// Even if the shell is told to replace itself.
#[test]
fn a_command_line_ends_with_its_shells_exit_code() {
    for shell in ["/bin/bash", "/bin/sh"] {
        let (fixture, agent) = start_agent(short_grace_install().with_env("SHELL", shell));
        for (line, code) in [
            ("no-such-program", 127),
            ("/etc/passwd", 126),
            ("/etc/passwd > /dev/null", 126),
            ("no-such-program > /dev/null", 127),
            ("A=1 sh -c 'exit $((A + 6))' > /dev/null", 7),
            ("sh -c 'exit 3' 2>&1", 3),
            ("exit 5", 5),
            ("A=1", 0),
        ] {
            let reply = agent.exec(&json!({"command": line, "yieldMs": 60_000}));
            assert_eq!(reply["exitCode"], code, "{shell}: {line}: {reply}");
        }
        let reply = agent.exec(&json!({"command": "cat < /no/such/file", "yieldMs": 60_000}));
        assert!(reply["exitCode"].as_i64().is_some_and(|code| (1..3).contains(&code)), "{reply}");
        fixture.finish();
    }
}

#[test]
fn no_startup_file_of_the_user_is_read_before_the_command() {
    for shell in ["/bin/bash", "/bin/sh"] {
        let install = short_grace_install();
        let dir = install.dir().to_owned();
        for name in [".bashrc", ".profile", ".bash_profile", ".bash_login", ".shrc", "env"] {
            std::fs::write(dir.join(name), "echo READ; GREETING=changed\n").expect("a file");
        }
        let env = word(&dir.join("env"));
        let install = install
            .with_env("HOME", &word(&dir))
            .with_env("SHELL", shell)
            .with_env("BASH_ENV", &env)
            .with_env("ENV", &env);
        let (fixture, agent) = start_agent(install);
        for pty in [false, true] {
            let reply =
                agent.exec(&json!({"command": "echo ${GREETING-none}", "pty": pty, "yieldMs": 60_000}));
            assert_eq!(reply["output"].as_str().map(str::trim_end), Some("none"), "{shell}: {reply}");
        }
        // A request cannot set it either.
        let asked = json!({"command": "true", "env": {"BASH_ENV": env}});
        let why = agent.ask_exec(&asked).refused(422, "invalid");
        assert!(why.contains("BASH_ENV"), "{why}");
        fixture.finish();
    }
}

#[test]
fn exec_uses_the_given_directory_and_variables() {
    let (fixture, agent) = daemon();
    let dir = word(fixture.dir());
    let odd = fixture.dir().join("a b$c~");
    std::fs::create_dir(&odd).expect("mkdir");
    let at = |workdir: &str| {
        let request = json!({"command": "pwd; echo \"$A-$B\"", "workdir": workdir,
            "env": {"A": "1 2", "B": "x\ny"}, "yieldMs": 60_000});
        text(&agent.exec(&request)["output"])
    };
    assert_eq!(at(&dir), format!("{dir}\n1 2-x\ny\n"));
    assert_eq!(at(&word(&odd)), format!("{}\n1 2-x\ny\n", word(&odd)), "a directory is taken literally");
    fixture.finish();
}

#[test]
fn a_scope_has_one_run_which_is_replaced_only_on_request() {
    let (fixture, agent) = daemon();
    let first = agent.start_with(json!({"command": actor(&fixture, "ignore-term tree"), "scopeKey": "s"}));
    agent.wait_for(&first, "ready tree");
    let root = fixture.root(&first);
    let why = agent.ask_exec(&json!({"command": "true", "scopeKey": "s"})).refused(409, "scope-taken");
    assert!(why.contains(&first), "it names the run: {why}");
    assert!(!root.is_dead());
    // The old tree is gone before the new command checks.
    let command = format!("kill -0 {} 2>/dev/null && echo alive || echo gone", root.pid);
    let second =
        agent.exec(&json!({"command": command, "scopeKey": "s", "replace": true, "yieldMs": 60_000}));
    assert_eq!(second["output"], "gone\n", "{second}");
    assert!(root.is_dead());
    assert_eq!(agent.poll_to_the_end(&first).1["failureKind"], "aborted");
    let third = agent.exec(&json!({"command": "echo free", "scopeKey": "s", "yieldMs": 60_000}));
    assert_eq!(third["output"], "free\n", "{third}");
    fixture.finish();
}

#[test]
fn a_long_output_is_its_start_and_the_pages_after_it() {
    let (fixture, agent) = daemon();
    let reply = agent.run("i=0; while [ $i -lt 40000 ]; do echo \"line $i äöü €\"; i=$((i+1)); done");
    let printed: String = (0..40_000).map(|i| format!("line {i} äöü €\n")).collect();
    let run = text(&reply["runId"]);
    assert_eq!(fixture.logs(&[&run]), printed.as_bytes(), "the stored output is the printed one");
    let head = text(&reply["output"]);
    assert_eq!(reply["truncated"], true, "{}", reply["followUp"]);
    assert!(head.chars().count() <= 200_000 && head.chars().count() > 190_000);
    assert_eq!(reply["nextOffset"], head.len(), "the byte where the rest begins");
    let next = reply["nextLine"].as_u64().expect("a line");
    assert!(
        reply["followUp"].as_str().is_some_and(|said| said.contains(&next.to_string())),
        "{}",
        reply["followUp"]
    );
    let whole = head + &agent.log_from(&run, next);
    assert!(whole == printed, "{} bytes for {}", whole.len(), printed.len());
    let tail = text(&reply["tail"]);
    assert!(printed.ends_with(&tail) && tail.chars().count() > 1_900, "{tail:?}");
    fixture.finish();
}

#[test]
fn colours_are_removed_and_a_split_character_is_joined() {
    let (fixture, agent) = daemon();
    let command = r"printf '\033[31mred\033[0m \303'; sleep 0.2; printf '\244 \342'; sleep 0.2; \
        printf '\202\254 \033]0;ti'; sleep 0.2; printf 'tle\007end \001\n'";
    let reply = agent.run(command);
    assert_eq!(reply["output"], "red ä € end \\x01\n", "{reply}");
    let run = agent.start(command);
    let (read, _) = agent.poll_to_the_end(&run);
    assert_eq!(read, "red ä € end \\x01\n", "the same by polls meanwhile");
    fixture.finish();
}

#[test]
fn a_contradictory_request_is_refused_and_starts_nothing() {
    let (fixture, agent) = daemon();
    for request in [
        json!({"command": ""}),
        json!({"command": "  "}),
        json!({"command": "a\0b"}),
        json!({"command": "true", "workdir": ""}),
        json!({"command": "true", "timeoutSeconds": -1}),
        json!({"command": "true", "replace": true}),
        json!({"command": "true", "env": {"LD_PRELOAD": "x"}}),
        json!({"command": "x".repeat(200_000)}),
    ] {
        let why = agent.ask_exec(&request.clone()).refused(422, "invalid");
        assert!(!why.is_empty(), "{request}");
    }
    let short = agent.exec(&json!({"command": "true", "yieldMs": 1}));
    assert!(short["warnings"][0].as_str().is_some_and(|said| said.contains("yieldMs")), "{short}");
    if short["status"] == "running" {
        agent.poll_to_the_end(&text(&short["runId"]));
    }
    assert_eq!(RegistryFile::read(&fixture).runs.len(), 1);
    fixture.finish();
}

#[test]
fn a_line_longer_than_a_reply_is_continued_by_byte_offset() {
    let (fixture, agent) = daemon();
    let reply = agent.run("head -c 450000 /dev/zero | tr '\\0' x; echo; echo end");
    let (run, mut shown) = (text(&reply["runId"]), text(&reply["output"]));
    assert!(text(&reply["followUp"]).contains("byteOffset"), "{}", reply["followUp"]);
    let mut next = reply["nextOffset"].as_u64();
    while let Some(byte) = next {
        let reply = agent.process("log", &run, &json!({"byteOffset": byte}));
        shown.push_str(&text(&reply["output"]));
        next = reply["nextOffset"].as_u64();
    }
    let told = shown.lines().filter(|line| line.contains("goes on at byte")).count();
    let said: String = shown.lines().filter(|line| !line.contains("goes on at byte")).collect();
    assert_eq!((told, said.len()), (2, 450_000 + "end".len()), "every byte once");
    let both = agent.ask("log", &run, &json!({"byteOffset": 1, "offset": 1})).is(422);
    assert!(both.text().contains("byteOffset"), "{}", both.text());
    fixture.finish();
}
