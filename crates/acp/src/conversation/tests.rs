use super::*;
use crate::schema::{ErrorCode, PromptRequest};
use serde_json::json;

fn message(value: &serde_json::Value) -> Message {
    Message::read(value.to_string().as_bytes()).unwrap().remove(0)
}

fn prompt(conversation: &mut Conversation) -> OutgoingRequest {
    conversation.ask(Verb::Prompt, &PromptRequest::new("s", Vec::new()))
}

#[test]
fn an_answer_is_told_what_it_answers_and_counts_once() {
    let mut conversation = Conversation::default();
    let asked = prompt(&mut conversation);
    assert!(asked.line.ends_with('\n') && asked.line.contains("\"session/prompt\""), "{}", asked.line);
    assert!(conversation.waits_for(Verb::Prompt));
    let answer = json!({"jsonrpc": "2.0", "id": asked.id, "result": {"stopReason": "end_turn"}});
    assert!(matches!(
        conversation.receive(message(&answer), 0),
        Incoming::Answered { verb: Verb::Prompt, id, answer: Ok(_) } if id == asked.id
    ));
    assert!(!conversation.waits_for(Verb::Prompt));
    assert!(matches!(
        conversation.receive(message(&answer), 0),
        Incoming::IgnoreReason(IgnoreReason::Unasked(_))
    ));
}

#[test]
fn an_id_that_comes_back_as_text_is_the_same_id() {
    let mut conversation = Conversation::default();
    let asked = prompt(&mut conversation);
    let answer = json!({"jsonrpc": "2.0", "id": asked.id.to_string(), "error": {"code": 1, "message": "no"}});
    assert!(matches!(conversation.receive(message(&answer), 0), Incoming::Answered { answer: Err(_), .. }));
}

#[test]
fn what_the_agent_asks_is_answered_once_under_its_own_id() {
    let mut conversation = Conversation::default();
    let asks = json!({"jsonrpc": "2.0", "id": "q", "method": "fs/read_text_file",
                      "params": {"sessionId": "s", "path": "/a"}});
    let Incoming::Request(asked) = conversation.receive(message(&asks), 0) else { panic!("it asks") };
    assert!(matches!(asked.want(), ParsedRequest::ReadFile(_)));
    assert!(matches!(
        conversation.receive(message(&asks), 0),
        Incoming::IgnoreReason(IgnoreReason::Repeated(_))
    ));
    let line = conversation.answer(&asked.id, Ok(raw(&json!({"content": "x"})))).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"content\":\"x\"}}\n");
    assert_eq!(conversation.answer(&asked.id, Ok(raw(&()))), None);
}

#[test]
fn what_is_not_known_or_not_understood_is_wanted_for_nothing_but_an_error() {
    let code =
        |method: &str, params: serde_json::Value| match ParsedRequest::read(method, Some(&raw(&params))) {
            ParsedRequest::Nothing(error) => Some(error.code),
            _ => None,
        };
    assert_eq!(code("x.ai/private", json!({})), Some(ErrorCode::MethodNotFound));
    assert_eq!(code("fs/read_text_file", json!({"sessionId": 7})), Some(ErrorCode::InvalidParams));
    assert_eq!(code("terminal/output", json!({"sessionId": "s", "terminalId": "t"})), None);
}

#[test]
fn a_notification_that_is_not_known_comes_to_nothing() {
    let mut conversation = Conversation::default();
    for (said, unknown) in [
        (json!({"jsonrpc": "2.0", "method": "x/hello"}), true),
        (json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}), false),
    ] {
        let Incoming::IgnoreReason(why) = conversation.receive(message(&said), 0) else { panic!("{said}") };
        assert_eq!(matches!(why, IgnoreReason::Unknown(_)), unknown, "{why}");
    }
    let said = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}}});
    assert!(matches!(conversation.receive(message(&said), 0), Incoming::Update(_)));
}

#[test]
fn the_next_daemon_goes_on_where_the_last_one_was() {
    let mut conversation = Conversation::default();
    let first = prompt(&mut conversation);
    let asks = json!({"jsonrpc": "2.0", "id": 9, "method": "terminal/kill",
                      "params": {"sessionId": "s", "terminalId": "t"}});
    let Incoming::Request(asked) = conversation.receive(message(&asks), 0) else { panic!("it asks") };
    let mut next = Conversation::resumed(first.id, [(first.id, Verb::Prompt)], [asked.clone()]);
    assert_eq!(next.asked().count(), 1);
    assert!(next.answer(&asked.id, Ok(raw(&json!({})))).is_some());
    let answer = json!({"jsonrpc": "2.0", "id": first.id, "result": {"stopReason": "cancelled"}});
    assert!(matches!(next.receive(message(&answer), 0), Incoming::Answered { .. }));
    assert!(prompt(&mut next).id > first.id, "no id is used twice");
}
