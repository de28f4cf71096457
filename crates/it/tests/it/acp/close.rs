//! Closing a session of an ACP agent ends everything that came of it: helpers that left the session of their parents, cleaned
//! their environment and ignore signals, also after the daemon, or daemon and keeper, were killed.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::acp::{Acp, KEY};
use tenure_it::api::text;
use tenure_it::bystander::Bystander;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::proc;
use tenure_it::{PATIENCE, eventually};
use tenure_keeper::rundir::RunDir;

/// What a tool call leaves behind: the three ways, and one more.
const HELPERS: &str = "!child plain ignore-term sleep\n!child nohup ignore-term sleep\n!child setsid ignore-term sleep\n\
                       !child bare ignore-term sleep";

fn acp(install: Install) -> Acp {
    let acp = Acp::without_daemon(install, &["--close", "--ignore-term"], "", "[run]\ngrace = '200ms'");
    acp.begin();
    acp
}

/// The helpers that live.
fn helpers(acp: &Acp) -> Vec<Known> {
    let noted = std::fs::read_to_string(acp.dir().join("children")).unwrap_or_default();
    let pids = noted.lines().filter_map(|line| line.strip_prefix("sleep ")?.parse().ok());
    pids.filter_map(Known::hold).filter(|helper| !helper.is_dead()).collect()
}

/// Begins a session whose agent has left helpers behind.
#[track_caller]
fn haunted(acp: &Acp) -> Vec<Known> {
    acp.open(KEY);
    let _ = acp.ended(KEY, HELPERS);
    let helpers = helpers(acp);
    assert_eq!(helpers.len(), 4, "all of them live after the turn");
    let _ = acp.itself(KEY);
    assert!(helpers.iter().all(|helper| !helper.is_dead()), "and after the next");
    helpers
}

/// The keeper of the session's adapter, and the nursery that it is from.
fn keepers(acp: &Acp) -> [Known; 2] {
    let run = text(&acp.adapter(KEY)["runId"]);
    let dir = RunDir::open(&acp.run_path(&run)).expect("a run");
    let keeper = dir.note().expect("a note").expect("a note").keeper.pid;
    let (_, nursery, ..) = proc::stat(keeper).expect("a keeper");
    [keeper, nursery].map(|pid| Known::hold(pid).expect("it lives"))
}

#[track_caller]
fn assert_closed(closed: &Value, helpers: &[Known]) {
    assert_eq!((&closed["closed"], &closed["unconfirmed"]), (&json!([KEY]), &json!([])), "{closed}");
    for helper in helpers {
        assert!(helper.is_dead(), "a helper outlived the close");
    }
}

/// Closes the session: nothing of it is left, and nobody else was touched.
#[track_caller]
fn close(acp: Acp, helpers: &[Known], alike: &Bystander) {
    assert_closed(&acp.close(KEY), helpers);
    acp.process_is_gone(0);
    alike.assert_untouched();
    acp.finish();
}

fn alike() -> Bystander {
    Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child")
}

#[test]
fn helpers_live_from_turn_to_turn_and_end_with_the_session() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let (acp, alike) = (acp(install), alike());
        let helpers = haunted(&acp);
        close(acp, &helpers, &alike);
    }
}

#[test]
fn helpers_end_with_a_session_whose_daemon_was_killed() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let (acp, alike) = (acp(install), alike());
        let helpers = haunted(&acp);
        acp.kill();
        acp.begin();
        assert!(helpers.iter().all(|helper| !helper.is_dead()), "a daemon's death ends nobody");
        close(acp, &helpers, &alike);
    }
}

#[test]
fn helpers_end_with_a_session_whose_daemon_and_keeper_were_killed() {
    let (acp, alike) = (acp(Install::new()), alike());
    let helpers = haunted(&acp);
    let ([keeper, _], daemon) = (keepers(&acp), acp.daemon());
    for victim in [&daemon, &keeper] {
        victim.stop();
    }
    for victim in [&daemon, &keeper] {
        victim.send(Signal::KILL);
        victim.wait_dead(PATIENCE);
    }
    acp.begin();
    close(acp, &helpers, &alike);
}

#[test]
fn an_adapter_that_ended_unconfirmed_is_named_by_close_and_doctor() {
    let acp = acp(Install::new().without_cgroup());
    acp.open(KEY);
    let _ = acp.itself(KEY);
    let run = text(&acp.adapter(KEY)["runId"]);
    let [keeper, nursery] = keepers(&acp);
    let victims = [acp.daemon(), nursery, keeper];
    victims.iter().for_each(Known::stop);
    for victim in &victims {
        victim.send(Signal::KILL);
        victim.wait_dead(PATIENCE);
    }
    acp.begin();
    let ending = eventually("an ending of what nobody keeps", || {
        let show = acp.show(&run);
        show["termination"].is_object().then(|| show["termination"].clone())
    });
    assert_eq!(ending["confirmed"], false, "without a cgroup nobody can know: {ending}");
    let mut close = acp.start(&["acp", "close", KEY]);
    let (code, err) = (close.code(), close.err());
    assert!(
        code == 0 && err.contains(&run[..12]) && err.contains("may have processes left"),
        "{code}: {err}"
    );
    assert_eq!(acp.close(KEY)["unconfirmed"], json!([run]), "also if it is closed again");
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
fn a_session_is_closed_while_what_its_keeper_left_is_still_looked_after() {
    let (acp, alike) = (acp(Install::new()), alike());
    let helpers = haunted(&acp);
    let [keeper, nursery] = keepers(&acp);
    nursery.stop();
    for victim in [&acp.daemon(), &keeper] {
        victim.send(Signal::KILL);
        victim.wait_dead(PATIENCE);
    }
    acp.begin();
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
fn helpers_end_with_an_agent_that_dies() {
    let (acp, alike) = (acp(Install::new()), alike());
    let helpers = haunted(&acp);
    let turn = acp.turn(KEY, "!exit 3 gone");
    assert_eq!(turn["stop"], "crashed", "{turn}");
    for helper in &helpers {
        helper.wait_dead(PATIENCE);
    }
    close(acp, &helpers, &alike);
}

#[test]
fn a_busy_session_is_closed_with_its_turn_and_what_waits() {
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
    assert_eq!(acp.times("session/prompt"), 1, "what waited is not said: {second}");
    let refused = acp.ask("send", KEY, &json!({"text": "hello"}));
    assert!(refused.head.status >= 400, "{}", refused.text());
    acp.finish();
}

#[test]
fn a_session_that_never_had_a_turn_is_closed_without_an_agent() {
    let acp = acp(Install::new());
    acp.open(KEY);
    let _ = acp.close(KEY);
    assert_eq!(acp.starts().len(), 0);
    acp.finish();
}

#[test]
fn a_child_session_is_closed_with_its_parent_and_another_is_not() {
    let acp = acp(Install::new());
    acp.open(KEY);
    let (child, other) = ("agent:helper:child", "agent:helper:other");
    acp.open_with(child, json!({"parent": KEY}));
    acp.open(other);
    for key in [KEY, child, other] {
        let _ = acp.itself(key);
    }
    let closed = acp.close(KEY);
    assert_eq!(closed["closed"], json!([child, KEY]), "{closed}");
    acp.process_is_gone(0);
    acp.process_is_gone(1);
    assert_eq!(acp.itself(other)["turn"], 2, "the same process goes on");
    acp.finish();
}

#[test]
fn the_next_daemon_closes_what_was_half_closed() {
    for point in ["daemon-sessions-marked", "daemon-session-closed"] {
        eprintln!("{point}");
        let acp =
            Acp::without_daemon(Install::new(), &["--close", "--ignore-eof"], "", "[run]\ngrace = '200ms'");
        let daemon = acp.begin_paused(point);
        acp.open(KEY);
        let _ = acp.ended(KEY, HELPERS);
        let _unanswered = acp.begin_asking("close", KEY, &json!({}));
        eventually(&format!("a daemon at {point}"), || tenure_it::proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(PATIENCE);
        acp.begin();
        acp.wait_state(KEY, "closed");
        assert!(helpers(&acp).is_empty());
        acp.finish();
    }
}
