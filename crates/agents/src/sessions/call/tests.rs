//! The fields that each action needs, without a registry.

use super::*;
use serde_json::{Value, json};
use tenure_core::problem::Code;
use tenure_core::session::SessionState;

const KEY: &str = "agent:a:main";
const NO_SESSION: &str = "sessionKey is missing: name the session";

fn read(action: &str, mut fields: Value) -> Result<SessionsCall, Refusal> {
    fields["action"] = json!(action);
    SessionsCall::read(serde_json::from_value(fields).expect("a request"))
}

fn read_of(action: &str, mut fields: Value) -> Result<SessionsCall, Refusal> {
    fields["sessionKey"] = json!(KEY);
    read(action, fields)
}

fn refused(read: Result<SessionsCall, Refusal>) -> String {
    let refusal = read.expect_err("refused");
    assert_eq!(refusal.code, Code::Invalid);
    refusal.detail
}

fn session() -> SessionKey {
    KEY.parse().expect("a key")
}

#[test]
fn every_action_but_spawn_and_list_needs_a_session() {
    for action in [
        "history",
        "entries",
        "send",
        "status",
        "wait",
        "cancel",
        "close",
        "set-mode",
        "set-option",
        "answer",
    ] {
        assert_eq!(refused(read(action, json!({}))), NO_SESSION, "{action}");
    }
}

#[test]
fn an_action_without_its_fields_is_refused() {
    let option = "option or value is missing: `status` lists the options";
    let question = "question or option is missing: `status` lists the open requests";
    for (action, fields, detail) in [
        ("send", json!({}), "text is missing: write the message to send"),
        ("send", json!({"text": " "}), "the message is empty: write the message to send"),
        ("spawn", json!({"task": ""}), "the message is empty: write the message to send"),
        ("set-mode", json!({}), "agentMode is missing: name a mode that `status` lists"),
        ("set-option", json!({"option": "model"}), option),
        ("set-option", json!({"value": "x"}), option),
        ("answer", json!({"question": "q"}), question),
        ("answer", json!({"option": "allow"}), question),
        ("history", json!({"after": "x"}), "after must be the `next` value of the previous page, a number"),
        ("entries", json!({"limit": 0}), "limit is 1 to 500"),
        ("list", json!({"after": "x"}), "after must be the `next` value of the previous page"),
        ("list", json!({"limit": 0}), "limit is 1 to 500"),
    ] {
        assert_eq!(refused(read_of(action, fields)), detail, "{action}");
    }
    let too_long = read_of("send", json!({"text": "x".repeat(MESSAGE_BYTES + 1)})).expect_err("too long");
    assert_eq!(too_long.code, Code::TooLarge);
}

#[test]
fn an_agents_backend_needs_an_agent_by_name_or_by_key() {
    let spawned = |fields| match read("spawn", fields) {
        Ok(SessionsCall::Spawn(spawn)) => spawn.backend,
        other => panic!("{other:?}"),
    };
    for (backend, of) in [("acp", "adapter"), ("cli", "command")] {
        let detail = format!("agent is missing: name the agent whose {of} runs the turns");
        assert_eq!(refused(read("spawn", json!({"backend": backend}))), detail);
    }
    let agent: AgentId = "a".parse().expect("an agent");
    let named = spawned(json!({"backend": "acp", "agent": "a"}));
    assert_eq!(named, SpawnBackend::Acp(agent.clone()));
    let of_key = spawned(json!({"backend": "cli", "sessionKey": KEY}));
    assert_eq!(of_key, SpawnBackend::Cli(agent));
    assert_eq!(spawned(json!({"backend": "exec"})), SpawnBackend::Plain(Backend::Exec));
    assert_eq!(spawned(json!({})), SpawnBackend::Default);
}

#[test]
fn a_directory_is_absolute_and_a_model_is_no_option() {
    assert_eq!(
        refused(read("spawn", json!({"cwd": "src"}))),
        "cwd \"src\" is not absolute: write an absolute path"
    );
    let dashed = refused(read("spawn", json!({"model": "-x"})));
    assert_eq!(dashed, "the model \"-x\" begins with a dash: name a model");
}

#[test]
fn an_action_keeps_exactly_its_fields() {
    let part = |side, is_first| HistoryPart { session: session(), side, is_first, limit: 50, bytes: TEXT.0 };
    for (action, fields, call) in [
        ("history", json!({}), SessionsCall::History(part(Side::After(0), true))),
        (
            "entries",
            json!({"after": "7", "newestFirst": true}),
            SessionsCall::Entries(part(Side::Before(7), false)),
        ),
        (
            "send",
            json!({"text": "x", "whenBusy": "steer"}),
            SessionsCall::Send(SendCall {
                session: session(),
                text: "x".to_owned(),
                when_busy: WhenBusy::Steer,
            }),
        ),
        ("status", json!({}), SessionsCall::Status(session())),
        (
            "wait",
            json!({"timeoutMs": u64::MAX, "foreground": true}),
            SessionsCall::Wait(WaitCall {
                session: session(),
                turn: None,
                timeout: Duration::from_millis(TURN_WAIT_MS),
                is_caller: true,
            }),
        ),
        ("cancel", json!({}), SessionsCall::Cancel(session())),
        (
            "close",
            json!({"reason": "done"}),
            SessionsCall::Close(CloseCall {
                session: session(),
                reason: Some("done".to_owned()),
                discard: false,
            }),
        ),
        (
            "set-mode",
            json!({"agentMode": "plan"}),
            SessionsCall::SetMode { session: session(), mode: "plan".to_owned() },
        ),
        (
            "set-option",
            json!({"option": "o", "value": "v"}),
            SessionsCall::SetOption { session: session(), option: "o".to_owned(), value: "v".to_owned() },
        ),
        (
            "answer",
            json!({"question": "q", "option": "allow"}),
            SessionsCall::Answer(AnswerCall {
                session: session(),
                question: "q".to_owned(),
                option: "allow".to_owned(),
            }),
        ),
    ] {
        assert_eq!(read_of(action, fields), Ok(call), "{action}");
    }
    let SessionsCall::List(query) = read("list", json!({"limit": 1000, "states": ["idle"]})).expect("a list")
    else {
        panic!("a list");
    };
    assert_eq!((query.limit, query.states), (500, vec![SessionState::Idle]));
}
