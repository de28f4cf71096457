//! Input that cannot be given is refused, and nothing is typed; what nobody reads is told of, and does not pile up.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tenure_it::agent::Agent;
use tenure_it::eventually;
use tenure_it::unmoved::Unmoved;

#[test]
fn keys_and_bytes_that_are_none_are_refused_and_nothing_is_typed() {
    let (_install, agent) = Agent::new();
    let run = agent.in_terminal("stty -echo; echo ready; exec cat -v");
    run.wait_for_line("ready");
    let refused = |rest: Value, words: &[&str]| {
        let why = run.asks("send-keys", &rest).refused(422, "invalid");
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    };
    refused(json!({"keys": ["Entr"]}), &["Entr", "Enter"]);
    refused(json!({"keys": ["Up", "PageDwn"]}), &["PageDwn", "PageDown"]);
    refused(json!({"keys": ["hello world"]}), &["hello world", "literal"]);
    refused(json!({"keys": [""]}), &["C-c"]);
    refused(json!({"keys": ["C-é"]}), &["C-é"]);
    refused(json!({"keys": ["x".repeat(100_000)]}), &["xxx"]);
    refused(json!({"literal": "typed", "keys": ["Entr"]}), &["Enter"]);
    refused(json!({"literal": "typed", "hex": ["zz"]}), &["zz", "1b"]);
    for hex in ["", "0x", "1b5", "g1", "+1", "-1", "é", "0x0x1b", "1b 5b"] {
        refused(json!({"hex": [hex]}), &["hexadecimal"]);
    }
    refused(json!({}), &["keys", "literal", "hex"]);
    refused(json!({"keys": [], "hex": [], "literal": ""}), &["keys"]);
    let why = run.asks("paste", &json!({})).refused(422, "invalid");
    assert!(why.contains("text"), "{why}");
    for (rest, field) in
        [(json!({"keys": 7}), "keys"), (json!({"keys": [7]}), "keys"), (json!({"literal": ["a"]}), "literal")]
    {
        let why = run.asks("send-keys", &rest).refused(400, "bad-request");
        assert!(why.contains(field), "{why}");
    }
    for size in [json!({"cols": 0, "rows": 0}), json!({"cols": 0, "rows": 5}), json!({"cols": 5, "rows": 0})]
    {
        run.asks("resize", &size).refused(422, "invalid");
    }
    for size in [json!({}), json!({"cols": 80})] {
        let why = run.asks("resize", &size).refused(422, "invalid");
        assert!(why.contains("cols and rows"), "{why}");
    }
    let why = run.asks("resize", &json!({"cols": 65_536, "rows": 5})).refused(400, "bad-request");
    assert!(why.contains("cols"), "{why}");
    assert_eq!((&run.screen()["cols"], &run.screen()["rows"]), (&json!(120), &json!(30)));
    run.types("all that was typed");
    run.wait_for_line("all that was typed");
    assert_eq!(run.log().replace('\r', ""), "ready\nall that was typed\n");
}

#[test]
fn a_run_on_pipes_has_no_terminal_but_takes_text() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("exec cat");
    for (action, rest) in [
        ("send-keys", json!({"keys": ["Up"]})),
        ("send-keys", json!({"keys": ["Enter"]})),
        ("send-keys", json!({"literal": "never typed", "keys": ["C-c"]})),
        ("paste", json!({"text": "never typed", "bracketed": true})),
        ("screen", json!({})),
        ("resize", json!({"cols": 80, "rows": 25})),
    ] {
        let why = run.asks(action, &rest).refused(409, "wrong-state");
        assert!(why.contains("terminal"), "{action}: {why}");
    }
    run.does("send-keys", &json!({"literal": "literal "}));
    run.does("send-keys", &json!({"hex": ["21"]}));
    run.does("paste", &json!({"text": " pasted", "bracketed": false}));
    run.does("submit", &json!({}));
    run.does("write", &json!({"eof": true}));
    run.exits(0);
    assert_eq!(run.log(), "literal ! pasted\n");
}

#[test]
fn input_that_nobody_will_read_is_refused() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("cat; exec sleep 1000");
    let why = run.asks("write", &json!({})).refused(422, "invalid");
    assert!(why.contains("data") && why.contains("eof"), "{why}");
    run.asks("write", &json!({"data": 7})).refused(400, "bad-request");
    run.does("write", &json!({"data": "last", "eof": true}));
    run.wait_for_log("last");
    for (action, rest) in
        [("write", json!({"data": "x"})), ("submit", json!({})), ("paste", json!({"text": "x"}))]
    {
        let why = run.asks(action, &rest).refused(409, "wrong-state");
        assert!(why.contains("closed"), "{why}");
    }
    // That it has ended already is what was asked for.
    run.does("write", &json!({"eof": true}));
    run.kill();
    for (action, rest) in [
        ("write", json!({"data": "x"})),
        ("write", json!({"eof": true})),
        ("send-keys", json!({"literal": "x"})),
        ("submit", json!({})),
        ("paste", json!({"text": "x"})),
    ] {
        let why = run.asks(action, &rest).refused(409, "wrong-state");
        assert!(why.contains("has ended"), "{action}: {why}");
    }
    // A command that closes its input is found out.
    let run = agent.on_pipes("exec 0<&-; echo closed; exec sleep 1000");
    run.wait_for_log("closed");
    let why = run.asks("write", &json!({"data": "x"})).refused(409, "wrong-state");
    assert!(why.contains("no more input") || why.contains("closed"), "{why}");
    run.kill();
}

/// What a process holds in memory of its own, in KiB.
fn memory(pid: &Value) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon lives");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_command_that_never_reads_is_told_of_in_time_and_nothing_piles_up() {
    let (install, agent) = Agent::new();
    let run = agent.on_pipes("exec sleep 1000");
    let unmoved = Unmoved::new(&agent, 2);
    let megabyte = "0123456789abcdef".repeat(64 << 10);
    let began = Instant::now();
    let why = run.asks("write", &json!({"data": megabyte})).refused(409, "wrong-state");
    assert!(why.contains("does not read") && why.contains("of 1048576 bytes"), "{why}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let write_eight = || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let why = run.asks("write", &json!({"data": megabyte})).refused(409, "wrong-state");
                    assert!(why.contains("does not read") || why.contains("is full"), "{why}");
                });
            }
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(write_eight);
        // Nobody else waits for it.
        let began = Instant::now();
        assert_eq!(agent.run("echo meanwhile")["output"], "meanwhile\n");
        run.does("poll", &json!({"timeoutMs": 0}));
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    });
    // What the allocator keeps for the next ones it has by now; these are 120 MiB.
    let before = memory(&unmoved.pid);
    (0..15).for_each(|_| write_eight());
    eventually("the daemon's memory is as it was", || {
        (memory(&unmoved.pid) < before + (40 << 10)).then_some(())
    });
    run.kill();
    unmoved.check(&install);
}
