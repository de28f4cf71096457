//! kill -9 of the daemon at the points between its records and its actions, in turns of an ACP agent: the next daemon
//! loses and repeats nothing.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::acp_fixture::{AcpFixture, KEY, counted};
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};

const OPTIONS: &str = "once:allow_once|no:reject_once";

/// Kills the daemon that is paused at this point, and starts the next.
#[track_caller]
fn kill_at_pause(acp: &AcpFixture, point: &str) {
    let daemon = acp.lock_holder().expect("a daemon");
    eventually(&format!("a daemon at {point}\n{}", acp.log()), || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    acp.start_daemon();
}

#[test]
fn a_daemon_crash_at_any_point_of_a_turn_sends_it_once_and_ends_it_once() {
    for point in [
        "daemon-row-written",
        "daemon-launched",
        "daemon-before-started",
        "daemon-after-started",
        "daemon-before-turn-end",
        "daemon-turn-ended",
    ] {
        eprintln!("{point}");
        let acp = AcpFixture::to_crash();
        acp.open(KEY);
        let stopped = acp.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        acp.start_daemon_paused(point);
        let _unanswered = acp.begin_asking("send", KEY, &json!({"text": "!count 1 30"}));
        kill_at_pause(&acp, point);
        let after = acp.send(KEY, "hello");
        assert_eq!(acp.end_of(KEY, &after["turnId"])["stop"], "end-turn", "{point}");
        let turns = acp.history(KEY);
        assert_eq!((turns.len(), &turns[0]["stop"]), (2, &"end-turn".into()), "{point}: {turns:#?}");
        assert!(acp.agent_text(KEY).starts_with(&counted(30)), "{point}: {}", acp.agent_text(KEY));
        let heard = acp.times("session/prompt");
        assert_eq!(heard, 2, "{point}: {:?}", acp.methods());
        acp.finish();
    }
}

/// The points between record and message; a daemon passes them many times in a turn.
#[test]
fn a_crash_between_recording_and_sending_neither_loses_nor_repeats_anything() {
    for point in ["daemon-acp-before-record", "daemon-acp-after-record", "daemon-acp-before-give"] {
        for earlier in [0, 1, 2, 4, 7, 11] {
            eprintln!("{point} {earlier}");
            let acp = AcpFixture::without_daemon(
                Install::new(),
                &["--load"],
                "permissions = 'approve-all'",
                "[run]\ngrace = '200ms'",
            );
            std::fs::write(acp.dir().join("there"), "words").expect("a file");
            acp.start_daemon_paused(point);
            acp.open(KEY);
            let words = format!(
                "!count 1 30\n!ask edit mend|{OPTIONS}\n!read there\n!terminal echo hi\n!exited\n!count 31 60"
            );
            let _unanswered = acp.begin_asking("send", KEY, &json!({"text": words}));
            let daemon = acp.lock_holder().expect("a daemon");
            for more in (0..=earlier).rev() {
                eventually(&format!("a daemon at {point}\n{}", acp.log()), || {
                    (proc::is_stopped(daemon.pid) || acp.answers("exited").len() == 1).then_some(())
                });
                if more > 0 {
                    daemon.send(Signal::CONT);
                }
            }
            daemon.send(Signal::KILL);
            daemon.wait_dead(WAIT_LIMIT);
            acp.start_daemon();
            let turns = eventually(&format!("the end of the turn\n{}", acp.log()), || {
                let turns = acp.history(KEY);
                (turns.len() == 1 && turns[0]["state"] != "running").then_some(turns)
            });
            assert_eq!(turns[0]["stop"], "end-turn", "{point} {earlier}: {turns:#?}");
            assert_eq!(acp.agent_text(KEY), counted(60), "{point} {earlier}");
            for name in ["mend", "read there", "terminal", "exited"] {
                assert_eq!(acp.answers(name).len(), 1, "{point}: {name}");
            }
            assert_eq!((acp.times("session/prompt"), acp.starts().len()), (1, 1), "{point} {earlier}");
            acp.finish();
        }
    }
}
