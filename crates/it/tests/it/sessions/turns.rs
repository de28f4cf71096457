//! Turns of a CLI agent: each is a process of its own, goes on with the conversation of the one before, and waits for it.

use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::conversation::{Talks, answered};
use tenure_it::install::Install;
use tenure_it::started::Started;

const KEY: &str = "agent:fake:main";

/// What was said, in the order of the turns.
fn said(history: &[Value]) -> Vec<String> {
    history.iter().map(|turn| text(&turn["message"])).collect()
}

#[test]
fn a_second_turn_goes_on_with_the_conversation_of_the_first() {
    let talks = Talks::new();
    talks.spawn_with(KEY, json!({"agent": "fake", "model": "big"}));
    assert_eq!(talks.status(KEY)["agentSessionId"], Value::Null);
    let first = talks.turn(KEY, "one");
    let told = answered(&first);
    assert_eq!((&told["resumed"], &told["prompt"]), (&false.into(), &"one".into()));
    assert_eq!(told["argv"], json!(["fresh", "--model", "big"]));
    assert_eq!(told["cwd"], talks.dir().canonicalize().expect("a path").to_str().expect("UTF-8"));
    let name = text(&told["session"]);
    assert_eq!(talks.status(KEY)["agentSessionId"], name.as_str());
    let second = talks.turn(KEY, "two\nlines");
    let told = answered(&second);
    assert_eq!(told["argv"], json!(["resume", name]));
    assert_eq!((&told["resumed"], &told["prompt"]), (&true.into(), &"two\nlines".into()));
    let run = talks.show(&text(&second["runId"]));
    assert_eq!(
        (&run["scope"], &run["sessionId"]),
        (&format!("cli:fake:{name}").into(), &KEY.into()),
        "{run}"
    );
    assert_eq!((&run["backendId"], &run["termination"]["reason"]), (&"cli".into(), &"exit".into()), "{run}");
    let history = talks.history(KEY);
    assert_eq!(history, [first, second]);
    assert_eq!(said(&history), ["one", "two\nlines"]);
    assert_eq!((&history[0]["number"], &history[1]["number"]), (&1.into(), &2.into()));
    // An agent may call it something else from now on.
    let _ = talks.answer(KEY, "!rename other");
    assert_eq!(talks.answer(KEY, "four")["argv"], json!(["resume", "other"]));
    let _ = talks.answer(KEY, "!unnamed");
    assert_eq!(talks.status(KEY)["agentSessionId"], "other", "what it does not say again holds");
    assert_eq!(talks.starts().len(), 5, "one process a turn");
    talks.finish();
}

#[test]
fn what_still_runs_in_the_conversation_of_the_session_ends_before_its_next_turn() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let name = text(&talks.answer(KEY, "one")["session"]);
    let scope = format!("cli:fake:{name}");
    let old = talks.act(&["--session", KEY, "--scope", &scope, "--grace", "100ms"], &["ignore-term", "tree"]);
    talks.wait_ready(&old);
    let second = talks.turn(KEY, "two");
    assert_eq!(answered(&second)["argv"], json!(["resume", name]));
    let (old, new) = (talks.show(&old), talks.show(&text(&second["runId"])));
    assert_eq!(old["termination"]["reason"], "manual-cancel", "{old}");
    assert!(old["endedAtMs"].as_u64() <= new["startedAtMs"].as_u64(), "{old} {new}");
    // One that another session has there is not ended: the turn is not begun beside it.
    let strange = talks.act(&["--session", "other", "--scope", &scope], &["sleep"]);
    talks.wait_ready(&strange);
    let refused = talks.turn(KEY, "three");
    assert_eq!(refused["state"], "failed", "{refused}");
    assert!(text(&refused["error"]).contains(&scope), "{refused}");
    assert_eq!(talks.starts().len(), 2);
    assert_eq!(talks.show(&strange)["state"], "running");
    talks.cancel(&strange);
    let _ = talks.answer(KEY, "four");
    talks.finish();
}

#[test]
fn a_message_that_is_to_steer_an_agent_waits_and_one_to_a_command_reaches_its_input() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let _ = talks.send(KEY, "!await go");
    talks.wait_starts(1);
    let sent = talks.does("send", KEY, &json!({"text": "also", "whenBusy": "steer"}))["sent"].clone();
    assert_eq!(sent["delivery"], "queued", "{sent}");
    assert!(text(&sent["note"]).contains("takes no input in the middle of a turn"), "{sent}");
    talks.let_go("go");
    assert_eq!(answered(&talks.end_of(KEY, &sent["turnId"]))["prompt"], "also");
    talks.spawn_exec("shell");
    let first = talks.send("shell", "echo ready; read line; echo got $line");
    talks.wait_said("shell", "ready");
    let sent =
        talks.does("send", "shell", &json!({"text": "some words", "whenBusy": "steer"}))["sent"].clone();
    assert_eq!((&sent["delivery"], &sent["note"]), (&"steered".into(), &Value::Null), "{sent}");
    assert_eq!(sent["turnId"], first["turnId"], "the turn that it reached");
    let turn = talks.end_of("shell", &first["turnId"]);
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&"done".into(), &"ready\ngot some words\n".into()),
        "{turn}"
    );
    assert_eq!(talks.history("shell").len(), 1);
    talks.finish();
}

#[test]
fn a_cancelled_turn_ends_alone_and_what_waits_goes_on() {
    let talks = Talks::with("", "[run]\ngrace = '200ms'");
    talks.spawn(KEY);
    talks.spawn("agent:fake:other");
    let other = talks.send("agent:fake:other", "!await go");
    talks.wait_starts(1);
    let first = talks.send(KEY, "!say here\n!become ignore-term tree");
    let run = talks.wait_said(KEY, "ready ignore-term");
    let second = talks.send(KEY, "after");
    let cancelled = talks.does("cancel", KEY, &json!({}))["turn"].clone();
    assert_eq!(cancelled["turnId"], first["turnId"]);
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&"cancelled".into(), &"here".into()), "{turn}");
    assert_eq!(turn["runId"], run.as_str());
    assert_eq!(talks.termination(&turn)["reason"], "manual-cancel");
    assert_eq!(answered(&talks.end_of(KEY, &second["turnId"]))["prompt"], "after");
    let nothing = talks.ask("cancel", KEY, &json!({})).refused(409, "wrong-state");
    assert!(nothing.contains("nothing to cancel"), "{nothing}");
    talks.let_go("go");
    let _ = answered(&talks.end_of("agent:fake:other", &other["turnId"]));
    talks.finish();
}

#[test]
fn an_agent_gets_the_variables_of_its_description_and_no_others() {
    let install = Install::new()
        .with_daemon()
        .with_env("PASSED_ON", "yes")
        .with_env("ANTHROPIC_API_KEY", "secret")
        .with_env("PASSED_NOT", "secret")
        .with_env("OTHER", "secret");
    let given = "[agents.fake.env]\nGIVEN = 'a b=c'\nHOME = '/nowhere'";
    let talks = Talks::of(install, "env-remove = ['LANG', 'PASSED_NOT']", given);
    talks.spawn(KEY);
    let env = talks.answer(KEY, "!env")["env"].clone();
    for (name, value) in
        [("PASSED_ON", "yes"), ("GIVEN", "a b=c"), ("HOME", "/nowhere"), ("TENURE_SESSION_KEY", KEY)]
    {
        assert_eq!(env[name], value, "{name} of {env}");
    }
    for name in ["ANTHROPIC_API_KEY", "OTHER", "LANG", "PASSED_NOT", "TENURE_CONFIG", "TENURE_CGROUP"] {
        assert_eq!(env[name], Value::Null, "{name} of {env}");
    }
    talks.finish();
}

/// Sends a message from a shell with a key of its own.
#[track_caller]
fn sent_with(talks: &Talks, words: &str, key: &str) {
    let mut command = talks.command(&["sessions", "send", KEY, words]);
    command.env("PASSED_KEY", key);
    let mut started = Started::new(command);
    assert_eq!(started.code(), 0, "{}", started.err());
}

#[test]
fn a_cli_agent_gets_its_callers_variables_and_after_a_crash_the_daemons() {
    let install = Install::new().with_daemon().with_env("PASSED_KEY", "daemons");
    let talks = Talks::of(install, "", "");
    talks.spawn(KEY);
    let key_of = |turn: &Value| answered(turn)["env"]["PASSED_KEY"].clone();
    sent_with(&talks, "!env", "callers");
    assert_eq!(key_of(&talks.end_of(KEY, &talks.history(KEY)[0]["turnId"])), "callers");
    // Whoever sends nothing has the session go on as it was.
    assert_eq!(talks.answer(KEY, "!env")["env"]["PASSED_KEY"], "callers");
    sent_with(&talks, "!await go", "waiting");
    let waiting = talks.history(KEY)[2]["turnId"].clone();
    sent_with(&talks, "!env", "queued");
    let killed = talks.kill();
    talks.next_after(killed);
    talks.let_go("go");
    talks.end_of(KEY, &waiting);
    let turn = tenure_it::eventually("the queued turn", || talks.history(KEY).get(3).cloned());
    assert_eq!(key_of(&talks.end_of(KEY, &turn["turnId"])), "daemons", "values do not outlive a daemon");
    talks.finish();
}
