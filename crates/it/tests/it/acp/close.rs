//! Closing a session of an ACP agent ends all of its processes: helpers that left the session of their parents, cleaned
//! their environment and ignore signals, even after a kill of the daemon, or of daemon and keeper.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::text;
use tenure_it::bystander::Bystander;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::proc;
use tenure_it::{WAIT_LIMIT, eventually};
use tenure_keeper::rundir::RunDir;

/// Helpers that a tool call leaves behind, in each of the ways to leave a session.
const HELPERS: &str = "!child plain ignore-term sleep\n!child nohup ignore-term sleep\n!child setsid ignore-term sleep\n\
                       !child bare ignore-term sleep";

fn acp(install: Install) -> AcpFixture {
    let acp =
        AcpFixture::without_daemon(install, &["--close", "--ignore-term"], "", "[run]\ngrace = '200ms'");
    acp.start_daemon();
    acp
}

/// The live helpers.
fn helpers(acp: &AcpFixture) -> Vec<HeldProcess> {
    let noted = std::fs::read_to_string(acp.dir().join("children")).unwrap_or_default();
    let pids = noted.lines().filter_map(|line| line.strip_prefix("sleep ")?.parse().ok());
    pids.filter_map(HeldProcess::hold).filter(|helper| !helper.is_dead()).collect()
}

/// Starts a session whose agent has left helpers behind.
#[track_caller]
fn session_with_helpers(acp: &AcpFixture) -> Vec<HeldProcess> {
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, HELPERS);
    let helpers = helpers(acp);
    assert_eq!(helpers.len(), 4, "all helpers are alive after the turn");
    let _ = acp.describe_itself(KEY);
    assert!(helpers.iter().all(|helper| !helper.is_dead()), "and after the next");
    helpers
}

/// The keeper of the session's adapter, and its nursery.
fn keepers(acp: &AcpFixture) -> [HeldProcess; 2] {
    let run = text(&acp.adapter(KEY)["runId"]);
    let dir = RunDir::open(&acp.run_path(&run)).expect("a run");
    let keeper = dir.note().expect("a note").expect("a note").keeper.pid;
    let (_, nursery, ..) = proc::stat(keeper).expect("a keeper");
    [keeper, nursery].map(|pid| HeldProcess::hold(pid).expect("it lives"))
}

#[track_caller]
fn assert_closed(closed: &Value, helpers: &[HeldProcess]) {
    assert_eq!((&closed["closed"], &closed["unconfirmed"]), (&json!([KEY]), &json!([])), "{closed}");
    for helper in helpers {
        assert!(helper.is_dead(), "a helper outlived the close");
    }
}

/// Closes the session: nothing of it is left, and no other process was touched.
#[track_caller]
fn close(acp: AcpFixture, helpers: &[HeldProcess], alike: &Bystander) {
    assert_closed(&acp.close(KEY), helpers);
    acp.process_is_gone(0);
    alike.assert_untouched();
    acp.finish();
}

fn bystander() -> Bystander {
    Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child")
}

#[test]
fn helpers_survive_turns_and_end_with_the_session() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let (acp, alike) = (acp(install), bystander());
        let helpers = session_with_helpers(&acp);
        close(acp, &helpers, &alike);
    }
}

#[test]
fn helpers_end_with_a_session_whose_daemon_was_killed() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let (acp, alike) = (acp(install), bystander());
        let helpers = session_with_helpers(&acp);
        acp.kill();
        acp.start_daemon();
        assert!(helpers.iter().all(|helper| !helper.is_dead()), "a daemon crash ends no process");
        close(acp, &helpers, &alike);
    }
}

#[test]
fn helpers_end_with_a_session_whose_daemon_and_keeper_were_killed() {
    let (acp, alike) = (acp(Install::new()), bystander());
    let helpers = session_with_helpers(&acp);
    let ([keeper, _], daemon) = (keepers(&acp), acp.daemon());
    for victim in [&daemon, &keeper] {
        victim.stop();
    }
    for victim in [&daemon, &keeper] {
        victim.send(Signal::KILL);
        victim.wait_dead(WAIT_LIMIT);
    }
    acp.start_daemon();
    close(acp, &helpers, &alike);
}

#[test]
fn an_adapter_that_ended_unconfirmed_is_named_by_close_and_doctor() {
    let acp = acp(Install::new().without_cgroup());
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    let run = text(&acp.adapter(KEY)["runId"]);
    let [keeper, nursery] = keepers(&acp);
    let victims = [acp.daemon(), nursery, keeper];
    victims.iter().for_each(HeldProcess::stop);
    for victim in &victims {
        victim.send(Signal::KILL);
        victim.wait_dead(WAIT_LIMIT);
    }
    acp.start_daemon();
    let ending = eventually("an ending of a run without a keeper", || {
        let show = acp.show(&run);
        show["termination"].is_object().then(|| show["termination"].clone())
    });
    assert_eq!(ending["confirmed"], false, "without a cgroup this is unknown: {ending}");
    let mut close = acp.start(&["acp", "close", KEY]);
    let (code, err) = (close.code(), close.err());
    assert!(
        code == 0 && err.contains(&run[..12]) && err.contains("may have left processes"),
        "{code}: {err}"
    );
    assert_eq!(acp.close(KEY)["unconfirmed"], json!([run]), "also at a second close");
    let mut doctor = acp.start(&["doctor", "--json"]);
    let _ = doctor.code();
    let report: Value = serde_json::from_str(&doctor.out()).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let check = checks.iter().find(|check| check["name"] == "unconfirmed-runs").expect("the check");
    assert_eq!(check["verdict"], "warning", "{check}");
    assert!(text(&check["finding"]).contains(&run), "{check}");
    acp.process_is_gone(0);
    acp.finish();
}

#[test]
fn a_session_closes_while_leftovers_of_its_keeper_are_still_being_cleaned_up() {
    let (acp, alike) = (acp(Install::new()), bystander());
    let helpers = session_with_helpers(&acp);
    let [keeper, nursery] = keepers(&acp);
    nursery.stop();
    for victim in [&acp.daemon(), &keeper] {
        victim.send(Signal::KILL);
        victim.wait_dead(WAIT_LIMIT);
    }
    acp.start_daemon();
    let closed = std::thread::scope(|scope| {
        scope.spawn(|| {
            acp.wait_state(KEY, "closing");
            nursery.send(Signal::CONT);
        });
        acp.close(KEY)
    });
    assert_closed(&closed, &helpers);
    alike.assert_untouched();
    acp.finish();
}

#[test]
fn helpers_end_when_their_agent_dies() {
    let (acp, alike) = (acp(Install::new()), bystander());
    let helpers = session_with_helpers(&acp);
    let turn = acp.turn(KEY, "!exit 3 gone");
    assert_eq!(turn["stop"], "crashed", "{turn}");
    for helper in &helpers {
        helper.wait_dead(WAIT_LIMIT);
    }
    close(acp, &helpers, &alike);
}

#[test]
fn closing_a_busy_session_ends_its_turn_and_its_queue() {
    let acp = acp(Install::new());
    acp.open(KEY);
    let first = acp.send(KEY, "!say deaf \n!deaf");
    acp.wait_text(KEY, "deaf");
    let second = acp.send(KEY, "hello");
    let closed = acp.close(KEY);
    assert_eq!(closed["unconfirmed"], json!([]), "{closed}");
    let turns = acp.history(KEY);
    assert_eq!(
        (turns.len(), &turns[0]["turnId"], &turns[0]["state"]),
        (1, &first["turnId"], &"cancelled".into())
    );
    assert_eq!(acp.times("session/prompt"), 1, "a queued message is not sent: {second}");
    let refused = acp.ask("send", KEY, &json!({"text": "hello"}));
    assert!(refused.head.status >= 400, "{}", refused.text());
    acp.finish();
}

#[test]
fn closing_a_session_without_turns_starts_no_agent() {
    let acp = acp(Install::new());
    acp.open(KEY);
    let _ = acp.close(KEY);
    assert_eq!(acp.starts().len(), 0);
    acp.finish();
}

#[test]
fn closing_a_parent_closes_its_children_and_no_other_session() {
    let acp = acp(Install::new());
    acp.open(KEY);
    let (child, other) = ("agent:helper:child", "agent:helper:other");
    acp.open_with(child, json!({"parent": KEY}));
    acp.open(other);
    for key in [KEY, child, other] {
        let _ = acp.describe_itself(key);
    }
    let closed = acp.close(KEY);
    assert_eq!(closed["closed"], json!([child, KEY]), "{closed}");
    acp.process_is_gone(0);
    acp.process_is_gone(1);
    assert_eq!(acp.describe_itself(other)["turn"], 2, "the same process continues");
    acp.finish();
}

#[test]
fn the_next_daemon_finishes_a_half_done_close() {
    for point in ["daemon-sessions-marked", "daemon-session-closed"] {
        eprintln!("{point}");
        let acp = AcpFixture::without_daemon(
            Install::new(),
            &["--close", "--ignore-eof"],
            "",
            "[run]\ngrace = '200ms'",
        );
        let daemon = acp.start_daemon_paused(point);
        acp.open(KEY);
        let _ = acp.turn_ok(KEY, HELPERS);
        let _unanswered = acp.begin_asking("close", KEY, &json!({}));
        eventually(&format!("a daemon at {point}"), || tenure_it::proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        acp.start_daemon();
        acp.wait_state(KEY, "closed");
        assert!(helpers(&acp).is_empty());
        acp.finish();
    }
}
