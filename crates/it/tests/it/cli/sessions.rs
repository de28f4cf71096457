//! `tenure sessions` and `tenure agents`, used from a shell by people and programs.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use tenure_it::cli_output::{json_of, run_cli, run_cli_with_input};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;
use tenure_it::terminal::Terminal;

fn fixture() -> DaemonFixture {
    DaemonFixture::of(Install::new().with_daemon())
}

/// Spawns a session with backend `exec`; returns its key.
#[track_caller]
fn spawn(install: &Install, agent: &str, more: &[&str]) -> String {
    let args = [&["sessions", "spawn", "--agent", agent, "--backend", "exec"], more].concat();
    let (out, _) = run_cli(install, &args, 0);
    assert_eq!(out.lines().count(), 1, "the key alone: {out}");
    out.trim_end().to_owned()
}

#[test]
fn a_session_can_be_spawned_sent_to_shown_and_closed() {
    let fixture = fixture();
    let key = spawn(&fixture, "worker", &["--task", "echo hi", "--label", "the worker"]);
    let (out, err) = run_cli(&fixture, &["sessions", "wait", &key], 0);
    assert_eq!((out.as_str(), err.as_str()), ("hi\n", ""));
    let (out, _) = run_cli(&fixture, &["sessions", "send", &key, "pwd; echo two", "--wait"], 0);
    let here = fixture.dir().canonicalize().expect("a path");
    assert_eq!(out, format!("{}\ntwo\n", here.display()), "its caller's directory");
    let (out, _) = run_cli_with_input(&fixture, &["sessions", "send", &key, "-", "--wait"], "echo piped", 0);
    assert_eq!(out, "piped\n");
    let (out, _) = run_cli(&fixture, &["sessions"], 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("KEY "), "a head and a session: {out}");
    for words in [&key[..], "worker", "idle", " 3 ", "the worker"] {
        assert!(lines[1].contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&fixture, &["sessions", "status", &key], 0);
    for words in [&key[..], "the worker", "idle", "spawned by", "exec", here.to_str().expect("UTF-8")] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&fixture, &["sessions", "history", &key], 0);
    for words in ["turn 1  done", "    echo hi\n  answered:\n    hi\n", "turn 3  done", "    piped\n"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = run_cli(&fixture, &["sessions", "close", &key], 0);
    assert!(out.contains(&format!("closed {key}\n")), "{out}");
    assert_eq!(json_of(&fixture, &["sessions", "status", &key, "--json"], 0)["session"]["state"], "closed");
    run_cli(&fixture, &["sessions", "send", &key, "echo late"], 1);
    fixture.finish();
}

#[test]
fn spawn_with_wait_prints_the_key_then_the_answer() {
    let fixture = fixture();
    let args = ["sessions", "spawn", "--agent", "worker", "--backend", "exec", "--task", "echo hi", "--wait"];
    let (out, _) = run_cli(&fixture, &args, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[1] == "hi", "{out}");
    run_cli(&fixture, &["sessions", "status", lines[0]], 0);
    let reply = json_of(&fixture, &[&args[..], &["--json"]].concat(), 0);
    assert_eq!((&reply["turn"]["text"], &reply["turn"]["state"]), (&"hi\n".into(), &"done".into()));
    assert_eq!(reply["turn"]["turnId"], reply["sent"]["turnId"], "{reply}");
    assert_ne!(reply["session"]["key"], lines[0], "another session");
    fixture.finish();
}

#[test]
fn the_exit_code_says_how_the_turn_ended() {
    let fixture = fixture();
    let key = spawn(&fixture, "worker", &[]);
    let (_, err) = run_cli(&fixture, &["sessions", "wait", &key], 1);
    assert!(err.contains("no turn"), "{err}");
    let (turn, _) = run_cli(&fixture, &["sessions", "send", &key, "echo ready; sleep 1000"], 0);
    let (_, err) = run_cli(&fixture, &["sessions", "wait", &key, "--timeout", "100ms"], 124);
    assert!(err.contains("goes on"), "{err}");
    let (next, err) = run_cli(&fixture, &["sessions", "send", &key, "echo next"], 0);
    assert!(err.contains("is queued as the next one"), "{err}");
    run_cli(&fixture, &["sessions", "send", &key, "echo no", "--when-busy", "refuse"], 1);
    let status = json_of(&fixture, &["sessions", "status", &key, "--json"], 0);
    assert_eq!((&status["session"]["state"], &status["session"]["queued"]), (&"busy".into(), &1.into()));
    assert_eq!(status["session"]["activeTurn"]["turnId"], turn.trim_end());
    run_cli(&fixture, &["sessions", "cancel", &key], 0);
    run_cli(&fixture, &["sessions", "wait", &key, "--turn", turn.trim_end()], 123);
    let (out, _) = run_cli(&fixture, &["sessions", "wait", &key, "--turn", next.trim_end()], 0);
    assert_eq!(out, "next\n", "the queue continued");
    let short = spawn(&fixture, "worker", &["--timeout", "200ms", "--task", "sleep 1000"]);
    run_cli(&fixture, &["sessions", "wait", &short], 124);
    for verb in ["status", "history", "wait", "cancel", "close"] {
        run_cli(&fixture, &["sessions", verb, "agent:nobody:1"], 4);
    }
    fixture.finish();
}

#[test]
fn a_page_says_how_to_see_the_next() {
    let fixture = fixture();
    let keys: Vec<String> = (0..3).map(|_| spawn(&fixture, "worker", &[])).collect();
    let (out, err) = run_cli(&fixture, &["sessions", "list", "--limit", "2"], 0);
    assert!(out.contains(&keys[2]) && out.contains(&keys[1]) && !out.contains(&keys[0]), "{out}");
    let after =
        err.split("--after ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a cursor");
    let (out, err) = run_cli(&fixture, &["sessions", "list", "--limit", "2", "--after", after], 0);
    assert!(out.contains(&keys[0]) && !out.contains(&keys[1]) && err.is_empty(), "{out} / {err}");
    fixture.finish();
}

#[test]
fn a_session_sees_only_its_own_and_its_childrens_sessions() {
    let fixture = fixture();
    let (mine, other) = (spawn(&fixture, "a", &["--key", "agent:a:main"]), spawn(&fixture, "b", &[]));
    let child = spawn(&fixture, "c", &["--as", &mine]);
    let listed = |more: &[&str]| {
        let args = [&["sessions", "list", "--json", "--as", &mine], more].concat();
        let reply = json_of(&fixture, &args, 0);
        let keys = reply["sessions"].as_array().expect("sessions").iter();
        let mut keys: Vec<String> = keys.map(|it| it["key"].as_str().expect("a key").to_owned()).collect();
        keys.sort();
        keys
    };
    let mut tree = vec![mine.clone(), child.clone()];
    tree.sort();
    assert_eq!(listed(&[]), tree, "as the settings say");
    assert_eq!(listed(&["--visibility", "self"]), std::slice::from_ref(&mine));
    assert_eq!(listed(&["--visibility", "all", "--sandboxed"]), tree);
    let (out, _) = run_cli(&fixture, &["sessions", "status", &child, "--as", &mine], 0);
    assert!(out.contains(&format!("parent       {mine}\n")), "{out}");
    for line in [&["status"][..], &["history"], &["send"]] {
        let text: &[&str] = if line == ["send"] { &["echo no"] } else { &[] };
        let args = [&["sessions"], line, &[&other], text, &["--as", &mine]].concat();
        let (out, err) = run_cli(&fixture, &args, 1);
        assert!(
            out.is_empty() && err.starts_with("tenure: forbidden: ") && err.contains("tree"),
            "{out} / {err}"
        );
    }
    let reply = json_of(&fixture, &["sessions", "history", &other, "--json"], 0);
    assert_eq!(reply["turns"], serde_json::json!([]), "no message was sent to it");
    let closed = json_of(&fixture, &["sessions", "close", &mine, "--json"], 0);
    assert_eq!(closed["closed"]["closed"], json!([child, mine]), "children first");
    fixture.finish();
}

#[test]
fn a_wrong_word_lists_the_valid_ones() {
    let install = Install::new();
    for (line, valid) in [
        (&["spawn", "--agent", "a", "--backend", "run"][..], "acp, cli, exec"),
        (&["spawn", "--agent", "a", "--mode", "short"], "persistent, oneshot"),
        (&["list", "--kind", "x"], "main, acp, cli, subagent, exec"),
        (&["list", "--state", "open"], "idle, busy, closing, closed"),
        (&["list", "--visibility", "none"], "self, tree, agent, all"),
        (&["send", "k", "t", "--when-busy", "wait"], "queue, steer, refuse"),
    ] {
        let (out, err) = run_cli(&install, &[&["sessions"], line].concat(), 2);
        assert!(out.is_empty() && err.lines().count() == 1 && err.contains(valid), "{line:?}: {out} / {err}");
    }
}

#[test]
fn the_agents_are_listed_without_a_daemon() {
    let install = Install::new();
    let program = install.dir().join("mine");
    std::fs::write(&program, "#!/bin/sh\ncat\n").expect("a program");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("chmod");
    let mine = format!(
        "[agents.mine]\ncommand = '{}'\nfresh = ['--ask', '{{prompt}}']\nprompt = 'argument'\ntimeout = '5m'\n\n\
         [agents.codex]\ncommand = '/no/such/codex'\nno-output-timeout = '0'\n",
        program.display()
    );
    std::fs::write(install.config(), &mine).expect("a configuration");
    let (out, err) = run_cli(&install, &["agents", "list"], 0);
    let rows = |backend: &str| out.lines().filter(|line| line.contains(&format!(" {backend} "))).count();
    assert!(
        out.starts_with("AGENT ") && (rows("cli"), rows("acp")) == (5, 14) && err.is_empty(),
        "{out} / {err}"
    );
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).expect(name).to_owned();
    assert!(["claude", "gemini", "opencode"].iter().all(|name| line(name).contains("built-in")), "{out}");
    assert!(line("codex").contains("overridden") && line("codex").contains("not found"), "{out}");
    assert!(
        line("mine").contains(" own ") && line("mine").contains(program.to_str().expect("UTF-8")),
        "{out}"
    );
    let list = json_of(&install, &["agents", "--json"], 0);
    let agent =
        |name: &str| list.as_array().expect("agents").iter().find(|it| it["name"] == name).expect(name);
    let mine_now = agent("mine");
    assert_eq!((&mine_now["prompt"], &mine_now["resumes"]), (&"argument".into(), &false.into()), "{list}");
    assert_eq!((&mine_now["timeoutMs"], &mine_now["noOutputFreshMs"]), (&300_000.into(), &240_000.into()));
    assert_eq!(
        (&agent("codex")["program"], &agent("codex")["noOutputResumedMs"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!((&agent("claude")["prompt"], &agent("claude")["resumes"]), (&"stdin".into(), &true.into()));
    let goose = agent("goose");
    assert_eq!((&goose["backend"], &goose["prompt"]), (&"acp".into(), &"protocol".into()), "{goose}");
    assert_eq!(
        (&goose["permissions"], &goose["idleMs"]),
        (&"approve-reads".into(), &600_000.into()),
        "{goose}"
    );
    assert!(goose["args"] == json!(["acp"]) && goose["install"].is_string(), "{goose}");
    std::fs::write(install.config(), mine.replace("timeout = '5m'", "duration-of-turns = '5m'"))
        .expect("a configuration");
    let (out, err) = run_cli(&install, &["agents"], 1);
    assert!(
        out.contains("claude") && !out.contains("mine") && err.contains("config.toml:5:"),
        "the others are listed: {out}"
    );
    assert!(err.contains("agents.mine.duration-of-turns"), "{err}");
    assert!(!install.state().join("daemon.sock").exists(), "nothing was started");
}

#[test]
fn a_command_turn_is_printed_verbatim_without_terminal_controls() {
    let fixture = fixture();
    let program = fixture.dir().join("mine");
    std::fs::write(&program, "#!/bin/sh\nprintf 'a\\033[31mb\\033[0m\\n'; cat\n").expect("a program");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("chmod");
    let mine = format!("[agents.mine]\ncommand = '{}'\nfresh = []\n", program.display());
    std::fs::write(fixture.config(), mine).expect("a configuration");
    let (out, _) = run_cli(&fixture, &["sessions", "spawn", "--agent", "mine", "--task", "hello"], 0);
    let key = out.trim_end();
    let (out, _) = run_cli(&fixture, &["sessions", "wait", key], 0);
    assert_eq!(out, "a\u{1b}[31mb\u{1b}[0m\nhello\n", "a pipe gets it unchanged");
    let mut person = Terminal::start(fixture.command(&["sessions", "wait", key]), 80, 24);
    person.wait_for("hello\r\n");
    assert_eq!((person.code(), person.screen().as_str()), (0, "ab\r\nhello\r\n"));
    let (out, _) = run_cli(&fixture, &["sessions", "history", key], 0);
    assert!(out.contains("    hello\n  answered:\n    ab\n    hello\n"), "{out:?}");
    let (_, err) = run_cli(&fixture, &["sessions", "spawn", "--agent", "unknown"], 1);
    assert!(err.contains("mine") && err.contains("claude"), "it lists the valid ones: {err}");
    fixture.finish();
}

#[test]
fn the_settings_and_agents_in_the_docs_work() {
    let page = include_str!("../../../../../docs/sessions.md");
    let parts = page.split("```toml\n").skip(1).filter_map(|part| part.split("```").next());
    let install = Install::new();
    std::fs::write(install.config(), parts.collect::<String>()).expect("a configuration");
    let list = json_of(&install, &["agents", "--json"], 0);
    let agent =
        |name: &str| list.as_array().expect("agents").iter().find(|it| it["name"] == name).expect(name);
    assert_eq!((&agent("mine")["source"], &agent("mine")["resumes"]), (&"own".into(), &true.into()));
    assert_eq!(agent("claude")["source"], "overridden");
}

#[test]
fn the_adapters_in_the_docs_work() {
    let page = include_str!("../../../../../docs/acp.md");
    let parts = page.split("```toml\n").skip(1).filter_map(|part| part.split("```").next());
    let install = Install::new();
    std::fs::write(install.config(), parts.collect::<String>()).expect("a configuration");
    let list = json_of(&install, &["agents", "--json"], 0);
    let adapter = |name: &str| {
        let all = list.as_array().expect("agents").iter();
        all.filter(|it| it["backend"] == "acp").find(|it| it["name"] == name).expect(name)
    };
    assert_eq!((&adapter("mine")["source"], &adapter("mine")["args"]), (&"own".into(), &json!(["--stdio"])));
    let claude = adapter("claude");
    assert_eq!((&claude["source"], &claude["permissions"]), (&"overridden".into(), &"ask".into()));
    let built_in =
        page.split("Built in are\n").nth(1).and_then(|rest| rest.split('.').next()).expect("a list");
    for name in built_in.split('`').skip(1).step_by(2) {
        assert!(adapter(name)["source"] != "own", "{name}");
    }
}

#[test]
fn a_close_continues_with_the_next_daemon() {
    let fixture = fixture();
    let key = spawn(&fixture, "worker", &["--task", "trap '' TERM; echo begun; while :; do sleep 1; done"]);
    let run = tenure_it::eventually("the turn's run", || {
        let runs = json_of(&fixture, &["ps", "--state", "running", "--json"], 0);
        runs[0]["runId"].as_str().map(str::to_owned)
    });
    fixture.wait_for_output(&run, "begun");
    let mut caller = fixture.start(&["sessions", "close", &key]);
    tenure_it::eventually("the closing", || {
        let status = json_of(&fixture, &["sessions", "status", &key, "--json"], 0);
        (status["session"]["state"] == "closing").then_some(())
    });
    fixture.kill();
    assert_eq!(caller.code(), 0, "{}", caller.err());
    assert!(caller.out().contains(&format!("closed {key}\n")), "{}", caller.out());
    assert_eq!(json_of(&fixture, &["sessions", "status", &key, "--json"], 0)["session"]["state"], "closed");
    fixture.finish();
}
