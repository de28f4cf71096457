//! `tenure acp` in a shell: a session by agent and directory, live output, and exit codes for the ends of a turn.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tenure_it::acp_fixture::AcpFixture;
use tenure_it::api::text;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::{Install, scripted_acp};
use tenure_it::tasks::{notices, of_turn, wait_field};

/// Runs `tenure acp`; returns the exit code and the output.
#[track_caller]
fn run(acp: &AcpFixture, args: &[&str]) -> (i32, String, String) {
    let mut started = acp.start(args);
    let code = started.code();
    (code, started.out(), started.err())
}

#[track_caller]
fn prompt(acp: &AcpFixture, words: &str, more: &[&str]) -> (i32, String, String) {
    run(acp, &[&["acp", "prompt", "helper", words], more].concat())
}

/// The only session.
#[track_caller]
fn only_key(acp: &AcpFixture) -> String {
    let list = acp.api.post("/v1/sessions", &json!({"action": "list"})).is(200).json();
    let sessions = list["sessions"].as_array().expect("sessions").clone();
    assert_eq!(sessions.len(), 1, "{list}");
    text(&sessions[0]["key"])
}

#[test]
fn a_prompt_creates_the_session_of_its_directory_and_continues_it() {
    let acp = AcpFixture::new(&[]);
    let (code, out, err) = prompt(&acp, "!say good morning", &[]);
    assert_eq!(code, 0, "{out} / {err}");
    assert!(out.contains("good morning"), "{out}");
    let key = only_key(&acp);
    assert!(key.starts_with("agent:helper:acp:"), "{key}");
    let (code, out, _) = prompt(&acp, "!say good evening", &[]);
    assert!(code == 0 && out.contains("good evening") && !out.contains("morning"), "{out}");
    assert_eq!((only_key(&acp), acp.starts().len()), (key.clone(), 1));
    let (code, out, err) = run(&acp, &["acp", "history", "helper"]);
    assert!(code == 0 && out.contains("good morning") && out.contains("good evening"), "{out} / {err}");
    let (code, out, err) = run(&acp, &["acp", "sessions"]);
    assert!(code == 0 && out.contains(&key), "{out} / {err}");
    let (code, out, err) = run(&acp, &["acp", "status", "helper"]);
    assert!(code == 0 && out.contains(&key), "{out} / {err}");
    let (code, out, err) = run(&acp, &["acp", "close", "helper"]);
    assert_eq!(code, 0, "{out} / {err}");
    acp.process_is_gone(0);
    acp.finish();
}

#[test]
fn every_end_of_a_turn_has_its_exit_code() {
    let acp = AcpFixture::new(&["--load"]);
    for (words, expected) in [
        ("!say fine", 0),
        ("!error -32603 broke", 1),
        ("!stop max_tokens", 1),
        ("!stop max_turn_requests", 1),
        ("!exit 3 gone", 119),
        ("!stop refusal", 120),
        ("!stop cancelled", 123),
    ] {
        let (code, out, err) = prompt(&acp, words, &[]);
        assert_eq!(code, expected, "{words}: {out} / {err}");
    }
    let (code, out, err) = prompt(&acp, "!hang", &["--session", "agent:helper:short", "--timeout", "500ms"]);
    assert_eq!(code, 124, "{out} / {err}");
    let (code, _, err) = run(&acp, &["acp", "prompt", "nobody", "hello"]);
    assert!(code != 0 && err.contains("nobody"), "{code}: {err}");
    let (code, ..) = run(&acp, &["acp", "prompt"]);
    assert_eq!(code, 125);
    acp.finish();
}

#[test]
fn a_turn_is_cancelled_from_a_second_terminal_and_watched_from_a_third() {
    let acp = AcpFixture::new(&[]);
    let mut first = acp.start(&["acp", "prompt", "helper", "!say working hard \n!hang"]);
    first.wait_for("working hard");
    let mut second = acp.start(&["acp", "attach", "helper"]);
    second.wait_for("working hard");
    let (code, out, err) = run(&acp, &["acp", "cancel", "helper"]);
    assert_eq!(code, 0, "{out} / {err}");
    assert_eq!((first.code(), second.code()), (123, 123), "{} / {}", first.err(), second.err());
    acp.finish();
}

#[test]
fn events_are_streamed_as_json_lines() {
    let acp = AcpFixture::new(&[]);
    let (code, out, err) =
        prompt(&acp, "!thought hm\n!say yes\n!tool one edit Mends\n!tool-end one completed", &["--json"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 4, "{out}");
    assert!(out.contains("\"thought\"") && out.contains("\"tool\"") && out.contains("end-turn"), "{out}");
    acp.finish();
}

#[test]
fn a_prompt_can_come_from_stdin_and_need_not_wait() {
    let acp = AcpFixture::new(&[]);
    let output = acp.shell("printf '!say piped' | \"$TENURE\" acp prompt helper -");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("piped"), "{output:?}");
    let (code, out, err) = prompt(&acp, "!await go\n!say later", &["--no-wait"]);
    assert_eq!(code, 0, "{out} / {err}");
    let (code, _, err) = prompt(&acp, "hello", &["--when-busy", "refuse"]);
    assert_ne!(code, 0, "{err}");
    acp.release("go");
    acp.wait_text(&only_key(&acp), "later");
    acp.finish();
}

#[test]
fn a_one_shot_prompt_leaves_nothing_behind() {
    let acp = AcpFixture::new(&[]);
    let (code, out, err) = prompt(&acp, "!say once", &["--oneshot"]);
    assert!(code == 0 && out.contains("once"), "{out} / {err}");
    acp.process_is_gone(0);
    acp.finish();
}

#[test]
fn a_one_shot_prompt_returns_when_its_whole_tree_is_gone() {
    let acp = AcpFixture::with(&["--ignore-term"], "", "[run]\ngrace = '300ms'");
    let (code, _, err) = prompt(&acp, "!child setsid ignore-term sleep\n!say once", &["--oneshot"]);
    assert_eq!(code, 0, "{err}");
    let noted = std::fs::read_to_string(acp.dir().join("children")).expect("a child");
    let pids = noted.lines().filter_map(|line| line.strip_prefix("sleep ")?.parse().ok());
    for pid in pids.chain([acp.pid(0)]) {
        assert!(!tenure_it::proc::runs(pid), "pid {pid} outlived the prompt");
    }
    acp.finish();
}

#[test]
fn a_prompt_after_a_close_starts_a_new_session_for_the_directory() {
    let acp = AcpFixture::new(&["--load"]);
    let (code, _, err) = prompt(&acp, "!say first", &[]);
    assert_eq!(code, 0, "{err}");
    let first = only_key(&acp);
    for (number, words) in [(2, "second"), (3, "third")] {
        assert_eq!(run(&acp, &["acp", "close", "helper"]).0, 0);
        let (code, out, err) = run(&acp, &["acp", "history", "helper"]);
        assert!(code == 0 && !out.contains(words), "the latest session is shown: {out} / {err}");
        let (code, out, err) = prompt(&acp, &format!("!say {words}"), &[]);
        let key = format!("{first}-{number}");
        assert!(code == 0 && out.contains(words) && err.contains(&key), "{code}: {out} / {err}");
        let (code, out, err) = prompt(&acp, "hello", &[]);
        assert!(code == 0 && !out.contains("\"loaded\":true") && !err.contains("is new"), "{out} / {err}");
        let (code, out, _) = run(&acp, &["acp", "history", "helper"]);
        assert!(code == 0 && out.contains(words) && !out.contains("first"), "{out}");
    }
    let (code, out, _) = run(&acp, &["acp", "history", &first]);
    assert!(code == 0 && out.contains("first"), "the closed one keeps its record: {out}");
    let (code, _, err) = prompt(&acp, "hello", &["--session", &first]);
    assert!(code == 125 && err.contains("closed"), "{code}: {err}");
    acp.finish();
}

#[test]
fn an_unknown_model_is_refused_with_the_valid_ones_and_leaves_no_session() {
    let acp = AcpFixture::with(&["--options"], "", "[agents.plain.acp]\ncommand = 'true'");
    let no_session = |acp: &AcpFixture| {
        let list = acp.api.post("/v1/sessions", &json!({"action": "list"})).is(200).json();
        assert_eq!(list["sessions"], json!([]), "{list}");
        acp.process_is_gone(acp.starts().len() - 1);
    };
    for more in [&[][..], &["--oneshot"], &["--json"]] {
        let (code, out, err) = prompt(&acp, "hello", &[more, &["--model", "giant"]].concat());
        assert!(code == 125 && err.contains("\"giant\"") && err.contains("small, large"), "{code}: {err}");
        assert_eq!(out, "");
        no_session(&acp);
    }
    let args = ["sessions", "spawn", "--agent", "helper", "--task", "hello", "--model", "giant", "--json"];
    let (code, out, err) = run(&acp, &args);
    assert!(code == 1 && err.contains("small, large") && !out.contains("giant"), "{code}: {out} / {err}");
    no_session(&acp);
    let spawn = json!({"action": "spawn", "agent": "helper", "backend": "acp", "model": "giant"});
    let why = acp.api.post("/v1/sessions", &spawn).refused(422, "unknown-model");
    assert!(why.contains("small, large"), "{why}");
    no_session(&acp);
    for (backend, agent) in [("exec", "helper"), ("cli", "claude")] {
        let spawn = json!({"action": "spawn", "agent": agent, "backend": backend, "model": "giant"});
        let reply = acp.api.post("/v1/sessions", &spawn);
        assert_eq!(reply.head.status, if backend == "cli" { 201 } else { 422 }, "{}", reply.text());
    }
    let (code, out, err) = prompt(&acp, "hello", &["--model", "large"]);
    assert!(code == 0 && out.contains("\"model\":\"large\""), "{out} / {err}");
    let (code, _, err) = run(&acp, &["acp", "set-option", "helper", "model", "giant"]);
    assert!(code == 1 && err.contains("small, large"), "{code}: {err}");
    acp.finish();
}

#[test]
fn a_model_for_an_agent_without_models_is_refused() {
    let acp = AcpFixture::new(&[]);
    let (code, _, err) = prompt(&acp, "hello", &["--model", "giant"]);
    assert!(code == 125 && err.contains("no choice of models"), "{code}: {err}");
    let (code, _, err) = prompt(&acp, "!say fine", &[]);
    assert_eq!(code, 0, "{err}");
    acp.finish();
}

#[test]
fn a_turn_ended_by_a_refused_permission_has_its_own_exit_code_and_message() {
    let acp = AcpFixture::new(&[]);
    let asks = "!ask edit make it|y:allow_once|n:reject_once";
    for (words, expected) in [
        (asks.to_owned(), 120),
        (format!("!say I will\n{asks}\n!stop cancelled"), 120),
        ("!write some.txt words".to_owned(), 120),
        (format!("{asks}\n!say I may not"), 0),
        ("!ask read look|y:allow_once|n:reject_once".to_owned(), 0),
    ] {
        let (code, out, err) = prompt(&acp, &words, &[]);
        assert_eq!(code, expected, "{words}: {out} / {err}");
        let is_told = err.contains("tenure: refused: ") && err.contains("was not permitted (approve-reads)");
        assert_eq!(is_told, expected == 120, "{words}: {err}");
    }
    acp.finish();
}

#[test]
fn an_adapter_that_cannot_start_has_the_exit_codes_of_a_command() {
    let more = "[agents.gone.acp]\ncommand = 'no-such-agent'\n[agents.folder.acp]\ncommand = '/'\n";
    let acp = AcpFixture::with(&["--crash", "5"], "", more);
    for (agent, expected) in [("gone", 127), ("folder", 126), ("helper", 119)] {
        let (code, _, err) = run(&acp, &["acp", "prompt", agent, "hello"]);
        assert_eq!(code, expected, "{agent}: {err}");
        assert!(err.contains(agent), "{err}");
    }
    acp.finish();
}

#[test]
fn the_history_shows_how_each_turn_ended() {
    let acp = AcpFixture::new(&["--load"]);
    for words in ["!say one", "!error -32603 broke", "!say two\n!exit 3 gone", "!say three"] {
        let _ = prompt(&acp, words, &[]);
    }
    let (code, out, err) = run(&acp, &["acp", "history", "helper"]);
    assert_eq!(code, 0, "{err}");
    let ends: Vec<&str> = out.lines().filter(|line| line.starts_with("turn ")).collect();
    for (line, signs) in ends.iter().zip([
        &["turn 1: end-turn after"][..],
        &["turn 2: error after", "broke"],
        &["turn 3: crashed after", "exit 3"],
        &["turn 4: end-turn after"],
    ]) {
        assert!(signs.iter().all(|sign| line.contains(sign)), "{line}");
    }
    assert_eq!(ends.len(), 4, "{out}");
    let place = |words: &str| out.find(words).unwrap_or_else(|| panic!("no {words}: {out}"));
    assert!(place("turn 1:") < place("broke") && place("two\n") < place("turn 3:"), "{out}");
    let (_, out, _) = run(&acp, &["acp", "history", "helper", "--json"]);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    let stops: Vec<&Value> =
        reply["turns"].as_array().expect("turns").iter().map(|turn| &turn["stop"]).collect();
    assert_eq!(json!(stops), json!(["end-turn", "error", "crashed", "end-turn"]));
    acp.finish();
}

#[test]
fn a_turn_that_never_reached_its_agent_is_in_the_history() {
    let acp = AcpFixture::with(&["--crash", "5"], "", "");
    let _ = prompt(&acp, "hello there", &[]);
    let (code, out, err) = run(&acp, &["acp", "history", "helper"]);
    assert!(code == 0 && out.contains("> hello there") && out.contains("turn 1: crashed"), "{out} / {err}");
    acp.finish();
}

#[test]
fn modes_and_options_are_set_by_their_ids() {
    let acp = AcpFixture::new(&["--modes", "--options"]);
    let (code, _, err) = prompt(&acp, "!say begin", &["--agent-mode", "act", "--model", "large"]);
    assert_eq!(code, 0, "{err}");
    let key = only_key(&acp);
    let answer = acp.describe_itself(&key);
    assert_eq!((&answer["mode"], &answer["options"]["model"]), (&"act".into(), &"large".into()), "{answer}");
    let (code, _, err) = run(&acp, &["acp", "set-mode", "helper", "ask"]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run(&acp, &["acp", "set-option", &key, "effort", "high"]);
    assert_eq!(code, 0, "{err}");
    let answer = acp.describe_itself(&key);
    assert_eq!((&answer["mode"], &answer["options"]["effort"]), (&"ask".into(), &"high".into()), "{answer}");
    let (code, _, err) = run(&acp, &["acp", "set-mode", "helper", "fly"]);
    assert_ne!(code, 0, "{err}");
    acp.finish();
}

/// An agent `named` whose program is only on the returned PATH, and a daemon that has a key of its own.
fn named() -> (AcpFixture, String) {
    let more = "[agents.named.acp]\ncommand = 'named-acp'\nenv-pass = ['ACTOR_WITNESS', 'PASSED_*']\n";
    let acp =
        AcpFixture::without_daemon(Install::new().with_env("PASSED_KEY", "daemons-secret"), &[], "", more);
    let bin = acp.dir().join("bin");
    fs::create_dir(&bin).expect("a directory");
    std::os::unix::fs::symlink(scripted_acp(), bin.join("named-acp")).expect("a link");
    acp.start_daemon();
    let path = std::env::var("PATH").expect("a PATH");
    (acp, format!("{}:{path}", bin.display()))
}

/// Runs `tenure` with the caller's own PATH and key.
#[track_caller]
fn run_with(acp: &AcpFixture, args: &[&str], path: &str, key: &str) -> (i32, String) {
    let mut command = acp.command(args);
    command.env("PATH", path).env("PASSED_KEY", key).env("OTHER_KEY", "other-secret");
    let mut started = ChildProgram::new(command);
    (started.code(), started.err())
}

/// True if any file of the state root holds these bytes.
fn is_recorded(dir: &Path, text: &str) -> bool {
    fs::read_dir(dir).expect("a directory").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_recorded(&path, text);
        }
        // Sockets cannot be read.
        let bytes = if path.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn an_adapter_keeps_the_path_and_keys_of_its_first_caller() {
    let (acp, path) = named();
    let (code, _, err) = run(&acp, &["acp", "prompt", "named", "!env"]);
    assert_ne!(code, 0, "it is on nobody's PATH: {err}");
    let (code, err) = run_with(&acp, &["acp", "prompt", "named", "!env"], &path, "callers-secret");
    assert_eq!(code, 0, "{err}");
    let (code, err) = run_with(&acp, &["acp", "prompt", "named", "!env"], &path, "second-secret");
    assert_eq!(code, 0, "{err}");
    let (code, err) = run_with(&acp, &["acp", "prompt", "named", "!env", "--new"], &path, "third-secret");
    assert_eq!(code, 0, "{err}");
    let noted = acp.notes("env");
    let keys: Vec<&str> = noted.iter().filter_map(|env| env["PASSED_KEY"].as_str()).collect();
    assert_eq!(
        keys,
        ["callers-secret", "callers-secret", "third-secret"],
        "a live adapter keeps its environment"
    );
    assert!(noted.iter().all(|env| env["OTHER_KEY"].is_null()), "{noted:?}");
    let runs = acp.tenure(&["ps", "--all", "--json"]);
    assert!(String::from_utf8_lossy(&runs.stdout).contains("PASSED_KEY"), "the name is recorded");
    for secret in ["callers-secret", "second-secret", "other-secret"] {
        assert!(!is_recorded(acp.state(), secret), "{secret} is on disk");
    }
    acp.finish();
}

#[test]
fn only_an_operators_cli_sends_its_environment() {
    let (acp, path) = named();
    let process =
        json!({"words": "L3RtcABQQVNTRURfS0VZPWh0dHAA", "argc": 0, "umask": 18, "nofile": [1024, 1024]});
    let asked =
        json!({"action": "spawn", "agent": "helper", "backend": "acp", "task": "!env", "process": process});
    let _ = acp.api.post("/v1/sessions", &asked).refused(422, "invalid");
    // A process of a session, and a client that acts as one.
    let spawn = "sessions spawn --agent helper --backend acp --task '!env' --wait";
    let script = format!("PASSED_KEY=sessions \"$TENURE\" {spawn}");
    let inside = ["run", "--session", "agent:a:main", "--", "sh", "-c", &script];
    let tenure = tenure_it::install::tenure().to_str().expect("UTF-8").to_owned();
    let mut command = acp.command(&inside);
    command.env("TENURE", &tenure);
    let mut started = ChildProgram::new(command);
    assert_eq!(started.code(), 0, "{}", started.err());
    let as_one: Vec<&str> = ["sessions", "--as", "agent:a:main"].into_iter().chain(["spawn"]).collect();
    let as_one =
        [&as_one[..], &["--agent", "helper", "--backend", "acp", "--task", "!env", "--wait"]].concat();
    let (code, err) = run_with(&acp, &as_one, &path, "acting");
    assert_eq!(code, 0, "{err}");
    let noted = acp.notes("env");
    let keys: Vec<&str> = noted.iter().filter_map(|env| env["PASSED_KEY"].as_str()).collect();
    assert_eq!(keys, ["daemons-secret", "daemons-secret"]);
    acp.finish();
}

#[test]
fn a_session_is_found_from_any_directory_below_it_in_the_repository() {
    let acp = AcpFixture::new(&[]);
    let (repository, inside) = (acp.dir().join("repository"), acp.dir().join("repository/src/deep"));
    fs::create_dir_all(&inside).expect("directories");
    fs::create_dir(repository.join(".git")).expect("a repository");
    let run_in = |dir: &Path, args: &[&str]| {
        let mut command = acp.command(args);
        command.current_dir(dir).env("HOME", acp.dir());
        let mut started = ChildProgram::new(command);
        (started.code(), started.out(), started.err())
    };
    // The session of a directory above the repository does not count.
    assert_eq!(run_in(acp.dir(), &["acp", "prompt", "helper", "!say outside"]).0, 0);
    let (code, _, err) = run_in(&repository, &["acp", "prompt", "helper", "!say at the root"]);
    assert!(code == 0 && err.contains(" is new"), "{err}");
    let (code, out, err) = run_in(&inside, &["acp", "prompt", "helper", "!say from below"]);
    assert!(code == 0 && out.contains("from below"), "{out} / {err}");
    assert!(!err.contains(" is new") && err.contains(&repository.display().to_string()), "{err}");
    for which in [&["helper"][..], &[]] {
        let (code, out, err) = run_in(&inside, &[&["acp", "history"], which].concat());
        assert!(code == 0 && out.contains("at the root") && !out.contains("outside"), "{out} / {err}");
    }
    // A named directory counts alone, and its own session has priority from then on.
    let (code, _, err) = run_in(&inside, &["acp", "prompt", "helper", "!say here", "--cwd", "."]);
    assert!(code == 0 && err.contains(" is new"), "{err}");
    let (_, out, err) = run_in(&inside, &["acp", "history", "helper"]);
    assert!(out.contains("here") && !out.contains("from below"), "{out} / {err}");
    assert_eq!(run_in(&inside, &["acp", "close", "helper"]).0, 0);
    assert_eq!(run_in(&inside, &["acp", "close", "helper"]).0, 0, "the one of the repository is next");
    let list = acp.api.post("/v1/sessions", &json!({"action": "list", "states": ["idle"]})).is(200).json();
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1), "{list}");
    acp.finish();
}

/// The person at the prompt has the answer; the channel is for work without a waiting caller.
#[test]
fn the_answer_to_a_prompt_goes_to_its_caller_only() {
    let acp = AcpFixture::with(&[], "", "[channels.desk]\ncommand = ['sh', '-c', 'cat > /dev/null']\n");
    let key = "agent:helper:told";
    acp.open_with(key, json!({"origin": {"channel": "desk"}}));
    let (code, out, err) = prompt(&acp, "!say for you", &["--session", key]);
    assert!(code == 0 && out.contains("for you"), "{out} / {err}");
    let task = wait_field(&acp.api, key, "deliveryStatus", "delivered");
    assert_eq!(notices(&acp, &task), [("terminal".to_owned(), "acknowledged".to_owned())], "{task}");
    let (code, turn, err) = prompt(&acp, "!say for later", &["--session", key, "--no-wait"]);
    assert_eq!(code, 0, "{err}");
    let id = text(&of_turn(&acp.api, &json!(turn.trim()))["taskId"]);
    let task = wait_field(&acp.api, &id, "deliveryStatus", "delivered");
    assert_eq!(notices(&acp, &task), [("terminal".to_owned(), "delivered".to_owned())], "{task}");
    acp.finish();
}
