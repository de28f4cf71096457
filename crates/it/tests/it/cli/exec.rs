//! `tenure exec`, `process`, `approvals` and `allowlist`, as people and programs use them from a shell.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::says::{json_of, says, says_to};
use tenure_it::started::Started;
use tenure_it::{PATIENCE, eventually, proc};

fn home() -> Home {
    Home::of(Install::new().with_daemon())
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The one run that lives, once it says that it is ready.
#[track_caller]
fn ready(home: &Home) -> String {
    let id = eventually("a run", || {
        let runs = json_of(home, &["ps", "--state", "running", "--json"], 0);
        runs[0]["runId"].as_str().map(str::to_owned)
    });
    home.wait_ready(&id);
    id
}

#[test]
fn the_exit_code_is_the_commands_own_or_says_what_became_of_it() {
    let home = home();
    let (out, err) = says(&home, &["exec", "--", "echo out; echo err >&2; exit 3"], 3);
    assert!(out.contains("out\n") && out.contains("err\n") && err.is_empty(), "{out} / {err}");
    let (_, err) = says(&home, &["exec", "--timeout", "100ms", "--", "sleep 1000"], 124);
    assert!(err.contains("--timeout"), "{err}");
    says(&home, &["exec", "--no-output-timeout", "100ms", "--", "sleep 1000"], 124);
    says(&home, &["exec", "--", "kill -9 $$"], 137);
    says(&home, &["exec", "--", "no-such-program-of-anybody"], 127);
    let (_, err) = says(&home, &["exec", "--workdir", "/no/such/place", "--", "true"], 126);
    assert!(err.contains("/no/such/place"), "{err}");
    let reply = json_of(&home, &["exec", "--json", "--", "echo x; exit 5"], 5);
    assert_eq!((&reply["status"], &reply["output"]), (&"completed".into(), &"x\n".into()), "{reply}");
    for line in
        [&["exec"][..], &["exec", "--env", "A", "--", "true"], &["exec", "--json-in", "-", "--", "true"]]
    {
        says(&home, line, 2);
    }
    says(&home, &["exec", "--", " "], 1);
    let unprinted = home.shell("exec \"$TENURE\" exec -- 'echo x' > /dev/full");
    assert_eq!(unprinted.status.code(), Some(125), "{unprinted:?}");
    home.finish();
}

#[test]
fn it_starts_where_the_caller_is_with_what_the_caller_has() {
    let home = home();
    says(&home, &["daemon", "start"], 0);
    let below = home.dir().join("below");
    std::fs::create_dir(&below).expect("a directory");
    let line = "pwd; echo $OF_CALLER $GIVEN; umask; ulimit -n";
    let mut command = home.shell_command(&format!(
        "umask 027; ulimit -n 321; exec \"$TENURE\" exec --env GIVEN='a b' -- '{line}'"
    ));
    command.current_dir(&below).env("OF_CALLER", "theirs");
    let output = Started::new(command).output();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], below.canonicalize().expect("a path").to_str().expect("UTF-8"), "{output:?}");
    assert_eq!(lines[1..], ["theirs a b", "0027", "321"], "{output:?}");
    let (out, _) = says(&home, &["exec", "--workdir", "below", "--", "pwd"], 0);
    assert!(out.trim_end().ends_with("/below"), "{out}");
    home.finish();
}

#[test]
fn of_several_words_each_stays_one() {
    let home = home();
    let words = ["a b", "it's", "\"q\"", "$HOME", "*", "", "é\nz", "-n", "A=b", "\\"];
    let (out, _) = says(&home, &[&["exec", "--", "printf", "<%s>"], &words[..]].concat(), 0);
    assert_eq!(out, words.map(|word| format!("<{word}>")).concat());
    let (out, _) = says(&home, &["exec", "--", "echo a | tr a b"], 0);
    assert_eq!(out, "b\n", "one word is a command line");
    home.finish();
}

#[test]
fn programs_speak_json() {
    let home = home();
    let request = json!({"command": "pwd; echo $GIVEN; exit 4", "env": {"GIVEN": "x"}}).to_string();
    let (out, _) = says_to(&home, &["exec", "--json-in", "-"], &request, 4);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    let here = home.dir().canonicalize().expect("a path");
    assert_eq!(reply["output"], format!("{}\nx\n", here.display()), "the caller's directory");
    assert_eq!((&reply["exitCode"], &reply["status"]), (&4.into(), &"completed".into()));
    let file = home.dir().join("request.json");
    std::fs::write(&file, json!({"action": "list"}).to_string()).expect("a file");
    let listed = json_of(&home, &["process", "--json-in", "request.json"], 0);
    assert_eq!(listed["runs"][0]["runId"], reply["runId"]);
    let (out, err) = says_to(&home, &["exec", "--json-in", "-"], r#"{"command":"true","surplus":1}"#, 1);
    assert!(out.is_empty() && err.contains("surplus") && err.contains("yieldMs"), "{err}");
    for (verb, nonsense) in [("exec", "no json"), ("exec", "[]"), ("exec", ""), ("process", "{}")] {
        let (out, err) = says_to(&home, &[verb, "--json-in", "-"], nonsense, 1);
        assert!(out.is_empty() && err.lines().count() == 1, "{nonsense:?}: {err}");
    }
    let unknown = json!({"action": "poll", "runId": "0000dead"}).to_string();
    says_to(&home, &["process", "--json-in", "-"], &unknown, 4);
    home.finish();
}

#[test]
fn what_goes_on_in_the_background_is_polled_read_written_to_and_killed() {
    let home = home();
    let line = "echo one; echo two; cat";
    let reply = json_of(&home, &["exec", "--background", "--session", "s", "--json", "--", line], 0);
    assert_eq!(reply["status"], "running", "{reply}");
    let id = text(&reply["runId"]);
    home.wait_for_output(&id, "two");
    let (out, err) = says(&home, &["process", "poll", &id], 0);
    assert!(out == "one\ntwo\n" && err.lines().count() == 1, "{out} / {err}");
    let (out, _) = says(&home, &["process", "poll", &id, "--timeout", "10ms"], 0);
    assert_eq!(out, "", "what was read is not given again");
    let (out, err) = says(&home, &["process", "log", &id, "--offset", "1", "--limit", "1"], 0);
    assert!(out == "two\n" && err.contains("of 2"), "{out} / {err}");
    says_to(&home, &["process", "write", &id], "piped\n", 0);
    let (out, _) = says(&home, &["process", "poll", &id, "--timeout", "1m"], 0);
    assert_eq!(out, "piped\n");
    says(&home, &["process", "send-keys", &id, "--literal", "typed ", "--hex", "78", "--hex", "0a"], 0);
    let (out, _) = says(&home, &["process", "poll", &id, "--timeout", "1m"], 0);
    assert_eq!(out, "typed x\n");
    let (out, _) = says(&home, &["process", "list", "--session", "s"], 0);
    assert!(out.starts_with("RUN ") && out.contains(&id[..12]) && out.contains(line), "{out}");
    let (out, _) = says(&home, &["process", "list", "--session", "another"], 0);
    assert!(!out.contains(&id[..12]), "{out}");
    says(&home, &["process", "poll", &id, "--session", "another"], 4);
    says(&home, &["process", "screen", &id], 1);
    says(&home, &["process", "clear", &id], 1);
    let killed = json_of(&home, &["process", "kill", &id, "--json"], 0);
    assert_eq!((&killed["exitReason"], &killed["status"]), (&"manual-cancel".into(), &"failed".into()));
    says(&home, &["process", "remove", &id], 0);
    says(&home, &["process", "poll", &id], 4);
    says(&home, &["daemon", "stop"], 0);
    home.find_nothing();
}

#[test]
fn a_program_on_a_terminal_is_typed_to_and_shown() {
    let home = home();
    let reply = json_of(&home, &["exec", "--background", "--pty", "--json", "--", "stty size; cat"], 0);
    let id = text(&reply["runId"]);
    home.wait_for_output(&id, "120");
    says(&home, &["process", "resize", &id, "90x20"], 0);
    says(&home, &["process", "paste", &id, "pasted words"], 0);
    says(&home, &["process", "submit", &id], 0);
    home.wait_for_output(&id, "pasted words\r\npasted words");
    let (out, _) = says(&home, &["process", "screen", &id], 0);
    assert_eq!(out.lines().filter(|line| *line == "pasted words").count(), 2, "{out}");
    says(&home, &["process", "send-keys", &id, "C-d"], 0);
    assert_eq!(home.wait(&id), 0);
    home.finish();
}

#[test]
fn what_takes_longer_than_it_is_waited_for_goes_on() {
    let home = home();
    let (out, err) = says(&home, &["exec", "--yield", "3s", "--", "echo early; sleep 1000"], 0);
    let id = home.only_run();
    assert_eq!(out, "early\n");
    assert!(err.contains(&id) && err.contains("tenure process poll"), "{err}");
    assert_eq!(home.show(&id)["state"], "running");
    says(&home, &["process", "kill", &id], 0);
    home.finish();
}

#[test]
fn who_stops_waiting_ends_the_whole_tree() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let home = home();
        let mut caller = home.start(&["exec", "--yield", "2m", "--", &home.actor(), "tree"]);
        let id = ready(&home);
        proc::send(caller.pid(), signal);
        assert_eq!(caller.code(), 128 + signal.as_raw(), "{signal:?}");
        home.wait_nobody(PATIENCE);
        assert_eq!(home.wait(&id), 123, "{signal:?}");
        home.finish();
    }
}

#[test]
fn a_call_goes_on_with_the_next_daemon_and_the_same_run() {
    let home = home();
    says(&home, &["daemon", "start"], 0);
    let line = "echo ready; until test -e go; do sleep 0.05; done; echo finished; exit 7";
    let mut caller = home.start(&["exec", "--json", "--yield", "2m", "--", line]);
    let id = ready(&home);
    for _ in 0..2 {
        let killed = home.kill();
        home.next_after(killed);
    }
    std::fs::write(home.dir().join("go"), "").expect("write");
    assert_eq!(caller.code(), 7, "{}", caller.err());
    let reply: Value = serde_json::from_str(&caller.out()).expect("JSON");
    assert_eq!((&reply["runId"], &reply["status"]), (&Value::from(&*id), &"completed".into()), "{reply}");
    assert_eq!(reply["output"], "ready\nfinished\n");
    assert_eq!(home.runs().len(), 1, "it was started once");
    home.finish();
}

#[test]
fn a_call_over_the_death_of_its_daemon_still_yields_and_still_ends_with_its_caller() {
    let home = home();
    says(&home, &["daemon", "start"], 0);
    let mut caller = home.start(&["exec", "--yield", "3s", "--", &home.actor(), "sleep"]);
    let id = ready(&home);
    let killed = home.kill();
    assert_eq!(caller.code(), 0, "{}", caller.err());
    assert!(caller.err().contains(&format!("it goes on as run {id}")), "{}", caller.err());
    home.next_after(killed);
    home.cancel(&id);
    let mut caller = home.start(&["exec", "--yield", "2m", "--", &home.actor(), "sleep"]);
    let id = ready(&home);
    let killed = home.kill();
    home.next_after(killed);
    // The next daemon hears of the caller when that asks again.
    eventually("that the caller's end is the command's", || {
        proc::send(caller.pid(), Signal::INT);
        caller.ended().map(drop)
    });
    let waited = home.tenure(&["wait", "--timeout", "2s", &id]).status.code();
    if waited == Some(124) {
        // It left before it had asked: then the command goes on, as said.
        home.cancel(&id);
    }
    home.finish();
}

#[test]
fn an_unknown_id_exits_with_4() {
    let home = home();
    for id in ["0000dead", "../x"] {
        for action in ["poll", "log", "submit", "screen", "kill", "clear", "remove"] {
            says(&home, &["process", action, id], 4);
        }
        says(&home, &["process", "write", id, "x"], 4);
        says(&home, &["approvals", "allow-once", id], 4);
        says(&home, &["allowlist", "remove", id], 4);
    }
    for line in [&["process", "poll"][..], &["process", "fly"], &["process"], &["approvals", "deny"]] {
        says(&home, line, 2);
    }
    home.finish();
}

#[test]
fn a_person_is_asked_and_answers() {
    let home = home();
    let asked = |line: &str| {
        let args = ["exec", "--ask", "always", "--session", "agent:a:main", "--json", "--", line];
        let reply = json_of(&home, &args, 1);
        assert_eq!(reply["status"], "approval-pending", "{reply}");
        text(&reply["runId"])
    };
    let (allowed, denied) = (asked("echo allowed"), asked("echo denied"));
    let (out, _) = says(&home, &["approvals"], 0);
    assert_eq!(out.lines().count(), 7, "three lines each: {out}");
    for words in ["agent:a:main", &allowed[..12], &denied[..12], "    echo denied\n", "in 29 min"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = says(&home, &["approvals", "allow-once", &allowed[..8]], 0);
    assert!(out.contains(&allowed[..12]) && out.contains("echo allowed"), "{out}");
    let (out, _) = says(&home, &["process", "poll", &allowed, "--timeout", "1m"], 0);
    assert_eq!(out, "allowed\n");
    let answered = json_of(&home, &["approvals", "deny", &denied, "--json"], 0);
    assert_eq!(answered["state"], "denied", "{answered}");
    assert!(!home.runs().contains(&denied), "it has not run");
    assert_eq!(json_of(&home, &["approvals", "--json"], 0), json!([]));
    let all = json_of(&home, &["approvals", "list", "--all", "--json"], 0);
    assert_eq!(all.as_array().map(Vec::len), Some(2), "{all}");
    let (_, err) = says(&home, &["exec", "--ask", "always", "--", "echo for people"], 1);
    assert!(err.contains("tenure approvals allow-once"), "{err}");
    assert_eq!(home.wait(&allowed), 0);
    home.finish();
}

#[test]
fn what_is_on_the_allowlist_runs_without_asking() {
    let home = Home::of(Install::new().with_daemon().with_env("TENURE_EXEC_MODE", "allowlist"));
    let (_, err) = says(&home, &["exec", "--", "ls -d /"], 1);
    assert!(err.contains("ls"), "{err}");
    let (id, _) = says(&home, &["allowlist", "add", "ls", "--args", "-d .*"], 0);
    let (out, _) = says(&home, &["exec", "--", "ls -d /"], 0);
    assert_eq!(out, "/\n");
    says(&home, &["exec", "--", "ls -l /"], 1);
    let (out, _) = says(&home, &["allowlist"], 0);
    assert!(out.contains("ls, arguments like -d .*"), "{out}");
    let entries = json_of(&home, &["allowlist", "list", "--json"], 0);
    assert_eq!((&entries[0]["entry"]["program"], &entries[0]["uses"]), (&"ls".into(), &1.into()));
    says(&home, &["allowlist", "add", "relative/path"], 1);
    says(&home, &["allowlist", "remove", id.trim()], 0);
    says(&home, &["allowlist", "remove", id.trim()], 4);
    says(&home, &["exec", "--", "ls -d /"], 1);
    home.finish();
}

#[test]
fn settings_of_a_run_in_the_callers_environment_hold_for_that_call() {
    let home = home();
    says(&home, &["daemon", "start"], 0);
    let code = |script: &str| home.shell(script).status.code();
    let limit = "TENURE_EXEC_TIMEOUT=200ms $TENURE exec";
    assert_eq!(code(&format!("{limit} -- 'sleep 1000'")), Some(124));
    assert_eq!(code(&format!("echo '{{\"command\":\"sleep 1000\"}}' | {limit} --json-in -")), Some(124));
    assert_eq!(code(&format!("{limit} --timeout 1m -- 'sleep 0.5'")), Some(0), "a flag comes first");
    assert_eq!(code("$TENURE exec -- 'sleep 0.5'"), Some(0), "other calls have the daemon's");
    let dropped = |env: &str, verb: &str| {
        let output = home.shell(&format!("{env} $TENURE {verb} 'head -c 300000 /dev/zero' | wc -c"));
        assert!(output.status.success(), "{output:?}");
        json_of(&home, &["ps", "--all", "--limit", "1", "--json"], 0)[0]["output"]["droppedBytes"].clone()
    };
    let less = "TENURE_OUTPUT_HEAD=0 TENURE_OUTPUT_TAIL=64KiB";
    for verb in ["exec --", "run --quiet -- sh -c"] {
        assert!(dropped(less, verb).as_u64().is_some_and(|bytes| bytes > 100_000), "{verb}");
        assert_eq!(dropped("", verb), 0, "{verb}");
    }
    home.finish();
}

#[test]
fn a_list_says_where_it_stops() {
    let home = home();
    (0..4).for_each(|_| drop(says(&home, &["run", "--quiet", "--", "true"], 0)));
    let (out, err) = says(&home, &["process", "list", "--limit", "3"], 0);
    assert!(out.lines().count() == 4 && err.contains("the newest 3 are shown"), "{out}{err}");
    let (_, err) = says(&home, &["process", "list"], 0);
    assert_eq!(err, "", "all are shown");
    home.finish();
}
