//! Turns of a well-behaved ACP agent: its messages and actions are in the history, in order, and its process is kept
//! from turn to turn.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY, description};
use tenure_it::api::text;
use tenure_it::install::Install;

/// The kinds of a session's entries, in order.
fn kinds(acp: &AcpFixture, key: &str) -> Vec<String> {
    acp.entries(key).iter().map(|entry| text(&entry["kind"])).collect()
}

#[test]
fn all_turns_use_one_process_and_one_conversation() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let first = acp.describe_itself(KEY);
    let second = acp.describe_itself(KEY);
    for answer in [&first, &second] {
        assert_eq!((&answer["prompt"], &answer["loaded"]), (&"hello".into(), &false.into()), "{answer}");
        assert_eq!(answer["cwd"], acp.dir().to_str().expect("UTF-8"));
    }
    assert_eq!((&first["pid"], &first["session"]), (&second["pid"], &second["session"]));
    assert_eq!((&first["turn"], &second["turn"]), (&1.into(), &2.into()));
    assert_eq!(acp.methods(), ["initialize", "session/new", "session/prompt", "session/prompt"]);
    let hello = &acp.received()[0]["params"];
    assert_eq!(hello["protocolVersion"], 1, "{hello}");
    let can = &hello["clientCapabilities"];
    assert_eq!(can["fs"], json!({"readTextFile": true, "writeTextFile": true}), "{can}");
    assert_eq!(can["terminal"], true, "{can}");
    let adapter = acp.adapter(KEY);
    assert!(text(&adapter["agent"]).contains("scripted-acp"), "{adapter}");
    assert_eq!((&adapter["agentSessionId"], &adapter["resumes"]), (&first["session"], &false.into()));
    assert_eq!(acp.status(KEY)["agentSessionId"], first["session"]);
    assert_eq!(acp.history(KEY).len(), 2);
    acp.finish();
}

#[test]
fn an_agent_without_a_command_uses_its_adapter() {
    let acp = AcpFixture::new(&[]);
    acp.spawn_with("agent:helper:plain", json!({"agent": "helper"}));
    assert_eq!(acp.status("agent:helper:plain")["backendId"], "acp");
    let _ = acp.describe_itself("agent:helper:plain");
    // An agent with a command runs it unless the request says otherwise; this one has no adapter.
    let why =
        acp.ask("spawn", "agent:fake:1", &json!({"agent": "fake", "backend": "acp"})).refused(422, "invalid");
    assert!(why.contains("fake"), "{why}");
    acp.finish();
}

#[test]
fn the_history_records_everything_in_order() {
    let acp = AcpFixture::new(&["--modes"]);
    acp.open(KEY);
    let words = "!thought first it thinks\n!pieces 5 then it says something\n!tool one edit Mends a file\n\
                 !tool-text one half way\n!plan completed:look|pending:mend\n!tool-diff one a.txt old new\n\
                 !tool-end one completed\n!plan completed:look|completed:mend\n!usage 5 100\n!mode act\n!picture\n\
                 !usage 7 100\n!title no part of it\n!say and more";
    let turn = acp.turn_ok(KEY, words);
    assert_eq!(
        kinds(&acp, KEY),
        ["user", "thought", "agent", "tool", "plan", "usage", "mode", "agent", "agent"],
        "{:#?}",
        acp.entries(KEY)
    );
    let entries = acp.entries(KEY);
    let body = |at: usize| &entries[at]["body"];
    assert_eq!(body(0)["text"], words);
    assert_eq!(body(1)["text"], "first it thinks");
    assert_eq!(body(2)["text"], "then it says something", "its pieces are one");
    let tool = body(3);
    assert_eq!(
        (&tool["toolCallId"], &tool["title"], &tool["kind"], &tool["status"]),
        (&"one".into(), &"Mends a file".into(), &"edit".into(), &"completed".into()),
        "{tool}"
    );
    assert_eq!(
        tool["content"],
        json!([{"type": "diff", "path": "a.txt", "oldText": "old", "newText": "new"}])
    );
    assert_eq!(tool["rawInput"], json!({"asked": "one"}));
    assert_eq!(
        body(4)["entries"][1],
        json!({"content": "mend", "priority": "medium", "status": "completed"})
    );
    assert_eq!((&body(5)["used"], &body(5)["size"]), (&7.into(), &100.into()), "the newest counts");
    assert_eq!(body(6)["mode"], "act");
    assert_eq!(body(7)["content"]["type"], "image", "{}", body(7));
    assert_eq!(body(8)["text"], "and more");
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!((&entry["number"], &entry["turnId"]), (&(at + 1).into(), &turn["turnId"]), "{entry}");
    }
    assert_eq!(acp.adapter(KEY)["mode"], "act", "the mode that the agent chose by itself");
    acp.finish();
}

#[test]
fn every_stop_reason_is_distinguished() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    for (word, stop, state) in [
        ("end_turn", "end-turn", "done"),
        ("max_tokens", "max-tokens", "failed"),
        ("max_turn_requests", "max-turn-requests", "failed"),
        ("refusal", "refusal", "failed"),
        ("cancelled", "cancelled", "cancelled"),
    ] {
        let turn = acp.turn(KEY, &format!("!say so far\n!stop {word}"));
        assert_eq!((&turn["stop"], &turn["state"]), (&stop.into(), &state.into()), "{turn}");
        assert_eq!(turn["text"], "so far", "{turn}");
    }
    let turn = acp.turn(KEY, "!error -32603 out of credit");
    assert_eq!((&turn["stop"], &turn["state"]), (&"error".into(), &"failed".into()), "{turn}");
    assert!(text(&turn["error"]).contains("out of credit"), "{turn}");
    assert_eq!((acp.describe_itself(KEY)["turn"].clone(), acp.starts().len()), (7.into(), 1), "it continues");
    acp.finish();
}

#[test]
fn the_history_is_read_in_pages_from_either_end() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let words =
        (1..=20).fold(String::new(), |words, n| words + &format!("!say said {n}\n!thought thought {n}\n"));
    let _ = acp.turn_ok(KEY, &words);
    let all = acp.entries(KEY);
    assert_eq!(all.len(), 41, "{all:#?}");
    for (newest_first, limit) in [(false, 7), (true, 7), (false, 40), (true, 1)] {
        let (mut read, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/sessions/{KEY}/entries?limit={limit}&newestFirst={newest_first}{after}");
            let page = acp.api.get(&path).is(200).json();
            let entries = page["entries"].as_array().expect("entries");
            assert!(entries.len() <= limit, "{page}");
            read.extend(entries.clone());
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        if newest_first {
            read.reverse();
        }
        assert_eq!(read, all);
    }
    let page = acp.expect_ok("entries", KEY, &json!({"maxBytes": 300}));
    let few = page["entries"].as_array().expect("entries").len();
    assert!((1..20).contains(&few) && page["next"].is_string(), "{page}");
    let nothing = acp.ask("entries", KEY, &json!({"after": "nonsense"}));
    assert_eq!(nothing.head.status, 422, "{}", nothing.text());
    acp.finish();
}

#[test]
fn modes_and_options_are_set_and_shown() {
    let acp = AcpFixture::with(&["--modes", "--options"], "mode = 'act'\nmodel = 'large'", "");
    acp.open(KEY);
    let answer = acp.describe_itself(KEY);
    assert_eq!((&answer["mode"], &answer["options"]["model"]), (&"act".into(), &"large".into()), "{answer}");
    let reply = acp.expect_ok("set-mode", KEY, &json!({"agentMode": "ask"}));
    assert_eq!(reply["session"]["adapter"]["mode"], "ask", "{reply}");
    let path = |verb: &str| format!("/v1/sessions/{KEY}/{verb}");
    let reply = acp.api.post(&path("option"), &json!({"option": "effort", "value": "high"})).is(200).json();
    let options = reply["session"]["adapter"]["options"].as_array().expect("options");
    assert!(options.iter().any(|one| one["id"] == "effort" && one["currentValue"] == "high"), "{reply}");
    let answer = acp.describe_itself(KEY);
    assert_eq!((&answer["mode"], &answer["options"]["effort"]), (&"ask".into(), &"high".into()), "{answer}");
    let _ = acp.api.post(&path("mode"), &json!({"mode": "act"})).is(200);
    // The agent decides.
    for asked in [json!({"agentMode": "fly"}), json!({"agentMode": ""})] {
        let refused = acp.ask("set-mode", KEY, &asked);
        assert!(refused.head.status >= 400, "{}", refused.text());
    }
    let refused = acp.ask("set-option", KEY, &json!({"option": "colour", "value": "red"}));
    assert!(refused.head.status >= 400, "{}", refused.text());
    assert_eq!(acp.adapter(KEY)["mode"], "act");
    let names: Vec<String> =
        acp.adapter(KEY)["modes"].as_array().expect("modes").iter().map(|mode| text(&mode["id"])).collect();
    assert_eq!(names, ["ask", "act"]);
    acp.finish();
}

#[test]
fn a_requested_model_overrides_the_configured_one() {
    let acp = AcpFixture::with(&["--options"], "model = 'large'", "");
    acp.open_with(KEY, json!({"model": "small"}));
    assert_eq!(acp.describe_itself(KEY)["options"]["model"], "small");
    acp.finish();
}

#[test]
fn an_agent_that_needs_a_login_gets_the_configured_one() {
    let acp = AcpFixture::with(&["--auth", "browser", "--auth", "key", "--needs-auth"], "auth = 'key'", "");
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    let login =
        acp.received().into_iter().find(|message| message["method"] == "authenticate").expect("a login");
    assert_eq!(login["params"]["methodId"], "key");
    acp.finish();
}

#[test]
fn an_agent_without_a_configured_login_fails_and_names_its_methods() {
    let acp = AcpFixture::with(&["--auth", "browser", "--auth", "key", "--needs-auth"], "", "");
    acp.open(KEY);
    let turn = acp.turn(KEY, "hello");
    assert_eq!((&turn["state"], &turn["stop"]), (&"failed".into(), &"error".into()), "{turn}");
    let error = text(&turn["error"]);
    for words in ["login", "browser", "key", "acp.auth"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    acp.finish();
}

#[test]
fn a_session_for_one_turn_is_closed_with_its_adapter_after_it() {
    // The agent records its messages, even during its stop.
    let acp = AcpFixture::new(&["--close", "--ignore-term"]);
    let spawned = acp.open_with(KEY, json!({"mode": "oneshot", "task": "only"}));
    let turn = acp.end_of(KEY, &spawned["sent"]["turnId"]);
    assert_eq!(description(&turn)["prompt"], "only");
    acp.wait_state(KEY, "closed");
    assert_eq!(acp.methods().last().map(String::as_str), Some("session/close"), "{:?}", acp.methods());
    assert_eq!(acp.entries(KEY).len(), 2, "the history is kept");
    acp.finish();
}

#[test]
fn an_adapter_gets_the_configured_environment() {
    let install =
        Install::new().with_env("PASSED_WORD", "yes").with_env("PASSED_SECRET", "no").with_env("OTHER", "no");
    let acp = AcpFixture::without_daemon(
        install,
        &[],
        "env-remove = ['PASSED_SECRET']\nenv = { HELPER_COLOUR = 'never' }",
        "",
    );
    acp.start_daemon();
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, "!env");
    let env = &acp.notes("env")[0];
    assert_eq!((&env["HELPER_COLOUR"], &env["PASSED_WORD"]), (&"never".into(), &"yes".into()), "{env}");
    assert_eq!((&env["PASSED_SECRET"], &env["OTHER"]), (&Value::Null, &Value::Null), "{env}");
    for name in ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_SESSION_KEY"] {
        assert!(env[name].is_string(), "{name}: {env}");
    }
    acp.finish();
}
