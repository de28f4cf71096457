use super::*;
use crate::args::{Command, words};
use serde_json::{Value, json};

fn args(line: &[&str]) -> Result<Box<TasksArgs>, clap::Error> {
    match words(&[&["tenure", "tasks"], line].concat())? {
        Command::Tasks(args) => Ok(Box::new(args)),
        _ => panic!("it is another verb"),
    }
}

/// Returns the JSON of the request for a command line.
fn asked(line: &[&str]) -> Value {
    let args = args(line).unwrap();
    let all = TasksVerb::List(args.list.clone());
    serde_json::to_value(build(&args, args.verb.as_ref().unwrap_or(&all))).unwrap()
}

#[test]
fn every_verb_makes_its_request() {
    let narrowed = "--status queued --status running,lost --kind cli --owner o --limit 3 --after c";
    let narrowed: Vec<&str> = narrowed.split_whitespace().collect();
    let list = json!({"action": "list", "statuses": ["queued", "running", "lost"], "kind": "cli", "owner": "o",
        "limit": 3, "after": "c"});
    for (line, request) in [
        (&narrowed[..], list.clone()),
        (&[&["list"], &narrowed[..]].concat(), list),
        (&[], json!({"action": "list"})),
        (&["--watch"], json!({"action": "list"})),
        (&["show", "x"], json!({"action": "show", "lookup": "x"})),
        (&["show", "--watch", "x"], json!({"action": "show", "lookup": "x"})),
        (
            &["notify", "x", "state_changes"],
            json!({"action": "notify", "lookup": "x", "policy": "state_changes"}),
        ),
        (&["cancel", "x"], json!({"action": "cancel", "lookup": "x"})),
        (&["retry", "x", "--json"], json!({"action": "retry", "lookup": "x"})),
        (&["audit"], json!({"action": "audit"})),
        (&["maintenance"], json!({"action": "maintenance"})),
        (&["maintenance", "--apply"], json!({"action": "maintenance", "apply": true})),
        (
            &["--as", "s", "show", "x", "--visibility", "all", "--sandboxed"],
            json!({"action": "show", "lookup": "x", "as": "s", "visibility": "all", "sandboxed": true}),
        ),
    ] {
        assert_eq!(asked(line), request, "{line:?}");
    }
}

#[test]
fn an_invalid_word_is_refused_with_the_valid_ones() {
    for (line, valid) in [
        (&["notify", "x", "loud"][..], "done_only, state_changes, silent"),
        (&["--status", "done"], "queued, running, succeeded, failed, timed_out, cancelled, lost"),
        (&["list", "--status", "running,done"], "queued, running, succeeded"),
        (&["list", "--kind", "exec"], "run, acp, subagent, cli"),
        (&["show", "x", "--visibility", "none"], "self, tree, agent, all"),
    ] {
        let error = args(line).unwrap_err().to_string();
        assert!(error.contains(valid), "{line:?}: {error}");
    }
}

#[test]
fn invalid_combinations_are_refused() {
    for line in [
        &["show"][..],
        &["notify", "x"],
        &["notify"],
        &["cancel"],
        &["retry"],
        &["audit", "x"],
        &["cancel", "x", "--watch"],
        &["show", "x", "--status", "running"],
        &["list", "--limit", "many"],
    ] {
        assert!(args(line).is_err(), "{line:?}");
    }
    let misplaced = args(&["--status", "running", "show", "x"]).unwrap();
    let refused = crate::commands::tasks::run(&misplaced).unwrap_err();
    assert!(refused.code() == 2 && refused.text().contains("tenure tasks list"), "{refused:?}");
}
