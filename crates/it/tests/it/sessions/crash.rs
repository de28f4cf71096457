//! kill -9 of the daemon in the middle of turns. The next daemon continues the very same turn: it ends once, with the
//! agent's answer, the agent was started once for it, and queued messages follow in order.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};
use tenure_keeper::rundir::RunDir;

const KEY: &str = "agent:fake:main";

/// Sessions without any daemon but those of the test.
fn fixture() -> CliAgentFixture {
    CliAgentFixture::without_daemon(Install::new(), "", "[run]\ngrace = '200ms'")
}

/// Kills the daemon that is paused at this point, and starts the next.
#[track_caller]
fn kill_at_pause(fixture: &CliAgentFixture, point: &str) {
    let daemon = fixture.lock_holder().expect("a daemon");
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    fixture.start_daemon();
}

/// The turns of a session, once there are this many and all have ended.
#[track_caller]
fn all_ended(fixture: &CliAgentFixture, key: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} turns that have ended\n{}", fixture.log()), || {
        let turns = fixture.history(key);
        let ended = turns.len() == count && turns.iter().all(|turn| turn["state"] != "running");
        ended.then_some(turns)
    })
}

/// Number of reported ends of turns.
fn ends_told(fixture: &CliAgentFixture) -> i64 {
    let db = rusqlite::Connection::open(fixture.state().join("tenure.db")).expect("the registry");
    db.busy_timeout(WAIT_LIMIT).expect("a deadline");
    let sql = "SELECT count(*) FROM events WHERE kind = 'turn-ended'";
    db.query_row(sql, [], |row| row.get(0)).expect("a count")
}

#[test]
fn a_turn_whose_daemon_dies_at_any_point_ends_once_before_the_next_starts() {
    for point in
        ["daemon-before-turn-run", "daemon-after-turn-run", "daemon-before-turn-end", "daemon-turn-ended"]
    {
        eprintln!("{point}");
        let fixture = fixture();
        fixture.start_daemon();
        fixture.spawn(KEY);
        let stopped = fixture.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        fixture.start_daemon_paused(point);
        let _unanswered = fixture.begin_asking("send", KEY, &json!({"text": "the one"}));
        kill_at_pause(&fixture, point);
        let after = fixture.send(KEY, "after");
        let turns = all_ended(&fixture, KEY, 2);
        let told = [answer_of(&turns[0]), answer_of(&turns[1])];
        assert_eq!((&told[0]["prompt"], &told[1]["prompt"]), (&"the one".into(), &"after".into()));
        assert_eq!(turns[1]["turnId"], after["turnId"]);
        assert_eq!(told[1]["argv"], json!(["resume", told[0]["session"]]), "the same conversation");
        assert_eq!((fixture.starts().len(), fixture.runs().len()), (2, 2), "{point}: one start a turn");
        assert_eq!(ends_told(&fixture), 2, "{point}: each end is reported once");
        fixture.wait_state(KEY, "idle");
        fixture.finish();
    }
}

#[test]
fn queued_messages_run_in_order_after_a_daemon_crash() {
    let fixture = fixture();
    fixture.start_daemon();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!await go");
    fixture.wait_agent_text(KEY, "here");
    for n in 1..=3 {
        assert_eq!(fixture.send(KEY, &format!("message {n}"))["delivery"], "queued");
    }
    fixture.kill();
    fixture.start_daemon();
    let status = fixture.status(KEY);
    assert_eq!((&status["state"], &status["queued"]), (&"busy".into(), &3.into()), "{status}");
    assert_eq!(status["activeTurn"]["turnId"], first["turnId"], "the same turn is running");
    assert_eq!(fixture.starts().len(), 1);
    fixture.release("go");
    let turns = all_ended(&fixture, KEY, 4);
    let prompts: Vec<Value> = turns.iter().map(|turn| answer_of(turn)["prompt"].clone()).collect();
    assert_eq!(prompts, ["!say here\n!await go", "message 1", "message 2", "message 3"]);
    assert_eq!(fixture.starts().len(), 4);
    fixture.finish();
}

#[test]
fn the_next_daemon_reads_a_turn_that_ended_without_a_daemon() {
    let fixture = fixture();
    fixture.start_daemon();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!await go");
    let run = fixture.wait_agent_text(KEY, "here");
    fixture.kill();
    fixture.release("go");
    let dir = RunDir::open(&fixture.run_path(&run)).expect("a run");
    eventually("the end of its keeper", || (!dir.has_keeper().expect("a lock")).then_some(()));
    fixture.start_daemon();
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!(answer_of(&turn)["prompt"], "!say here\n!await go");
    assert_eq!((fixture.starts().len(), fixture.history(KEY).len()), (1, 1));
    fixture.finish();
}

#[test]
fn a_half_written_prompt_is_completed_and_no_byte_is_written_twice() {
    let fixture = fixture();
    fixture.start_daemon();
    fixture.spawn(KEY);
    fixture.release("hold");
    let words: String = (0..90_000_u32).fold(String::new(), |words, n| words + &format!("{n:09} "));
    let sent = fixture.send(KEY, &words);
    fixture.wait_starts(1);
    let pid = i32::try_from(fixture.starts()[0]["pid"].as_i64().expect("a pid")).expect("a pid");
    eventually("a full pipe", || {
        let pipe = std::fs::File::open(format!("/proc/{pid}/fd/0")).ok()?;
        (rustix::io::ioctl_fionread(&pipe).ok()? >= 4096).then_some(())
    });
    fixture.kill();
    fixture.start_daemon();
    std::fs::remove_file(fixture.dir().join("hold")).expect("released");
    let _ = answer_of(&fixture.end_of(KEY, &sent["turnId"]));
    assert!(fixture.prompt() == words.as_bytes(), "{} bytes of {}", fixture.prompt().len(), words.len());
    assert_eq!(fixture.starts().len(), 1);
    fixture.finish();
}

#[test]
fn a_turn_resumed_by_the_next_daemon_can_be_cancelled() {
    let fixture = fixture();
    fixture.start_daemon();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!become ignore-term tree");
    fixture.wait_agent_text(KEY, "ready ignore-term");
    fixture.kill();
    fixture.start_daemon();
    let second = fixture.send(KEY, "after");
    assert_eq!(second["delivery"], "queued");
    let _ = fixture.expect_ok("cancel", KEY, &json!({}));
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&"cancelled".into(), &"here".into()), "{turn}");
    assert_eq!(answer_of(&fixture.end_of(KEY, &second["turnId"]))["prompt"], "after");
    fixture.finish();
}

#[test]
fn a_one_turn_session_is_closed_even_if_the_daemon_is_killed_after_the_turn() {
    for point in
        ["daemon-before-turn-end", "daemon-turn-ended", "daemon-sessions-marked", "daemon-session-closed"]
    {
        eprintln!("{point}");
        let fixture = fixture();
        fixture.start_daemon_paused(point);
        let dir = fixture.dir().to_str().expect("UTF-8").to_owned();
        let asked = json!({"agent": "fake", "mode": "oneshot", "task": "only", "cwd": dir});
        let _unanswered = fixture.begin_asking("spawn", KEY, &asked);
        kill_at_pause(&fixture, point);
        fixture.wait_state(KEY, "closed");
        let turns = fixture.history(KEY);
        assert_eq!((turns.len(), &answer_of(&turns[0])["prompt"]), (1, &"only".into()));
        assert_eq!(fixture.starts().len(), 1);
        fixture.finish();
    }
}
