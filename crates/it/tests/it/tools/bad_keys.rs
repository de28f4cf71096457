//! Impossible input is refused, and nothing is typed; unread input is reported, and does not pile up.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tenure_it::agent::Agent;
use tenure_it::unchanged_daemon::UnchangedDaemon;
use tenure_it::{eventually, is_whole_range};

#[test]
fn invalid_keys_and_bytes_are_refused_and_nothing_is_typed() {
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
    run.expect_ok("send-keys", &json!({"literal": "literal "}));
    run.expect_ok("send-keys", &json!({"hex": ["21"]}));
    run.expect_ok("paste", &json!({"text": " pasted", "bracketed": false}));
    run.expect_ok("submit", &json!({}));
    run.expect_ok("write", &json!({"eof": true}));
    run.exits(0);
    assert_eq!(run.log(), "literal ! pasted\n");
}

#[test]
fn input_that_can_never_be_read_is_refused() {
    let (_install, agent) = Agent::new();
    let run = agent.on_pipes("cat; exec sleep 1000");
    let why = run.asks("write", &json!({})).refused(422, "invalid");
    assert!(why.contains("data") && why.contains("eof"), "{why}");
    run.asks("write", &json!({"data": 7})).refused(400, "bad-request");
    run.expect_ok("write", &json!({"data": "last", "eof": true}));
    run.wait_for_log("last");
    for (action, rest) in
        [("write", json!({"data": "x"})), ("submit", json!({})), ("paste", json!({"text": "x"}))]
    {
        let why = run.asks(action, &rest).refused(409, "wrong-state");
        assert!(why.contains("closed"), "{why}");
    }
    // Its input has ended already, as requested.
    run.expect_ok("write", &json!({"eof": true}));
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
    // The daemon notices that a command closed its input.
    let run = agent.on_pipes("exec 0<&-; echo closed; exec sleep 1000");
    run.wait_for_log("closed");
    let why = run.asks("write", &json!({"data": "x"})).refused(409, "wrong-state");
    assert!(why.contains("no more input") || why.contains("closed"), "{why}");
    run.kill();
}

/// The private memory of a process, in KiB.
fn memory(pid: &Value) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon lives");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_command_that_never_reads_is_reported_in_time_and_nothing_piles_up() {
    let (install, agent) = Agent::new();
    let run = agent.on_pipes("exec sleep 1000");
    let unchanged = UnchangedDaemon::new(&agent, 2);
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
        // The write delays no other request.
        let began = Instant::now();
        assert_eq!(agent.run("echo meanwhile")["output"], "meanwhile\n");
        run.expect_ok("poll", &json!({"timeoutMs": 0}));
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    });
    // The allocator keeps memory for the next rounds by now. Each round writes 8 MiB.
    let before = memory(&unchanged.pid);
    (0..if is_whole_range() { 15 } else { 6 }).for_each(|_| write_eight());
    eventually("the daemon's memory is as it was", || {
        (memory(&unchanged.pid) < before + (30 << 10)).then_some(())
    });
    run.kill();
    unchanged.check(&install);
}
