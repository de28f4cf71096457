//! Who may close a session, what one that is closing or closed still takes, and what is left of it.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::conversation::{Talks, answered};
use tenure_it::eventually;
use tenure_it::install::{Install, tenure};

const KEY: &str = "agent:fake:main";

/// A command of the actor that dies only of SIGKILL, as a turn of a session.
#[track_caller]
fn begin_stubborn(talks: &Talks, key: &str) -> (Value, String) {
    let witness = talks.dir().join("witness");
    let line = format!("ACTOR_WITNESS='{}' exec {} ignore-term tree", witness.display(), talks.actor());
    let sent = talks.send(key, &line);
    (sent["turnId"].clone(), talks.wait_said(key, "ready ignore-term"))
}

/// `tenure` as a turn's command calls it.
fn inside(talks: &Talks, words: &str) -> String {
    format!("TENURE_CONFIG='{}' '{}' sessions {words}", talks.config().display(), tenure().display())
}

#[test]
fn a_session_that_is_closing_takes_no_run_no_child_and_no_message() {
    let talks = Talks::with("", "[run]\ngrace = '1m'");
    talks.spawn_exec("root");
    let (turn, run) = begin_stubborn(&talks, "root");
    let waits = talks.send("root", "echo never");
    assert_eq!(waits["delivery"], "queued");
    let mut closing = talks.begin_asking("close", "root", &json!({}));
    talks.wait_state("root", "closing");
    let started = talks.runs().len();
    let _ = talks.ask("send", "root", &json!({"text": "echo no"})).refused(409, "session-closed");
    let _ =
        talks.ask("send", "root", &json!({"text": "no", "whenBusy": "steer"})).refused(409, "session-closed");
    let child = json!({"backend": "exec", "parent": "root"});
    let _ = talks.ask("spawn", "child", &child).refused(409, "session-closed");
    let _ =
        talks.ask("spawn", "child", &json!({"backend": "exec", "as": "root"})).refused(409, "session-closed");
    let asked = json!({"command": ["true"], "session": "root"});
    let _ = talks.api.post("/v1/runs", &asked).refused(409, "session-closed");
    let asked = json!({"command": "true", "sessionKey": "root"});
    let _ = talks.api.post("/v1/exec", &asked).refused(409, "session-closed");
    assert_eq!(talks.runs().len(), started, "nothing was begun");
    let _ = talks.ask("status", "child", &json!({})).refused(404, "no-such-session");
    // Whoever closes it again waits for the same end.
    let mut again = talks.begin_asking("close", "root", &json!({}));
    let now = talks.tenure(&["cancel", "--now", &run]);
    assert!(now.status.success(), "{now:?}");
    for wire in [&mut closing, &mut again] {
        let reply = wire.answer().is(200).json();
        assert_eq!(reply["closed"]["closed"], json!(["root"]), "{reply}");
    }
    assert_eq!(talks.status("root")["state"], "closed");
    assert_eq!(talks.end_of("root", &turn)["state"], "cancelled");
    let gone = talks.ask("wait", "root", &json!({"turnId": waits["turnId"]})).refused(422, "invalid");
    assert!(gone.contains("withdrawn"), "{gone}");
    assert_eq!(talks.history("root").len(), 1, "what waited never began");
    talks.finish();
}

#[test]
fn a_closed_session_is_closed_again_in_vain_and_can_be_read() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let _ = talks.answer(KEY, "one");
    let reply = talks.does("close", KEY, &json!({"reason": "enough"}));
    assert_eq!(reply["closed"]["closed"], json!([KEY]), "{reply}");
    let reply = talks.does("close", KEY, &json!({}));
    assert_eq!((&reply["closed"]["closed"], &reply["closed"]["runs"]), (&json!([]), &json!([])), "{reply}");
    assert_eq!(answered(&talks.history(KEY)[0])["prompt"], "one");
    let _ = talks.ask("send", KEY, &json!({"text": "two"})).refused(409, "session-closed");
    let why = talks.ask("spawn", KEY, &json!({"agent": "fake"})).refused(409, "wrong-state");
    assert!(why.contains("it is closed"), "{why}");
    let _ = talks.ask("cancel", KEY, &json!({})).refused(409, "wrong-state");
    let _ = talks.ask("close", "agent:fake:none", &json!({})).refused(404, "no-such-session");
    talks.finish();
}

#[test]
fn a_session_that_is_discarded_leaves_its_key_and_its_history_behind_it() {
    let talks = Talks::with("", "[run]\ngrace = '200ms'");
    talks.spawn(KEY);
    let first = text(&talks.answer(KEY, "one")["session"]);
    let _ = talks.send(KEY, "!say here\n!become ignore-term tree");
    talks.wait_said(KEY, "ready ignore-term");
    let reply = talks.does("close", KEY, &json!({"discard": true}));
    assert_eq!(reply["closed"]["closed"], json!([KEY]), "{reply}");
    for action in ["status", "history", "close"] {
        let _ = talks.ask(action, KEY, &json!({})).refused(404, "no-such-session");
    }
    talks.spawn(KEY);
    assert!(talks.history(KEY).is_empty());
    assert_eq!(talks.status(KEY)["agentSessionId"], Value::Null);
    let told = talks.answer(KEY, "anew");
    assert!(told["resumed"] == false && told["session"] != first.as_str(), "{told}");
    assert_eq!(talks.history(KEY)[0]["number"], 1);
    // One that was closed before can be forgotten, too.
    let _ = talks.does("close", KEY, &json!({}));
    let _ = talks.does("close", KEY, &json!({"discard": true}));
    let _ = talks.ask("status", KEY, &json!({})).refused(404, "no-such-session");
    talks.finish();
}

#[test]
fn a_child_can_end_neither_its_parent_nor_its_sister_though_it_sees_them() {
    let talks = Talks::new();
    let [root, child, sister] = ["agent:a:root", "agent:a:child", "agent:a:sister"];
    talks.spawn_exec(root);
    for key in [child, sister] {
        talks.spawn_with(key, json!({"backend": "exec", "parent": root}));
    }
    let turn = talks.turn(child, &inside(&talks, "close agent:a:root 2>&1"));
    assert!(text(&turn["text"]).contains("forbidden"), "{turn}");
    for visibility in ["tree", "agent", "all"] {
        let who = json!({"as": child, "visibility": visibility});
        let sees = talks.ask("status", sister, &who).head.status == 200;
        assert_eq!(sees, visibility != "tree", "{visibility}");
        for (action, key) in [("close", root), ("close", sister), ("cancel", root)] {
            let _ = talks.ask(action, key, &who).refused(403, "forbidden");
        }
    }
    for key in [root, sister] {
        assert_eq!(talks.status(key)["state"], "idle");
    }
    // It cannot say that it is another, either.
    let turn = talks.turn(child, &inside(&talks, "close agent:a:sister --as agent:a:root 2>&1"));
    assert!(text(&turn["text"]).contains("forbidden"), "{turn}");
    let turn = talks.turn(root, &inside(&talks, "close agent:a:sister"));
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&json!("done"), &json!("closed agent:a:sister\n")),
        "{turn}"
    );
    assert_eq!(talks.status(sister)["state"], "closed");
    talks.finish();
}

#[test]
fn a_session_can_close_itself_from_within_its_own_run() {
    let talks = Talks::with("", "[run]\ngrace = '200ms'");
    talks.spawn_exec("root");
    talks.spawn_with("child", json!({"backend": "exec", "parent": "root"}));
    let (_, below) = begin_stubborn(&talks, "child");
    let sent = talks.send("root", &inside(&talks, "close root --reason done"));
    talks.wait_state("root", "closed");
    assert_eq!(talks.status("child")["state"], "closed");
    assert_eq!(talks.show(&below)["termination"]["reason"], "manual-cancel");
    let turn = talks.end_of("root", &sent["turnId"]);
    assert_eq!(turn["state"], "cancelled", "{turn}");
    talks.finish();
}

#[test]
fn an_asker_that_goes_away_has_the_session_closed_all_the_same() {
    let talks = Talks::with("", "[run]\ngrace = '2m'");
    talks.spawn_exec("root");
    let (_, run) = begin_stubborn(&talks, "root");
    let asker = talks.start(&["sessions", "close", "root"]);
    talks.wait_state("root", "closing");
    tenure_it::proc::send(asker.pid(), Signal::KILL);
    talks.ask_to_cancel(&["--now", &run]);
    talks.wait_state("root", "closed");
    assert_eq!(talks.show(&run)["termination"]["reason"], "manual-cancel");
    talks.finish();
}

#[test]
fn of_many_who_close_and_send_at_once_nobody_hangs_and_nothing_is_left() {
    let talks = Talks::of(Install::new().with_daemon(), "", "[run]\ngrace = '100ms'");
    for key in ["root", "child"] {
        let parent = (key == "child").then_some("root");
        talks.spawn_with(key, json!({"agent": "fake", "parent": parent}));
    }
    std::thread::scope(|scope| {
        let talks = &talks;
        for n in 0..6 {
            let key = if n % 2 == 0 { "root" } else { "child" };
            scope.spawn(move || talks.ask("send", key, &json!({"text": format!("!await never{n}")})));
        }
        for key in ["root", "child", "root"] {
            scope.spawn(move || talks.does("close", key, &json!({})));
        }
    });
    for key in ["root", "child"] {
        assert_eq!(talks.status(key)["state"], "closed");
        let turns = talks.history(key);
        assert!(turns.iter().all(|turn| turn["state"] == "cancelled"), "{turns:?}");
    }
    eventually("no run is live", || {
        let output = talks.tenure(&["ps", "--json"]);
        let live: Value = serde_json::from_slice(&output.stdout).ok()?;
        live.as_array()?.is_empty().then_some(())
    });
    talks.finish();
}
