use super::*;
use crate::args::{Command, SessionsArgs, words};
use serde_json::{Value, json};

fn args(line: &[&str]) -> Result<Box<SessionsArgs>, clap::Error> {
    match words(&[&["tenure", "sessions"], line].concat())? {
        Command::Sessions(args) => Ok(Box::new(args)),
        _ => panic!("it is another verb"),
    }
}

/// Returns the JSON of the request for a command line.
fn asked(line: &[&str]) -> Value {
    let args = args(line).unwrap();
    let request = build(&args, args.verb.as_ref().unwrap(), &|| Ok("from\nstdin\n".to_owned())).unwrap();
    serde_json::to_value(request).unwrap()
}

/// Returns the absolute form of a path on this system.
fn at(path: &str) -> String {
    std::path::absolute(path).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_spawn_request_has_the_current_directory_and_no_defaults() {
    let here = std::env::current_dir().unwrap();
    assert_eq!(asked(&["spawn", "--agent", "a"]), json!({"action": "spawn", "agent": "a", "cwd": here}));
    for place in ["x/y", "/x"] {
        assert_eq!(asked(&["spawn", "--agent", "a", "--cwd", place])["cwd"], at(place));
    }
}

#[test]
fn a_spawn_request_has_every_flag() {
    let line = "spawn --agent a --backend exec --kind subagent --mode oneshot --parent p --key k --task t --wait --label l \
                --cwd /x --model m --timeout 2s --sandbox --interaction parent-owned-background --channel c --to u \
                --thread 7 --as s --visibility self --sandboxed";
    let line: Vec<&str> = line.split_whitespace().collect();
    let request = json!({
        "action": "spawn", "agent": "a", "backend": "exec", "kind": "subagent", "mode": "oneshot", "parent": "p",
        "sessionKey": "k", "task": "t", "label": "l", "cwd": at("/x"), "model": "m", "timeoutMs": 2000, "sandbox": true,
        "interaction": "parent-owned-background", "origin": {"channel": "c", "to": "u", "thread": "7"},
        "as": "s", "visibility": "self", "sandboxed": true,
    });
    assert_eq!(asked(&line), request);
    let off = args(&["spawn", "--agent", "a", "--timeout", "0"]).unwrap();
    let refused = build(&off, off.verb.as_ref().unwrap(), &|| Ok(String::new())).unwrap_err();
    assert!(refused.code() == 2 && refused.text().contains("config.toml"), "{refused:?}");
}

#[test]
fn a_dash_means_standard_input() {
    assert_eq!(asked(&["send", "k", "-"])["text"], "from\nstdin\n");
    assert_eq!(asked(&["spawn", "--agent", "a", "--task", "-"])["task"], "from\nstdin\n");
    assert_eq!(asked(&["send", "k", "a - b"])["text"], "a - b");
}

#[test]
fn the_other_verbs_make_their_requests() {
    let list = "list --agent a --kind acp --backend cli --state idle --state busy --parent p --prefix x --limit 3 --after c";
    let list: Vec<&str> = list.split_whitespace().collect();
    for (line, request) in [
        (
            &list[..],
            json!({"action": "list", "agent": "a", "kind": "acp", "backend": "cli", "states": ["idle", "busy"],
                "parent": "p", "prefix": "x", "limit": 3, "after": "c"}),
        ),
        (&["list"], json!({"action": "list"})),
        (
            &["history", "k", "--after", "4", "--limit", "2", "--max-bytes", "1KiB", "--newest-first"],
            json!({"action": "history", "sessionKey": "k", "after": "4", "limit": 2, "maxBytes": 1024,
                "newestFirst": true}),
        ),
        (
            &["send", "k", "hello", "--when-busy", "steer", "--wait"],
            json!({"action": "send", "sessionKey": "k", "text": "hello", "whenBusy": "steer"}),
        ),
        (&["status", "k", "--as", "s"], json!({"action": "status", "sessionKey": "k", "as": "s"})),
        (
            &["--as", "s", "wait", "k", "--turn", "t"],
            json!({"action": "wait", "sessionKey": "k", "turnId": "t", "as": "s"}),
        ),
        (
            &["cancel", "k", "--visibility", "all"],
            json!({"action": "cancel", "sessionKey": "k", "visibility": "all"}),
        ),
        (
            &["close", "k", "--discard", "--reason", "r"],
            json!({"action": "close", "sessionKey": "k", "discard": true, "reason": "r"}),
        ),
    ] {
        assert_eq!(asked(line), request, "{line:?}");
    }
}

#[test]
fn an_invalid_word_is_refused_with_the_valid_ones() {
    for (line, valid) in [
        (&["spawn", "--agent", "a", "--backend", "run"][..], "acp, cli, exec"),
        (&["spawn", "--agent", "a", "--permissions", "x"], "approve-all, approve-reads, deny-all, ask"),
        (&["spawn", "--agent", "a", "--mode", "x"], "persistent, oneshot"),
        (&["spawn", "--agent", "a", "--kind", "x"], "main, acp, cli, subagent, exec"),
        (&["spawn", "--agent", "a", "--interaction", "x"], "interactive, parent-owned-background"),
        (&["list", "--kind", "x"], "main, acp, cli, subagent, exec"),
        (&["list", "--state", "open"], "idle, busy, closing, closed"),
        (&["list", "--visibility", "none"], "self, tree, agent, all"),
        (&["send", "k", "t", "--when-busy", "x"], "queue, steer, refuse"),
    ] {
        let error = args(line).unwrap_err().to_string();
        assert!(error.contains(valid), "{line:?}: {error}");
    }
}

#[test]
fn invalid_combinations_are_refused() {
    for line in [
        &["spawn", "--agent", "a", "--wait"][..],
        &["spawn", "--agent", "a", "--to", "u"],
        &["spawn", "--agent", "a", "--thread", "u"],
        &["send", "k"],
        &["history"],
        &["wait", "k", "--timeout", "soon"],
        &["history", "k", "--max-bytes", "much"],
    ] {
        assert!(args(line).is_err(), "{line:?}");
    }
    assert!(args(&["--json"]).is_ok_and(|args| args.verb.is_none() && args.json), "the list");
}
