//! Turns of a CLI agent: each is a process of its own, continues the conversation of the one before, and waits for it.

use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::child_program::ChildProgram;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::install::Install;

const KEY: &str = "agent:fake:main";

/// The answers, in the order of the turns.
fn answers(history: &[Value]) -> Vec<String> {
    history.iter().map(|turn| text(&turn["message"])).collect()
}

#[test]
fn a_second_turn_continues_the_conversation_of_the_first() {
    let fixture = CliAgentFixture::new();
    fixture.spawn_with(KEY, json!({"agent": "fake", "model": "big"}));
    assert_eq!(fixture.status(KEY)["agentSessionId"], Value::Null);
    let first = fixture.turn(KEY, "one");
    let told = answer_of(&first);
    assert_eq!((&told["resumed"], &told["prompt"]), (&false.into(), &"one".into()));
    assert_eq!(told["argv"], json!(["fresh", "--model", "big"]));
    assert_eq!(told["cwd"], fixture.dir().canonicalize().expect("a path").to_str().expect("UTF-8"));
    let name = text(&told["session"]);
    assert_eq!(fixture.status(KEY)["agentSessionId"], name.as_str());
    let second = fixture.turn(KEY, "two\nlines");
    let told = answer_of(&second);
    assert_eq!(told["argv"], json!(["resume", name]));
    assert_eq!((&told["resumed"], &told["prompt"]), (&true.into(), &"two\nlines".into()));
    let run = fixture.show(&text(&second["runId"]));
    assert_eq!(
        (&run["scope"], &run["sessionId"]),
        (&format!("cli:fake:{name}").into(), &KEY.into()),
        "{run}"
    );
    assert_eq!((&run["backendId"], &run["termination"]["reason"]), (&"cli".into(), &"exit".into()), "{run}");
    let history = fixture.history(KEY);
    assert_eq!(history, [first, second]);
    assert_eq!(answers(&history), ["one", "two\nlines"]);
    assert_eq!((&history[0]["number"], &history[1]["number"]), (&1.into(), &2.into()));
    // An agent may rename it from now on.
    let _ = fixture.answer(KEY, "!rename other");
    assert_eq!(fixture.answer(KEY, "four")["argv"], json!(["resume", "other"]));
    let _ = fixture.answer(KEY, "!unnamed");
    assert_eq!(fixture.status(KEY)["agentSessionId"], "other", "an omitted id is unchanged");
    assert_eq!(fixture.starts().len(), 5, "one process a turn");
    fixture.finish();
}

#[test]
fn leftover_processes_of_the_conversation_end_before_the_next_turn() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let name = text(&fixture.answer(KEY, "one")["session"]);
    let scope = format!("cli:fake:{name}");
    let old =
        fixture.act(&["--session", KEY, "--scope", &scope, "--grace", "100ms"], &["ignore-term", "tree"]);
    fixture.wait_ready(&old);
    let second = fixture.turn(KEY, "two");
    assert_eq!(answer_of(&second)["argv"], json!(["resume", name]));
    let (old, new) = (fixture.show(&old), fixture.show(&text(&second["runId"])));
    assert_eq!(old["termination"]["reason"], "manual-cancel", "{old}");
    assert!(old["endedAtMs"].as_u64() <= new["startedAtMs"].as_u64(), "{old} {new}");
    // A process of another session in it is not ended: the turn does not start beside it.
    let strange = fixture.act(&["--session", "other", "--scope", &scope], &["sleep"]);
    fixture.wait_ready(&strange);
    let refused = fixture.turn(KEY, "three");
    assert_eq!(refused["state"], "failed", "{refused}");
    assert!(text(&refused["error"]).contains(&scope), "{refused}");
    assert_eq!(fixture.starts().len(), 2);
    assert_eq!(fixture.show(&strange)["state"], "running");
    fixture.cancel(&strange);
    let _ = fixture.answer(KEY, "four");
    fixture.finish();
}

#[test]
fn a_steering_message_to_an_agent_queues_and_one_to_a_command_reaches_its_stdin() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let _ = fixture.send(KEY, "!await go");
    fixture.wait_starts(1);
    let sent = fixture.expect_ok("send", KEY, &json!({"text": "also", "whenBusy": "steer"}))["sent"].clone();
    assert_eq!(sent["delivery"], "queued", "{sent}");
    assert!(text(&sent["note"]).contains("takes no input during a turn"), "{sent}");
    fixture.release("go");
    assert_eq!(answer_of(&fixture.end_of(KEY, &sent["turnId"]))["prompt"], "also");
    fixture.spawn_exec("shell");
    let first = fixture.send("shell", "echo ready; read line; echo got $line");
    fixture.wait_agent_text("shell", "ready");
    let sent =
        fixture.expect_ok("send", "shell", &json!({"text": "some words", "whenBusy": "steer"}))["sent"]
            .clone();
    assert_eq!((&sent["delivery"], &sent["note"]), (&"steered".into(), &Value::Null), "{sent}");
    assert_eq!(sent["turnId"], first["turnId"], "the turn that got it");
    let turn = fixture.end_of("shell", &first["turnId"]);
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&"done".into(), &"ready\ngot some words\n".into()),
        "{turn}"
    );
    assert_eq!(fixture.history("shell").len(), 1);
    fixture.finish();
}

#[test]
fn a_cancelled_turn_ends_alone_and_the_queue_continues() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '200ms'");
    fixture.spawn(KEY);
    fixture.spawn("agent:fake:other");
    let other = fixture.send("agent:fake:other", "!await go");
    fixture.wait_starts(1);
    let first = fixture.send(KEY, "!say here\n!become ignore-term tree");
    let run = fixture.wait_agent_text(KEY, "ready ignore-term");
    let second = fixture.send(KEY, "after");
    let cancelled = fixture.expect_ok("cancel", KEY, &json!({}))["turn"].clone();
    assert_eq!(cancelled["turnId"], first["turnId"]);
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&"cancelled".into(), &"here".into()), "{turn}");
    assert_eq!(turn["runId"], run.as_str());
    assert_eq!(fixture.termination(&turn)["reason"], "manual-cancel");
    assert_eq!(answer_of(&fixture.end_of(KEY, &second["turnId"]))["prompt"], "after");
    let nothing = fixture.ask("cancel", KEY, &json!({})).refused(409, "wrong-state");
    assert!(nothing.contains("nothing to cancel"), "{nothing}");
    fixture.release("go");
    let _ = answer_of(&fixture.end_of("agent:fake:other", &other["turnId"]));
    fixture.finish();
}

#[test]
fn an_agent_gets_only_its_configured_variables() {
    let install = Install::new()
        .with_daemon()
        .with_env("PASSED_ON", "yes")
        .with_env("ANTHROPIC_API_KEY", "secret")
        .with_env("PASSED_NOT", "secret")
        .with_env("OTHER", "secret");
    let given = "[agents.fake.env]\nGIVEN = 'a b=c'\nHOME = '/nowhere'";
    let fixture = CliAgentFixture::of(install, "env-remove = ['LANG', 'PASSED_NOT']", given);
    fixture.spawn(KEY);
    let env = fixture.answer(KEY, "!env")["env"].clone();
    for (name, value) in
        [("PASSED_ON", "yes"), ("GIVEN", "a b=c"), ("HOME", "/nowhere"), ("TENURE_SESSION_KEY", KEY)]
    {
        assert_eq!(env[name], value, "{name} of {env}");
    }
    for name in ["ANTHROPIC_API_KEY", "OTHER", "LANG", "PASSED_NOT", "TENURE_CONFIG", "TENURE_CGROUP"] {
        assert_eq!(env[name], Value::Null, "{name} of {env}");
    }
    fixture.finish();
}

/// Sends a message from a shell with a key of its own.
#[track_caller]
fn sent_with(fixture: &CliAgentFixture, words: &str, key: &str) {
    let mut command = fixture.command(&["sessions", "send", KEY, words]);
    command.env("PASSED_KEY", key);
    let mut started = ChildProgram::new(command);
    assert_eq!(started.code(), 0, "{}", started.err());
}

#[test]
fn a_cli_agent_gets_its_callers_variables_or_after_a_crash_the_daemons() {
    let install = Install::new().with_daemon().with_env("PASSED_KEY", "daemons");
    let fixture = CliAgentFixture::of(install, "", "");
    fixture.spawn(KEY);
    let key_of = |turn: &Value| answer_of(turn)["env"]["PASSED_KEY"].clone();
    sent_with(&fixture, "!env", "callers");
    assert_eq!(key_of(&fixture.end_of(KEY, &fixture.history(KEY)[0]["turnId"])), "callers");
    // A message without variables leaves the session's unchanged.
    assert_eq!(fixture.answer(KEY, "!env")["env"]["PASSED_KEY"], "callers");
    sent_with(&fixture, "!await go", "waiting");
    let waiting = fixture.history(KEY)[2]["turnId"].clone();
    sent_with(&fixture, "!env", "queued");
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    fixture.release("go");
    fixture.end_of(KEY, &waiting);
    let turn = tenure_it::eventually("the queued turn", || fixture.history(KEY).get(3).cloned());
    assert_eq!(key_of(&fixture.end_of(KEY, &turn["turnId"])), "daemons", "values do not survive a daemon");
    fixture.finish();
}
