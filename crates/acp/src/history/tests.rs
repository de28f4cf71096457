use super::*;

fn update(value: Value) -> SessionUpdate {
    serde_json::from_value(value).unwrap()
}

fn says(kind: &str, text: &str) -> SessionUpdate {
    update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
}

fn tool(kind: &str, id: &str, status: &str) -> SessionUpdate {
    update(json!({"sessionUpdate": kind, "toolCallId": id, "title": "make", "status": status}))
}

fn taken(
    history: &mut History,
    updates: impl IntoIterator<Item = SessionUpdate>,
) -> Vec<(Option<u64>, Kind, Value)> {
    updates.into_iter().for_each(|update| assert!(history.take(update)));
    history.changes().into_iter().map(|change| (change.number, change.kind, change.body)).collect()
}

#[test]
fn pieces_of_a_message_are_one_entry_until_something_else_happens() {
    let mut history = History::default();
    let found = taken(
        &mut history,
        [
            says("agent_thought_chunk", "hm"),
            says("agent_message_chunk", "Hello, "),
            says("agent_message_chunk", "world"),
            tool("tool_call", "t", "pending"),
            says("agent_message_chunk", "done"),
        ],
    );
    let texts: Vec<(Kind, &str)> =
        found.iter().map(|(_, kind, body)| (*kind, body["text"].as_str().unwrap_or("-"))).collect();
    assert_eq!(
        texts,
        [(Kind::Thought, "hm"), (Kind::Agent, "Hello, world"), (Kind::Tool, "-"), (Kind::Agent, "done")]
    );
}

#[test]
fn what_was_recorded_is_told_again_only_when_it_changes() {
    let mut history = History::default();
    assert_eq!(
        taken(&mut history, [says("agent_message_chunk", "a"), tool("tool_call", "t", "pending")]).len(),
        2
    );
    history.recorded([1, 2]);
    assert_eq!(history.changes(), []);
    let found =
        taken(&mut history, [tool("tool_call_update", "t", "completed"), says("agent_message_chunk", "b")]);
    assert_eq!(
        (found[0].0, found[0].1, found[0].2["status"].as_str()),
        (Some(2), Kind::Tool, Some("completed"))
    );
    assert_eq!((found[1].0, found[1].2["text"].as_str()), (None, Some("b")));
    history.recorded([3]);
    let found = taken(&mut history, [says("agent_message_chunk", "c")]);
    assert_eq!((found[0].0, found[0].2["text"].as_str()), (Some(3), Some("bc")), "the same text grows");
}

#[test]
fn after_a_crash_the_same_tool_call_and_plan_go_on() {
    let mut history = History::default();
    let plan = || update(json!({"sessionUpdate": "plan", "entries": []}));
    let before = taken(
        &mut history,
        [plan(), tool("tool_call", "t", "in_progress"), says("agent_message_chunk", "a")],
    );
    let bodies: Vec<(u64, &str, String)> =
        (1..).zip(&before).map(|(number, (_, kind, body))| (number, kind.word(), body.to_string())).collect();
    let mut next =
        History::resumed(bodies.iter().map(|(number, kind, body)| (*number, *kind, body.as_str())));
    assert_eq!(next.changes(), []);
    let found =
        taken(&mut next, [tool("tool_call_update", "t", "failed"), plan(), says("agent_message_chunk", "b")]);
    assert_eq!(found.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [Some(1), Some(2), None]);
}

#[test]
fn a_long_text_becomes_several_entries_and_another_message_another_one() {
    let mut history = History::default();
    let long = "x".repeat(TEXT);
    let found = taken(&mut history, [says("agent_message_chunk", &long), says("agent_message_chunk", "y")]);
    assert_eq!(found.len(), 2);
    let mut history = History::default();
    let piece = |id: &str| {
        update(
            json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": id}}),
        )
    };
    assert_eq!(taken(&mut history, [piece("a"), piece("b"), piece("b")]).len(), 2);
}

#[test]
fn what_tools_say_is_kept_in_a_bearable_size() {
    let mut history = History::default();
    let big = "é".repeat(PIECE);
    let call = update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "edit", "rawOutput": {"all": big},
        "content": [{"type": "content", "content": {"type": "text", "text": big}},
                    {"type": "diff", "path": "/a", "oldText": big, "newText": "b"},
                    {"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": "A".repeat(9 * PIECE)}}]}),
    );
    let found = taken(&mut history, [call]);
    let body = &found[0].2;
    assert!(body.to_string().len() < 4 * PIECE, "{}", body.to_string().len());
    assert_eq!(body["content"].as_array().unwrap().len(), 2);
    assert!(body["content"][0]["content"]["text"].as_str().unwrap().contains(" bytes) …"));
}

#[test]
fn an_update_of_an_unknown_tool_call_is_its_beginning() {
    let found = taken(&mut History::default(), [tool("tool_call_update", "t", "in_progress")]);
    assert_eq!((found[0].0, found[0].2["title"].as_str()), (None, Some("make")));
}

#[test]
fn what_is_no_part_of_what_happened_comes_to_nothing() {
    let mut history = History::default();
    assert!(
        !history.take(update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []})))
    );
    assert_eq!(history.changes(), []);
    assert!(history.take(update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}))));
    history.recorded([1]);
    assert!(history.open.is_empty(), "what is settled is not kept in memory");
}

#[test]
fn another_turn_has_a_plan_and_a_usage_of_its_own_and_a_tool_call_of_before_goes_on() {
    let mut history = History::default();
    let plan = || update(json!({"sessionUpdate": "plan", "entries": []}));
    let usage = || update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}));
    let numbers = |found: &[(Option<u64>, Kind, Value)]| found.iter().map(|one| one.0).collect::<Vec<_>>();
    let first = taken(&mut history, [plan(), usage(), tool("tool_call", "t", "in_progress")]);
    assert_eq!(numbers(&first), [None; 3]);
    history.recorded([1, 2, 3]);
    history.next_turn();
    assert_eq!(history.changes(), []);
    let second = taken(&mut history, [plan(), usage(), tool("tool_call_update", "t", "completed")]);
    assert_eq!(numbers(&second), [Some(3), None, None]);
}
