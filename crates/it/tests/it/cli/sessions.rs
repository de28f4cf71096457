//! `tenure sessions` and `tenure agents`, as people and programs use them from a shell.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::says::{json_of, says, says_to};
use tenure_it::terminal::Terminal;

fn home() -> Home {
    Home::of(Install::new().with_daemon())
}

/// Spawns a session of commands; returns its key.
#[track_caller]
fn spawn(install: &Install, agent: &str, more: &[&str]) -> String {
    let args = [&["sessions", "spawn", "--agent", agent, "--backend", "exec"], more].concat();
    let (out, _) = says(install, &args, 0);
    assert_eq!(out.lines().count(), 1, "the key alone: {out}");
    out.trim_end().to_owned()
}

#[test]
fn a_session_is_spawned_spoken_to_looked_at_and_closed() {
    let home = home();
    let key = spawn(&home, "worker", &["--task", "echo hi", "--label", "the worker"]);
    let (out, err) = says(&home, &["sessions", "wait", &key], 0);
    assert_eq!((out.as_str(), err.as_str()), ("hi\n", ""));
    let (out, _) = says(&home, &["sessions", "send", &key, "pwd; echo two", "--wait"], 0);
    let here = home.dir().canonicalize().expect("a path");
    assert_eq!(out, format!("{}\ntwo\n", here.display()), "where its caller was");
    let (out, _) = says_to(&home, &["sessions", "send", &key, "-", "--wait"], "echo piped", 0);
    assert_eq!(out, "piped\n");
    let (out, _) = says(&home, &["sessions"], 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("KEY "), "a head and a session: {out}");
    for words in [&key[..], "worker", "idle", " 3 ", "the worker"] {
        assert!(lines[1].contains(words), "{words}: {out}");
    }
    let (out, _) = says(&home, &["sessions", "status", &key], 0);
    for words in [&key[..], "the worker", "idle", "spawned by", "exec", here.to_str().expect("UTF-8")] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = says(&home, &["sessions", "history", &key], 0);
    for words in ["turn 1  done", "    echo hi\n  answered:\n    hi\n", "turn 3  done", "    piped\n"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (out, _) = says(&home, &["sessions", "close", &key], 0);
    assert!(out.contains(&format!("closed {key}\n")), "{out}");
    assert_eq!(json_of(&home, &["sessions", "status", &key, "--json"], 0)["session"]["state"], "closed");
    says(&home, &["sessions", "send", &key, "echo late"], 1);
    home.finish();
}

#[test]
fn a_spawn_that_waits_prints_the_key_and_then_the_answer() {
    let home = home();
    let args = ["sessions", "spawn", "--agent", "worker", "--backend", "exec", "--task", "echo hi", "--wait"];
    let (out, _) = says(&home, &args, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[1] == "hi", "{out}");
    says(&home, &["sessions", "status", lines[0]], 0);
    let reply = json_of(&home, &[&args[..], &["--json"]].concat(), 0);
    assert_eq!((&reply["turn"]["text"], &reply["turn"]["state"]), (&"hi\n".into(), &"done".into()));
    assert_eq!(reply["turn"]["turnId"], reply["sent"]["turnId"], "{reply}");
    assert_ne!(reply["session"]["key"], lines[0], "another session");
    home.finish();
}

#[test]
fn the_exit_code_says_how_the_turn_ended() {
    let home = home();
    let key = spawn(&home, "worker", &[]);
    let (_, err) = says(&home, &["sessions", "wait", &key], 1);
    assert!(err.contains("no turn"), "{err}");
    let (turn, _) = says(&home, &["sessions", "send", &key, "echo ready; sleep 1000"], 0);
    let (_, err) = says(&home, &["sessions", "wait", &key, "--timeout", "100ms"], 124);
    assert!(err.contains("goes on"), "{err}");
    let (next, err) = says(&home, &["sessions", "send", &key, "echo next"], 0);
    assert!(err.contains("waits for its turn"), "{err}");
    says(&home, &["sessions", "send", &key, "echo no", "--when-busy", "refuse"], 1);
    let status = json_of(&home, &["sessions", "status", &key, "--json"], 0);
    assert_eq!((&status["session"]["state"], &status["session"]["queued"]), (&"busy".into(), &1.into()));
    assert_eq!(status["session"]["activeTurn"]["turnId"], turn.trim_end());
    says(&home, &["sessions", "cancel", &key], 0);
    says(&home, &["sessions", "wait", &key, "--turn", turn.trim_end()], 123);
    let (out, _) = says(&home, &["sessions", "wait", &key, "--turn", next.trim_end()], 0);
    assert_eq!(out, "next\n", "what waited went on");
    let short = spawn(&home, "worker", &["--timeout", "200ms", "--task", "sleep 1000"]);
    says(&home, &["sessions", "wait", &short], 124);
    for verb in ["status", "history", "wait", "cancel", "close"] {
        says(&home, &["sessions", verb, "agent:nobody:1"], 4);
    }
    home.finish();
}

#[test]
fn a_page_says_how_to_see_the_next() {
    let home = home();
    let keys: Vec<String> = (0..3).map(|_| spawn(&home, "worker", &[])).collect();
    let (out, err) = says(&home, &["sessions", "list", "--limit", "2"], 0);
    assert!(out.contains(&keys[2]) && out.contains(&keys[1]) && !out.contains(&keys[0]), "{out}");
    let after = err.split("--after ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a cursor");
    let (out, err) = says(&home, &["sessions", "list", "--limit", "2", "--after", after], 0);
    assert!(out.contains(&keys[0]) && !out.contains(&keys[1]) && err.is_empty(), "{out} / {err}");
    home.finish();
}

#[test]
fn a_session_that_asks_sees_what_it_may_and_no_more() {
    let home = home();
    let (mine, other) = (spawn(&home, "a", &["--key", "agent:a:main"]), spawn(&home, "b", &[]));
    let child = spawn(&home, "c", &["--as", &mine]);
    let listed = |more: &[&str]| {
        let args = [&["sessions", "list", "--json", "--as", &mine], more].concat();
        let reply = json_of(&home, &args, 0);
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
    let (out, _) = says(&home, &["sessions", "status", &child, "--as", &mine], 0);
    assert!(out.contains(&format!("parent       {mine}\n")), "{out}");
    for line in [&["status"][..], &["history"], &["send"]] {
        let text: &[&str] = if line == ["send"] { &["echo no"] } else { &[] };
        let args = [&["sessions"], line, &[&other], text, &["--as", &mine]].concat();
        let (out, err) = says(&home, &args, 1);
        assert!(
            out.is_empty() && err.starts_with("tenure: forbidden: ") && err.contains("tree"),
            "{out} / {err}"
        );
    }
    let reply = json_of(&home, &["sessions", "history", &other, "--json"], 0);
    assert_eq!(reply["turns"], serde_json::json!([]), "nothing was said to it");
    let closed = json_of(&home, &["sessions", "close", &mine, "--json"], 0);
    assert_eq!(closed["closed"]["closed"], json!([child, mine]), "children first");
    home.finish();
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
        let (out, err) = says(&install, &[&["sessions"], line].concat(), 2);
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
    let (out, err) = says(&install, &["agents", "list"], 0);
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
    let (out, err) = says(&install, &["agents"], 1);
    assert!(
        out.contains("claude") && !out.contains("mine") && err.contains("config.toml:5:"),
        "the others are listed: {out}"
    );
    assert!(err.contains("agents.mine.duration-of-turns"), "{err}");
    assert!(!install.state().join("daemon.sock").exists(), "nothing was started");
}

#[test]
fn a_turn_of_an_agents_command_is_told_as_it_is_and_steers_no_terminal() {
    let home = home();
    let program = home.dir().join("mine");
    std::fs::write(&program, "#!/bin/sh\nprintf 'a\\033[31mb\\033[0m\\n'; cat\n").expect("a program");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("chmod");
    let mine = format!("[agents.mine]\ncommand = '{}'\nfresh = []\n", program.display());
    std::fs::write(home.config(), mine).expect("a configuration");
    let (out, _) = says(&home, &["sessions", "spawn", "--agent", "mine", "--task", "hello"], 0);
    let key = out.trim_end();
    let (out, _) = says(&home, &["sessions", "wait", key], 0);
    assert_eq!(out, "a\u{1b}[31mb\u{1b}[0m\nhello\n", "a pipe gets it as it is");
    let mut person = Terminal::start(home.command(&["sessions", "wait", key]), 80, 24);
    person.wait_for("hello\r\n");
    assert_eq!((person.code(), person.screen().as_str()), (0, "ab\r\nhello\r\n"));
    let (out, _) = says(&home, &["sessions", "history", key], 0);
    assert!(out.contains("    hello\n  answered:\n    ab\n    hello\n"), "{out:?}");
    let (_, err) = says(&home, &["sessions", "spawn", "--agent", "unknown"], 1);
    assert!(err.contains("mine") && err.contains("claude"), "it lists those that there are: {err}");
    home.finish();
}

#[test]
fn the_settings_and_agents_in_the_docs_can_be_used() {
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
fn the_adapters_in_the_docs_can_be_used() {
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
fn a_close_goes_on_with_the_next_daemon() {
    let home = home();
    let key = spawn(&home, "worker", &["--task", "trap '' TERM; echo begun; while :; do sleep 1; done"]);
    let run = tenure_it::eventually("the turn's run", || {
        let runs = json_of(&home, &["ps", "--state", "running", "--json"], 0);
        runs[0]["runId"].as_str().map(str::to_owned)
    });
    home.wait_for_output(&run, "begun");
    let mut caller = home.start(&["sessions", "close", &key]);
    tenure_it::eventually("the closing", || {
        let status = json_of(&home, &["sessions", "status", &key, "--json"], 0);
        (status["session"]["state"] == "closing").then_some(())
    });
    home.kill();
    assert_eq!(caller.code(), 0, "{}", caller.err());
    assert!(caller.out().contains(&format!("closed {key}\n")), "{}", caller.out());
    assert_eq!(json_of(&home, &["sessions", "status", &key, "--json"], 0)["session"]["state"], "closed");
    home.finish();
}
