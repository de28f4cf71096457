//! `process poll`: unread output is returned once, to any reader and across any crash.

use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tenure_it::TRANSPORTS;
use tenure_it::agent::daemon;
use tenure_it::api::text;
use tenure_it::eventually;
use tenure_it::exec_notices;

/// This many lines, with pauses of 0 to 15 ms after some of them, then an exit with 5.
fn at_random_times(lines: u32) -> String {
    format!(
        "i=0; while [ $i -lt {lines} ]; do echo \"line $i of {lines}\"; i=$((i+1)); \
         case $((i * 7919 % 13)) in 0|5) sleep 0.0$((i * 31 % 15 + 10));; esac; done; exit 5"
    )
}

fn lines(count: u32) -> String {
    (0..count).map(|i| format!("line {i} of {count}\n")).collect()
}

#[test]
fn every_line_is_returned_once_at_any_polling_rate() {
    let (fixture, agent) = daemon();
    for pty in [false, true] {
        let run = agent.start_with(json!({"command": at_random_times(600), "pty": pty}));
        let mut read = String::new();
        let mut polls = 0;
        let last = eventually("the end", || {
            polls += 1;
            let reply = agent.process("poll", &run, &json!({"timeoutMs": polls * 17 % 40}));
            read += reply["output"].as_str().expect("a text");
            assert_eq!(reply["truncated"], false, "{reply}");
            (reply["status"] != "running").then_some(reply)
        });
        assert_eq!((read, &last["exitCode"]), (lines(600), &json!(5)));
        let again = agent.poll(&run);
        assert_eq!((&again["output"], &again["exitCode"]), (&json!(""), &json!(5)), "nothing is left");
    }
    fixture.finish();
}

/// An empty poll comes after all earlier ones were recorded, so the daemon may die then. The command prints
/// while there is none.
#[test]
fn every_line_is_returned_once_across_daemon_crashes_between_polls() {
    const BLOCK: u32 = 100;
    let (fixture, agent) = daemon();
    let block = at_random_times(BLOCK).replace("exit 5", ":");
    let run = agent.start(&format!("while read line; do {block}; done; exit 5"));
    let mut read = String::new();
    for deaths in 1..=5 {
        agent.process("write", &run, &json!({"data": "go\n"}));
        fixture.kill();
        fixture.start_daemon();
        eventually("exactly one block", || {
            let reply = agent.process("poll", &run, &json!({"timeoutMs": 20}));
            let output = reply["output"].as_str().expect("a text");
            read += output;
            (output.is_empty() && read.len() >= deaths * lines(BLOCK).len()).then_some(())
        });
    }
    agent.process("write", &run, &json!({"eof": true}));
    let (rest, last) = agent.poll_to_the_end(&run);
    assert_eq!((read, rest.as_str(), &last["exitCode"]), (lines(BLOCK).repeat(5), "", &json!(5)));
    fixture.finish();
}

/// A daemon that dies just after an answer may not have recorded it. Then that answer is repeated, and
/// nothing else is: nothing is ever skipped.
#[test]
fn a_daemon_crash_at_any_moment_loses_nothing_and_repeats_at_most_the_last_reply() {
    let (fixture, agent) = daemon();
    let run = agent.start(&at_random_times(600));
    let whole = lines(600);
    let (mut at, mut last, mut round) = (0, 0, 0);
    eventually("the end", || {
        round += 1;
        if round % 10 == 0 && round <= 60 {
            fixture.kill();
            fixture.start_daemon();
        }
        let reply = agent.process("poll", &run, &json!({"timeoutMs": 50}));
        let output = reply["output"].as_str().expect("a text");
        if !whole[at..].starts_with(output) {
            at -= last;
            assert!(whole[at..].starts_with(output), "{output:?} after {:?}", &whole[..at]);
        }
        (at, last) = (at + output.len(), output.len());
        (reply["status"] != "running").then_some(())
    });
    assert_eq!(at, whole.len());
    fixture.finish();
}

#[test]
fn output_for_a_reader_that_hung_up_goes_to_the_next() {
    let (fixture, agent) = daemon();
    let run = agent.start("read line; echo \"got $line\"; read line");
    let gone = agent.begin_process("poll", &run, &json!({"timeoutMs": 30_000}));
    eventually("a pending poll", || {
        let reply = agent.process("poll", &run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
    drop(gone);
    agent.process("write", &run, &json!({"data": "it\n"}));
    assert_eq!(agent.poll(&run)["output"], "got it\n");
    agent.process("kill", &run, &json!({}));
    fixture.finish();
}

/// Output that the socket took completely counts as read, and is in the log. Other output does not.
#[test]
fn a_partly_written_reply_is_sent_again() {
    // Two replies of 30,000 characters of 4 bytes do not fit into the socket, one does.
    let room = std::fs::read_to_string("/proc/sys/net/core/wmem_default").expect("a number");
    let room: u64 = room.trim().parse().expect("a number");
    if !(150_000..230_000).contains(&room) {
        return eprintln!("cannot run here: a socket here takes {room} bytes");
    }
    let (fixture, agent) = daemon();
    let printed = "🦀".repeat(100) + "\n";
    let printed = printed.repeat(297);
    let command = "i=0; while [ $i -lt 297 ]; do printf '🦀%.0s' $(seq 100); echo; i=$((i+1)); done";
    let runs = [agent.start(command), agent.start(command)];
    runs.iter().for_each(|run| assert_eq!(fixture.wait(run), 0));
    let mut wire = agent.api.connect();
    for run in &runs {
        let body = json!({"action": "poll", "runId": run}).to_string();
        wire.request("POST", "/v1/process", &[], body.as_bytes());
    }
    eventually("a second reply in progress", || (wire.unread() > 150_000).then_some(()));
    eventually("the first counts as read", || exec_notices::of(&fixture, &runs[0]).read_to);
    // The second is pending: no other poll gets it meanwhile.
    let meanwhile = agent.process("poll", &runs[1], &json!({"timeoutMs": 500}));
    assert_eq!(meanwhile["output"], "", "{}", meanwhile["message"]);
    assert_eq!(exec_notices::of(&fixture, &runs[1]).read_to, None);
    drop(wire);
    let again = agent.poll(&runs[1]);
    assert!(again["output"] == printed.as_str(), "{} bytes", again["output"].to_string().len());
    assert_eq!(agent.poll(&runs[0])["output"], "", "the first was written completely");
    assert!(agent.log_from(&runs[0], 0) == printed, "and is still in the log");
    fixture.finish();
}

#[test]
fn a_hundred_simultaneous_polls_share_the_output_and_return_in_time() {
    const READERS: usize = 100;
    let (fixture, agent) = daemon();
    let run = agent.start(&at_random_times(400));
    let read_all = || {
        let mut read = Vec::new();
        loop {
            let began = Instant::now();
            let reply = agent.process("poll", &run, &json!({"timeoutMs": 700}));
            assert!(began.elapsed() < Duration::from_secs(15), "after {:?}: {reply}", began.elapsed());
            read.push(text(&reply["output"]));
            if reply["status"] != "running" {
                return read;
            }
        }
    };
    let read: Vec<String> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read_all)).collect();
        readers.into_iter().flat_map(|reader| reader.join().expect("a reader")).collect()
    });
    let rest = agent.poll_to_the_end(&run).0;
    // The pieces are the printed lines, in some order.
    let count = |text: &str| {
        let mut count: BTreeMap<String, u32> = BTreeMap::new();
        text.lines().for_each(|line| *count.entry(line.to_owned()).or_default() += 1);
        count
    };
    assert_eq!(count(&(read.concat() + &rest)), count(&lines(400)));
    fixture.finish();
}

#[test]
fn runs_started_elsewhere_can_be_polled_and_unknown_ones_are_named() {
    let (fixture, agent) = daemon();
    for flags in TRANSPORTS {
        let run = fixture.start_in_background(flags, &["sh", "-c", "echo one; echo two >&2; exit 7"]);
        let (read, last) = agent.poll_to_the_end(&run);
        let mut read: Vec<&str> = read.lines().collect();
        read.sort_unstable();
        assert_eq!((read.as_slice(), &last["exitCode"]), (&["one", "two"][..], &json!(7)));
        let again = agent.poll(&run[..12]);
        assert_eq!((&again["output"], &again["runId"]), (&json!(""), &json!(run)), "by its id prefix");
        // The end of a run from outside exec is not notified.
        assert_eq!(exec_notices::of(&fixture, &run).notice, "none");
        agent.ask("write", &run, &json!({"data": "x"})).refused(409, "wrong-state");
    }
    for unknown in ["0123456789abcdef01234567", "ffffff", "no-id", ""] {
        agent.ask("poll", unknown, &json!({})).refused(404, "no-such-run");
    }
    agent.api.post("/v1/process", &json!({"action": "poll"})).refused(422, "invalid");
    fixture.finish();
}

#[test]
fn too_much_unread_output_returns_its_tail_and_names_the_rest() {
    let (fixture, agent) = daemon();
    let line = |i: u32| format!("{i} {}\n", "x".repeat(60));
    let command = "p() { while [ $1 -lt $2 ]; do echo \"$1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"; \
        set -- $(($1+1)) $2; done; }; p 0 10; read line; p 10 2000; echo done; read line; p 2000 2010";
    let run = agent.start(command);
    let printed: String = (0..10).map(line).collect();
    assert_eq!(agent.poll_until(&run, &line(9)), printed);
    agent.process("write", &run, &json!({"data": "\n"}));
    agent.wait_for(&run, "done");
    let reply = agent.poll(&run);
    assert_eq!((&reply["truncated"], &reply["nextLine"]), (&json!(true), &json!(10)), "{}", reply["message"]);
    assert_eq!(reply["nextOffset"], printed.len());
    let output = text(&reply["output"]);
    let (note, rest) = output.split_once('\n').expect("lines");
    assert!(note.contains("process log, offset 10]"), "{note}");
    assert!(rest.chars().count() <= 30_000 && rest.chars().count() > 29_000);
    let second: String = (10..2000).map(line).chain(["done\n".to_owned()]).collect();
    assert!(second.ends_with(rest), "the newest is shown");
    assert!(agent.log_from(&run, 10) == second, "and the log has all of it");
    agent.process("write", &run, &json!({"data": "\n"}));
    let third: String = (2000..2010).map(line).collect();
    assert_eq!(agent.poll_to_the_end(&run).0, third, "skipped output is not returned later");
    fixture.finish();
}
