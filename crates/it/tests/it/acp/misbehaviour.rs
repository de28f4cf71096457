//! ACP agents that misbehave: a session, a turn's true end and the agent's messages survive all of it.

use serde_json::json;
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::text;
use tenure_it::install::actor;
use tenure_it::{WAIT_LIMIT, eventually, proc};

#[test]
fn junk_odd_ids_and_second_answers_are_ignored() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let turn = acp.turn_ok(KEY, "!junk\n!say one \n!junk\n!unasked\n!say two\n!text-id");
    assert_eq!(turn["text"], "one two", "{turn}");
    let _ = acp.turn_ok(KEY, "!twice\n!say three");
    let _ = acp.turn_ok(KEY, "!say four");
    assert_eq!((acp.agent_text(KEY), acp.starts().len()), ("one twothreefour".to_owned(), 1));
    acp.finish();
}

#[test]
fn a_huge_message_is_kept_and_an_oversized_one_names_its_omitted_middle() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let turn = acp.turn_ok(KEY, "!huge 1000000\n!say end");
    assert!(text(&turn["text"]).starts_with("xxx"), "the output starts with it");
    assert_eq!(acp.agent_text(KEY).len(), 1_000_003);
    let turn = acp.turn_ok(KEY, "!huge 17000000");
    assert!(text(&turn["text"]).starts_with("xxx"), "the answer is there");
    let said = acp.agent_text(KEY);
    assert!(
        said.len() > 16_000_000 && said.ends_with("xxx") && said.contains(" bytes left out"),
        "{}",
        said.len()
    );
    let notes = acp.bodies(KEY, "note");
    assert!(notes.iter().any(|note| text(&note["text"]).contains("left out")), "{notes:?}");
    let _ = acp.describe_itself(KEY);
    assert_eq!(acp.starts().len(), 1);
    acp.finish();
}

#[test]
fn an_oversized_request_is_refused_without_any_effect() {
    let acp = AcpFixture::with(&[], "permissions = 'approve-all'", "");
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, "!write-huge large 17000000\n!say end");
    assert!(!acp.dir().join("large").exists(), "a partial file was written");
    let answer = &acp.answers("write large")[0];
    assert!(answer["error"].to_string().contains("too long"), "{answer}");
    acp.finish();
}

#[test]
fn a_silent_agent_times_out_and_a_working_one_does_not() {
    let table = "permissions = 'approve-all'\nno-output-timeout = '2s'";
    let acp = AcpFixture::with(&["--load"], table, "[run]\ngrace = '200ms'");
    acp.open(KEY);
    for silent in ["!say begin \n!hang", "!say begin \n!terminal sleep 600\n!exited"] {
        let turn = acp.turn(KEY, silent);
        assert_eq!((&turn["state"], &turn["stop"]), (&"timed-out".into(), &"timed-out".into()), "{turn}");
        let error = text(&turn["error"]);
        for sign in ["helper gave no output for 2", "agents.helper.acp.no-output-timeout"] {
            assert!(error.contains(sign), "{sign}: {error}");
        }
    }
    let key = "agent:helper:works";
    acp.open(key);
    let work = format!("!terminal '{}' --quiet silent-cpu 5\n!exited\n!say done", actor().display());
    assert_eq!(acp.turn_ok(key, &work)["text"], "done");
    acp.finish();
}

#[test]
fn an_agent_that_dies_in_a_turn_is_reported_with_its_exit_and_last_stderr() {
    let acp = AcpFixture::new(&["--load"]);
    acp.open(KEY);
    let session = acp.describe_itself(KEY)["session"].clone();
    for (words, signs) in [
        (
            "!say half \n!stderr the disk is full\n!exit 3 good bye",
            &["3", "good bye", "the disk is full"][..],
        ),
        ("!say half \n!half 7 in the middle", &["7", "in the middle"]),
        ("!say half \n!stderr out of memory\n!become die 9", &["SIGKILL", "out of memory"]),
        ("!say half \n!exit 0 left early", &["0", "left early"]),
    ] {
        let turn = acp.turn(KEY, words);
        assert_eq!((&turn["state"], &turn["stop"]), (&"failed".into(), &"crashed".into()), "{words}: {turn}");
        let error = text(&turn["error"]);
        for sign in signs {
            assert!(error.contains(sign), "{sign}: {error}");
        }
        assert_eq!(turn["text"], "half ", "{turn}");
        eventually("its end is known", || acp.status(KEY)["adapter"].is_null().then_some(()));
        let after = acp.describe_itself(KEY);
        assert_eq!((&after["session"], &after["loaded"]), (&session, &true.into()), "{after}");
    }
    assert_eq!(acp.starts().len(), 5);
    let prompts = acp.bodies(KEY, "user").len();
    assert_eq!(prompts, 9, "a replay is not part of the history");
    acp.finish();
}

#[test]
fn an_agent_that_dies_with_escaped_helpers_is_reported_by_its_exit_code() {
    let acp = AcpFixture::with(&[], "permissions = 'approve-all'", "[run]\ngrace = '200ms'");
    acp.open(KEY);
    // The shell exits once its helper has left the session: before that, the helper would be a leftover.
    let helper =
        "setsid -f sh -c 'echo > apart; exec sleep 600'; until test -e apart; do sleep 0.02; done; exit 5";
    let words = format!("!child setsid ignore-term sleep\n!terminal {helper}\n!exited\n!exit 3 good bye");
    let turn = acp.turn(KEY, &words);
    assert_eq!((&turn["state"], &turn["stop"]), (&"failed".into(), &"crashed".into()), "{turn}");
    let error = text(&turn["error"]);
    assert!(error.contains("ended: exit 3;") && !error.contains("failed"), "{error}");
    assert_eq!(acp.answers("exited")[0]["result"]["exitCode"], 5);
    let runs = acp.api.get(&format!("/v1/runs?all=true&session={KEY}")).is(200).json();
    let runs = runs["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2, "{runs:#?}");
    for run in runs {
        let ending = &run["termination"];
        assert_eq!((&ending["reason"], &ending["confirmed"]), (&"exit".into(), &true.into()), "{ending}");
        assert_eq!(ending["escapees"].as_array().map(Vec::len), Some(1), "{ending}");
    }
    acp.finish();
}

#[test]
fn an_agent_that_cannot_load_starts_a_new_conversation_after_its_death_and_says_so() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let before = acp.describe_itself(KEY);
    let _ = acp.turn(KEY, "!exit 3 gone");
    let turn = acp.turn(KEY, "hello");
    assert_eq!(turn["stop"], "end-turn", "{turn}");
    let after = tenure_it::acp_fixture::description(&turn);
    assert_ne!(after["session"], before["session"]);
    let notes = acp.bodies(KEY, "note");
    assert!(!notes.is_empty(), "a new conversation is reported: {:#?}", acp.entries(KEY));
    assert_eq!(acp.status(KEY)["agentSessionId"], after["session"]);
    acp.finish();
}

#[test]
fn an_idle_agent_that_dies_is_replaced_by_the_next_turn() {
    let acp = AcpFixture::new(&["--load"]);
    acp.open(KEY);
    let session = acp.describe_itself(KEY)["session"].clone();
    let first = acp.process(0);
    proc::kill(first.pid);
    first.wait_dead(WAIT_LIMIT);
    eventually("its end is known", || acp.status(KEY)["adapter"].is_null().then_some(()));
    let after = acp.describe_itself(KEY);
    assert_eq!((&after["session"], &after["loaded"]), (&session, &true.into()));
    acp.finish();
}

#[test]
fn a_conversation_unknown_to_the_agent_starts_anew_and_says_so() {
    let acp = AcpFixture::new(&["--load"]);
    acp.open(KEY);
    let session = text(&acp.describe_itself(KEY)["session"]);
    let _ = acp.turn(KEY, "!exit 3 gone");
    std::fs::remove_file(acp.dir().join(format!("{session}.talk"))).expect("a session");
    let after = acp.describe_itself(KEY);
    assert_ne!(after["session"], session.as_str());
    let notes = acp.bodies(KEY, "note");
    assert_eq!(notes.len(), 1, "{notes:#?}");
    let note = text(&notes[0]["text"]);
    assert!(note.contains("this is a new session") && note.contains("Resource not found"), "{note}");
    acp.finish();
}

#[test]
fn an_agent_that_fails_to_start_is_reported_with_the_reason() {
    for (flags, signs) in [
        (&["--crash", "5"][..], &["5", "the agent will not start"][..]),
        (&["--protocol", "99"], &["99"]),
        (&["--refuse", "initialize"], &["the agent refuses"]),
        (&["--refuse", "session/new"], &["the agent refuses"]),
    ] {
        let acp = AcpFixture::with(flags, "", "[run]\ngrace = '200ms'");
        acp.open(KEY);
        let turn = acp.turn(KEY, "hello");
        assert_eq!(turn["state"], "failed", "{turn}");
        let error = text(&turn["error"]);
        for sign in signs {
            assert!(error.contains(sign), "{flags:?}: {sign}: {error}");
        }
        assert!(error.contains("helper"), "{error}");
        assert_eq!(acp.status(KEY)["state"], "idle");
        acp.finish();
    }
}

#[test]
fn an_agent_that_is_not_installed_is_named_with_a_remedy() {
    let acp = AcpFixture::with(
        &[],
        "",
        "[agents.gone.acp]\ncommand = 'no-such-agent'\ninstall = 'get it from a shop'",
    );
    acp.spawn_with("agent:gone:1", json!({}));
    let turn = acp.turn("agent:gone:1", "hello");
    let error = text(&turn["error"]);
    for words in ["gone", "no-such-agent", "get it from a shop"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    acp.finish();
}

#[test]
fn a_turn_fails_if_the_agent_never_answers_at_its_start() {
    for method in ["initialize", "session/new"] {
        let acp = AcpFixture::with(&["--mute", method], "timeout = '700ms'", "[run]\ngrace = '200ms'");
        acp.open(KEY);
        let turn = acp.turn(KEY, "hello");
        assert_eq!((&turn["state"], &turn["stop"]), (&"timed-out".into(), &"timed-out".into()), "{turn}");
        assert!(text(&turn["error"]).contains("helper"), "{turn}");
        acp.wait_starts(1);
        let closed = acp.close(KEY);
        assert_eq!(closed["unconfirmed"], json!([]), "{closed}");
        acp.process_is_gone(0);
        acp.finish();
    }
}

#[test]
fn a_turn_waits_for_a_slow_start_and_can_be_cancelled() {
    let acp = AcpFixture::with(&["--slow"], "", "[run]\ngrace = '200ms'");
    acp.open(KEY);
    let sent = acp.send(KEY, "hello");
    acp.wait_starts(1);
    let _ = acp.expect_ok("cancel", KEY, &json!({}));
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["state"], "cancelled");
    assert_eq!(acp.times("session/prompt"), 0, "a cancelled message is not sent");
    acp.release("started");
    let _ = acp.describe_itself(KEY);
    acp.finish();
}

#[test]
fn an_agent_that_ignores_stdin_eof_and_sigterm_is_killed() {
    let acp = AcpFixture::with(
        &["--ignore-eof", "--ignore-term", "--close", "--mute", "session/close"],
        "",
        "[run]\ngrace = '200ms'",
    );
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    let first = acp.process(0);
    let closed = acp.close(KEY);
    assert_eq!(closed["unconfirmed"], json!([]), "{closed}");
    assert!(first.is_dead(), "a closed session stays closed");
    assert_eq!(acp.times("session/close"), 1);
    acp.finish();
}

#[test]
fn stderr_of_an_agent_is_not_parsed_as_messages() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let line = r#"!stderr {"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#;
    let turn = acp.turn_ok(KEY, &format!("{line}\n!say fine"));
    assert_eq!(turn["text"], "fine");
    acp.finish();
}
