//! The right to close a session, the requests that a closing or closed one still takes, and its remains.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::eventually;
use tenure_it::install::{Install, tenure};

const KEY: &str = "agent:fake:main";

/// Starts a command of the actor that dies only of SIGKILL, as a turn of a session.
#[track_caller]
fn begin_stubborn(fixture: &CliAgentFixture, key: &str) -> (Value, String) {
    let witness = fixture.dir().join("witness");
    let line = format!("ACTOR_WITNESS='{}' exec {} ignore-term tree", witness.display(), fixture.actor());
    let sent = fixture.send(key, &line);
    (sent["turnId"].clone(), fixture.wait_agent_text(key, "ready ignore-term"))
}

/// A `tenure` command line for a turn's command.
fn inside(fixture: &CliAgentFixture, words: &str) -> String {
    format!("TENURE_CONFIG='{}' '{}' sessions {words}", fixture.config().display(), tenure().display())
}

#[test]
fn a_closing_session_takes_no_run_no_child_and_no_message() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '1m'");
    fixture.spawn_exec("root");
    let (turn, run) = begin_stubborn(&fixture, "root");
    let waits = fixture.send("root", "echo never");
    assert_eq!(waits["delivery"], "queued");
    let mut closing = fixture.begin_asking("close", "root", &json!({}));
    fixture.wait_state("root", "closing");
    let started = fixture.runs().len();
    let _ = fixture.ask("send", "root", &json!({"text": "echo no"})).refused(409, "session-closed");
    let _ = fixture
        .ask("send", "root", &json!({"text": "no", "whenBusy": "steer"}))
        .refused(409, "session-closed");
    let child = json!({"backend": "exec", "parent": "root"});
    let _ = fixture.ask("spawn", "child", &child).refused(409, "session-closed");
    let _ = fixture
        .ask("spawn", "child", &json!({"backend": "exec", "as": "root"}))
        .refused(409, "session-closed");
    let asked = json!({"command": ["true"], "session": "root"});
    let _ = fixture.api.post("/v1/runs", &asked).refused(409, "session-closed");
    let asked = json!({"command": "true", "sessionKey": "root"});
    let _ = fixture.api.post("/v1/exec", &asked).refused(409, "session-closed");
    assert_eq!(fixture.runs().len(), started, "nothing was started");
    let _ = fixture.ask("status", "child", &json!({})).refused(404, "no-such-session");
    // A second close waits for the same end.
    let mut again = fixture.begin_asking("close", "root", &json!({}));
    let now = fixture.tenure(&["cancel", "--now", &run]);
    assert!(now.status.success(), "{now:?}");
    for wire in [&mut closing, &mut again] {
        let reply = wire.answer().is(200).json();
        assert_eq!(reply["closed"]["closed"], json!(["root"]), "{reply}");
    }
    assert_eq!(fixture.status("root")["state"], "closed");
    assert_eq!(fixture.end_of("root", &turn)["state"], "cancelled");
    let gone = fixture.ask("wait", "root", &json!({"turnId": waits["turnId"]})).refused(422, "invalid");
    assert!(gone.contains("withdrawn"), "{gone}");
    assert_eq!(fixture.history("root").len(), 1, "a queued turn never started");
    fixture.finish();
}

#[test]
fn a_second_close_has_no_effect_and_a_closed_session_can_be_read() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let _ = fixture.answer(KEY, "one");
    let reply = fixture.expect_ok("close", KEY, &json!({"reason": "enough"}));
    assert_eq!(reply["closed"]["closed"], json!([KEY]), "{reply}");
    let reply = fixture.expect_ok("close", KEY, &json!({}));
    assert_eq!((&reply["closed"]["closed"], &reply["closed"]["runs"]), (&json!([]), &json!([])), "{reply}");
    assert_eq!(answer_of(&fixture.history(KEY)[0])["prompt"], "one");
    let _ = fixture.ask("send", KEY, &json!({"text": "two"})).refused(409, "session-closed");
    let why = fixture.ask("spawn", KEY, &json!({"agent": "fake"})).refused(409, "wrong-state");
    assert!(why.contains("and is closed"), "{why}");
    let _ = fixture.ask("cancel", KEY, &json!({})).refused(409, "wrong-state");
    let _ = fixture.ask("close", "agent:fake:none", &json!({})).refused(404, "no-such-session");
    fixture.finish();
}

#[test]
fn a_session_spawned_after_a_discard_reuses_the_key_without_the_history() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '200ms'");
    fixture.spawn(KEY);
    let first = text(&fixture.answer(KEY, "one")["session"]);
    let _ = fixture.send(KEY, "!say here\n!become ignore-term tree");
    fixture.wait_agent_text(KEY, "ready ignore-term");
    let reply = fixture.expect_ok("close", KEY, &json!({"discard": true}));
    assert_eq!(reply["closed"]["closed"], json!([KEY]), "{reply}");
    for action in ["status", "history", "close"] {
        let _ = fixture.ask(action, KEY, &json!({})).refused(404, "no-such-session");
    }
    fixture.spawn(KEY);
    assert!(fixture.history(KEY).is_empty());
    assert_eq!(fixture.status(KEY)["agentSessionId"], Value::Null);
    let told = fixture.answer(KEY, "anew");
    assert!(told["resumed"] == false && told["session"] != first.as_str(), "{told}");
    assert_eq!(fixture.history(KEY)[0]["number"], 1);
    // A session that was closed before can be discarded, too.
    let _ = fixture.expect_ok("close", KEY, &json!({}));
    let _ = fixture.expect_ok("close", KEY, &json!({"discard": true}));
    let _ = fixture.ask("status", KEY, &json!({})).refused(404, "no-such-session");
    fixture.finish();
}

#[test]
fn a_child_can_see_but_not_close_its_parent_and_siblings() {
    let fixture = CliAgentFixture::new();
    let [root, child, sister] = ["agent:a:root", "agent:a:child", "agent:a:sister"];
    fixture.spawn_exec(root);
    for key in [child, sister] {
        fixture.spawn_with(key, json!({"backend": "exec", "parent": root}));
    }
    let turn = fixture.turn(child, &inside(&fixture, "close agent:a:root 2>&1"));
    assert!(text(&turn["text"]).contains("forbidden"), "{turn}");
    for visibility in ["tree", "agent", "all"] {
        let who = json!({"as": child, "visibility": visibility});
        let sees = fixture.ask("status", sister, &who).head.status == 200;
        assert_eq!(sees, visibility != "tree", "{visibility}");
        for (action, key) in [("close", root), ("close", sister), ("cancel", root)] {
            let _ = fixture.ask(action, key, &who).refused(403, "forbidden");
        }
    }
    for key in [root, sister] {
        assert_eq!(fixture.status(key)["state"], "idle");
    }
    // The child cannot claim to be another session, either.
    let turn = fixture.turn(child, &inside(&fixture, "close agent:a:sister --as agent:a:root 2>&1"));
    assert!(text(&turn["text"]).contains("forbidden"), "{turn}");
    let turn = fixture.turn(root, &inside(&fixture, "close agent:a:sister"));
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&json!("done"), &json!("closed agent:a:sister\n")),
        "{turn}"
    );
    assert_eq!(fixture.status(sister)["state"], "closed");
    fixture.finish();
}

#[test]
fn a_session_can_close_itself_from_its_own_run() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '200ms'");
    fixture.spawn_exec("root");
    fixture.spawn_with("child", json!({"backend": "exec", "parent": "root"}));
    let (_, below) = begin_stubborn(&fixture, "child");
    let sent = fixture.send("root", &inside(&fixture, "close root --reason done"));
    fixture.wait_state("root", "closed");
    assert_eq!(fixture.status("child")["state"], "closed");
    assert_eq!(fixture.show(&below)["termination"]["reason"], "manual-cancel");
    let turn = fixture.end_of("root", &sent["turnId"]);
    assert_eq!(turn["state"], "cancelled", "{turn}");
    fixture.finish();
}

#[test]
fn a_close_completes_even_if_its_requester_disconnects() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '2m'");
    fixture.spawn_exec("root");
    let (_, run) = begin_stubborn(&fixture, "root");
    let asker = fixture.start(&["sessions", "close", "root"]);
    fixture.wait_state("root", "closing");
    tenure_it::proc::send(asker.pid(), Signal::KILL);
    fixture.ask_to_cancel(&["--now", &run]);
    fixture.wait_state("root", "closed");
    assert_eq!(fixture.show(&run)["termination"]["reason"], "manual-cancel");
    fixture.finish();
}

#[test]
fn many_simultaneous_closes_and_sends_neither_hang_nor_leave_anything() {
    let fixture = CliAgentFixture::of(Install::new().with_daemon(), "", "[run]\ngrace = '100ms'");
    for key in ["root", "child"] {
        let parent = (key == "child").then_some("root");
        fixture.spawn_with(key, json!({"agent": "fake", "parent": parent}));
    }
    std::thread::scope(|scope| {
        let fixture = &fixture;
        for n in 0..6 {
            let key = if n % 2 == 0 { "root" } else { "child" };
            scope.spawn(move || fixture.ask("send", key, &json!({"text": format!("!await never{n}")})));
        }
        for key in ["root", "child", "root"] {
            scope.spawn(move || fixture.expect_ok("close", key, &json!({})));
        }
    });
    for key in ["root", "child"] {
        assert_eq!(fixture.status(key)["state"], "closed");
        let turns = fixture.history(key);
        assert!(turns.iter().all(|turn| turn["state"] == "cancelled"), "{turns:?}");
    }
    eventually("no run is live", || {
        let output = fixture.tenure(&["ps", "--json"]);
        let live: Value = serde_json::from_slice(&output.stdout).ok()?;
        live.as_array()?.is_empty().then_some(())
    });
    fixture.finish();
}
