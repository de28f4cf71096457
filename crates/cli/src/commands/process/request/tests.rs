//! Requests for command lines, in the order of the words.

use super::*;
use crate::args::Command;
use crate::args::words;
use serde_json::{Value, json};

fn asked_with(line: &[&str], piped: Option<&str>) -> Result<Value, u8> {
    let Ok(Command::Process(args)) = words(&[&["tenure", "process"], line].concat()) else {
        panic!("{line:?} is not understood")
    };
    let piped = || Ok(piped.map(str::to_owned));
    let requests = build(&args.action.expect("an action"), &piped).map_err(|failure| failure.code())?;
    Ok(serde_json::to_value(requests).unwrap())
}

fn asked(line: &[&str]) -> Value {
    asked_with(line, None).unwrap()
}

#[test]
fn each_action_makes_its_request() {
    let rows: [(&[&str], Value); 11] = [
        (&["list", "--limit", "3"], json!({"action": "list", "limit": 3})),
        (&["poll", "3f2"], json!({"action": "poll", "runId": "3f2"})),
        (
            &["log", "3f2", "--offset", "0", "--limit", "9"],
            json!({"action": "log", "runId": "3f2", "offset": 0, "limit": 9}),
        ),
        (
            &["write", "3f2", "y\n", "--eof"],
            json!({"action": "write", "runId": "3f2", "data": "y\n", "eof": true}),
        ),
        (&["submit", "3f2"], json!({"action": "submit", "runId": "3f2"})),
        (&["paste", "3f2", "a b"], json!({"action": "paste", "runId": "3f2", "text": "a b"})),
        (
            &["paste", "3f2", "a", "--bracketed"],
            json!({"action": "paste", "runId": "3f2", "text": "a", "bracketed": true}),
        ),
        (
            &["paste", "3f2", "a", "--no-bracket"],
            json!({"action": "paste", "runId": "3f2", "text": "a", "bracketed": false}),
        ),
        (&["resize", "3f2", "90x20"], json!({"action": "resize", "runId": "3f2", "cols": 90, "rows": 20})),
        (&["clear", "3f2"], json!({"action": "clear", "runId": "3f2"})),
        (&["remove", "3f2"], json!({"action": "remove", "runId": "3f2"})),
    ];
    for (line, request) in rows {
        assert_eq!(asked(line), json!([request]), "{line:?}");
    }
}

#[test]
fn typed_words_keep_their_order() {
    let line =
        ["send-keys", "3f2", "Escape", "--literal", ":w", "--literal", "q", "--hex", "0a", "Enter", "Up"];
    assert_eq!(
        asked(&line),
        json!([
            {"action": "send-keys", "runId": "3f2", "keys": ["Escape"]},
            {"action": "send-keys", "runId": "3f2", "literal": ":wq", "hex": ["0a"], "keys": ["Enter", "Up"]},
        ])
    );
}

#[test]
fn piped_text_is_used_unless_the_command_line_has_text() {
    assert_eq!(asked_with(&["write", "3f2"], Some("piped")).unwrap()[0]["data"], "piped");
    assert_eq!(asked_with(&["write", "3f2", "word"], Some("piped")).unwrap()[0]["data"], "word");
    assert_eq!(asked_with(&["paste", "3f2"], Some("piped")).unwrap()[0]["text"], "piped");
    assert_eq!(asked_with(&["write", "3f2", "--eof"], None).unwrap()[0]["eof"], true);
    assert_eq!(asked_with(&["write", "3f2"], None), Err(2));
    assert_eq!(asked_with(&["paste", "3f2"], None), Err(2));
}

#[test]
fn a_long_text_is_written_in_pieces_and_ends_once() {
    let text = "é".repeat(CHUNK);
    let requests = asked_with(&["write", "3f2", "--eof"], Some(&text)).unwrap();
    let requests = requests.as_array().unwrap();
    let whole: String = requests.iter().filter_map(|request| request["data"].as_str()).collect();
    assert_eq!(whole, text);
    let ends: Vec<bool> = requests.iter().map(|request| request["eof"] == true).collect();
    assert_eq!(ends, [false, true]);
}
