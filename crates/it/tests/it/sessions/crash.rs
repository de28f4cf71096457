//! kill -9 of the daemon in the middle of turns. The next one goes on with the very same turn: it ends once, with what the
//! agent said, the agent was started once for it, and what waits comes after it in its order.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::conversation::{Talks, answered};
use tenure_it::install::Install;
use tenure_it::{PATIENCE, eventually, proc};
use tenure_keeper::rundir::RunDir;

const KEY: &str = "agent:fake:main";

/// With no daemon but those that the test starts.
fn talks() -> Talks {
    Talks::without_daemon(Install::new(), "", "[run]\ngrace = '200ms'")
}

/// Kills the daemon that stands still at this point, and starts the next.
#[track_caller]
fn kill_at_pause(talks: &Talks, point: &str) {
    let daemon = talks.locked().expect("a daemon");
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
    talks.begin();
}

/// The turns of a session, once there are so many and all have ended.
#[track_caller]
fn all_ended(talks: &Talks, key: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} turns that have ended\n{}", talks.log()), || {
        let turns = talks.history(key);
        let ended = turns.len() == count && turns.iter().all(|turn| turn["state"] != "running");
        ended.then_some(turns)
    })
}

/// How often the end of a turn was told.
fn ends_told(talks: &Talks) -> i64 {
    let db = rusqlite::Connection::open(talks.state().join("tenure.db")).expect("the registry");
    db.busy_timeout(PATIENCE).expect("a deadline");
    let sql = "SELECT count(*) FROM events WHERE kind = 'turn-ended'";
    db.query_row(sql, [], |row| row.get(0)).expect("a count")
}

#[test]
fn a_turn_that_is_killed_at_any_point_ends_once_and_the_next_comes_after_it() {
    for point in
        ["daemon-before-turn-run", "daemon-after-turn-run", "daemon-before-turn-end", "daemon-turn-ended"]
    {
        eprintln!("{point}");
        let talks = talks();
        talks.begin();
        talks.spawn(KEY);
        let stopped = talks.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        talks.begin_paused(point);
        let _unanswered = talks.begin_asking("send", KEY, &json!({"text": "the one"}));
        kill_at_pause(&talks, point);
        let after = talks.send(KEY, "after");
        let turns = all_ended(&talks, KEY, 2);
        let told = [answered(&turns[0]), answered(&turns[1])];
        assert_eq!((&told[0]["prompt"], &told[1]["prompt"]), (&"the one".into(), &"after".into()));
        assert_eq!(turns[1]["turnId"], after["turnId"]);
        assert_eq!(told[1]["argv"], json!(["resume", told[0]["session"]]), "the same conversation");
        assert_eq!((talks.starts().len(), talks.runs().len()), (2, 2), "{point}: one start a turn");
        assert_eq!(ends_told(&talks), 2, "{point}: each end is told once");
        talks.wait_state(KEY, "idle");
        talks.finish();
    }
}

#[test]
fn what_waits_when_the_daemon_is_killed_comes_in_its_order() {
    let talks = talks();
    talks.begin();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!await go");
    talks.wait_said(KEY, "here");
    for n in 1..=3 {
        assert_eq!(talks.send(KEY, &format!("message {n}"))["delivery"], "queued");
    }
    talks.kill();
    talks.begin();
    let status = talks.status(KEY);
    assert_eq!((&status["state"], &status["queued"]), (&"busy".into(), &3.into()), "{status}");
    assert_eq!(status["activeTurn"]["turnId"], first["turnId"], "the same turn is under way");
    assert_eq!(talks.starts().len(), 1);
    talks.let_go("go");
    let turns = all_ended(&talks, KEY, 4);
    let prompts: Vec<Value> = turns.iter().map(|turn| answered(turn)["prompt"].clone()).collect();
    assert_eq!(prompts, ["!say here\n!await go", "message 1", "message 2", "message 3"]);
    assert_eq!(talks.starts().len(), 4);
    talks.finish();
}

#[test]
fn a_turn_that_ends_while_no_daemon_is_there_is_read_by_the_next() {
    let talks = talks();
    talks.begin();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!await go");
    let run = talks.wait_said(KEY, "here");
    talks.kill();
    talks.let_go("go");
    let dir = RunDir::open(&talks.run_path(&run)).expect("a run");
    eventually("the end of its keeper", || (!dir.kept().expect("a lock")).then_some(()));
    talks.begin();
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!(answered(&turn)["prompt"], "!say here\n!await go");
    assert_eq!((talks.starts().len(), talks.history(KEY).len()), (1, 1));
    talks.finish();
}

#[test]
fn a_prompt_that_was_half_given_is_given_to_its_end_and_nothing_twice() {
    let talks = talks();
    talks.begin();
    talks.spawn(KEY);
    talks.let_go("hold");
    let words: String = (0..90_000_u32).fold(String::new(), |words, n| words + &format!("{n:09} "));
    let sent = talks.send(KEY, &words);
    talks.wait_starts(1);
    let pid = i32::try_from(talks.starts()[0]["pid"].as_i64().expect("a pid")).expect("a pid");
    eventually("a full pipe", || {
        let pipe = std::fs::File::open(format!("/proc/{pid}/fd/0")).ok()?;
        (rustix::io::ioctl_fionread(&pipe).ok()? >= 4096).then_some(())
    });
    talks.kill();
    talks.begin();
    std::fs::remove_file(talks.dir().join("hold")).expect("released");
    let _ = answered(&talks.end_of(KEY, &sent["turnId"]));
    assert!(talks.prompt() == words.as_bytes(), "{} bytes of {}", talks.prompt().len(), words.len());
    assert_eq!(talks.starts().len(), 1);
    talks.finish();
}

#[test]
fn a_turn_that_the_next_daemon_goes_on_with_can_be_cancelled() {
    let talks = talks();
    talks.begin();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!become ignore-term tree");
    talks.wait_said(KEY, "ready ignore-term");
    talks.kill();
    talks.begin();
    let second = talks.send(KEY, "after");
    assert_eq!(second["delivery"], "queued");
    let _ = talks.does("cancel", KEY, &json!({}));
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&"cancelled".into(), &"here".into()), "{turn}");
    assert_eq!(answered(&talks.end_of(KEY, &second["turnId"]))["prompt"], "after");
    talks.finish();
}

#[test]
fn a_session_for_one_turn_is_closed_though_the_daemon_was_killed_after_it() {
    for point in
        ["daemon-before-turn-end", "daemon-turn-ended", "daemon-sessions-marked", "daemon-session-closed"]
    {
        eprintln!("{point}");
        let talks = talks();
        talks.begin_paused(point);
        let dir = talks.dir().to_str().expect("UTF-8").to_owned();
        let asked = json!({"agent": "fake", "mode": "oneshot", "task": "only", "cwd": dir});
        let _unanswered = talks.begin_asking("spawn", KEY, &asked);
        kill_at_pause(&talks, point);
        talks.wait_state(KEY, "closed");
        let turns = talks.history(KEY);
        assert_eq!((turns.len(), &answered(&turns[0])["prompt"]), (1, &"only".into()));
        assert_eq!(talks.starts().len(), 1);
        talks.finish();
    }
}
