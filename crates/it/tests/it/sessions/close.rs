//! Closing a session ends all of its descendants, children first, and nothing else; if the daemon is killed meanwhile,
//! the next one continues.

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::bystander::Bystander;
use tenure_it::cli_agent_fixture::CliAgentFixture;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// Each is a child of the one before it, except the last, which is a sibling of the third.
const LEVELS: [(&str, Option<&str>); 4] =
    [("root", None), ("middle", Some("root")), ("leaf", Some("middle")), ("sister", Some("middle"))];
/// The runs of each beside its turn.
const TREES: [&str; 4] =
    ["ignore-term tree", "ignore-term setsid tree", "ignore-term chrome-like 2", "ignore-all child tree"];

/// A family of sessions with runs, and unrelated sessions.
struct Family {
    fixture: CliAgentFixture,
    /// The runs of each: a turn's and one of its own.
    runs: Vec<(&'static str, [String; 2])>,
    stranger: String,
    doubtful: String,
    alike: Bystander,
}

impl Family {
    /// Starts no daemon but those of the test. The first is paused at this point, if there is one.
    #[track_caller]
    fn new(point: Option<&str>) -> Self {
        let install = Install::new();
        let fixture = CliAgentFixture::without_daemon(install, "", "[run]\ngrace = '300ms'");
        match point {
            Some(point) => drop(fixture.start_daemon_paused(point)),
            None => drop(fixture.start_daemon()),
        }
        let witness = fixture.dir().join("witness");
        let actor = format!("ACTOR_WITNESS='{}' exec {}", witness.display(), fixture.actor());
        let mut runs = Vec::new();
        for ((key, parent), tree) in LEVELS.into_iter().zip(TREES) {
            let spawn = json!({"backend": "exec", "parent": parent});
            fixture.spawn_with(key, spawn);
            let _ = fixture.send(key, &format!("{actor} ignore-term tree"));
            let turn = fixture.wait_agent_text(key, "ready ignore-term");
            let words: Vec<&str> = tree.split(' ').collect();
            let own = fixture.act(&["--session", key, "--grace", "300ms"], &words);
            fixture.wait_ready(&own);
            runs.push((key, [turn, own]));
        }
        fixture.spawn_exec("stranger");
        let stranger = fixture.act(&["--session", "stranger"], &["tree"]);
        fixture.spawn_exec("doubtful");
        let doubtful = fixture.act(&["--session", "doubtful"], &["tree"]);
        forge_parent(&fixture, "doubtful", "root");
        let alike = Bystander::start(&["--pids", "pids", "tree"], "tree");
        for run in [&stranger, &doubtful] {
            fixture.wait_ready(run);
        }
        Self { fixture, runs, stranger, doubtful, alike }
    }

    /// Asserts that every session is closed after its children, and none of its runs was touched before that.
    #[track_caller]
    fn assert_ended_children_first(&self) {
        let events = Events::read(&self.fixture);
        for (key, runs) in &self.runs {
            assert_eq!(self.fixture.status(key)["state"], "closed", "{key}");
            let closed = events.place("session-closed", key);
            for run in runs {
                let ending = &self.fixture.show(run)["termination"];
                let how = (&ending["reason"], &ending["confirmed"]);
                assert_eq!(how, (&"manual-cancel".into(), &true.into()), "{key}: {ending}");
                assert!(events.place("run-ended", run) < closed, "{key}");
            }
            for (child, _) in LEVELS.iter().filter(|(_, parent)| parent == &Some(*key)) {
                let over = events.place("session-closed", child);
                for run in runs {
                    assert!(
                        events.place("run-leaving", run) > over,
                        "{key} was touched before {child} had ended"
                    );
                }
            }
        }
    }

    /// Asserts that the other sessions are untouched, and ends them.
    #[track_caller]
    fn finish(self) {
        for (key, run) in [("stranger", &self.stranger), ("doubtful", &self.doubtful)] {
            assert_eq!(self.fixture.show(run)["state"], "running", "{key}");
            assert_eq!(self.fixture.status(key)["state"], "idle", "{key}");
            self.fixture.cancel(run);
        }
        self.alike.assert_untouched();
        self.fixture.finish();
    }
}

/// The events, in order: kind, run, session.
struct Events(Vec<(String, Option<String>, Option<String>)>);

impl Events {
    fn read(fixture: &CliAgentFixture) -> Self {
        let db = registry(fixture);
        let mut statement =
            db.prepare("SELECT kind, run_id, session FROM events ORDER BY seq").expect("a query");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("rows");
        Self(rows.collect::<Result<_, _>>().expect("events"))
    }

    /// The position of the only event of this kind about this run or session.
    #[track_caller]
    fn place(&self, kind: &str, about: &str) -> usize {
        let is_about = |(of, run, session): &(String, Option<String>, Option<String>)| {
            of == kind
                && (run.as_deref() == Some(about) || (run.is_none() && session.as_deref() == Some(about)))
        };
        let places: Vec<usize> = (0..self.0.len()).filter(|&at| is_about(&self.0[at])).collect();
        assert_eq!(places.len(), 1, "{kind} of {about}");
        places[0]
    }
}

fn registry(fixture: &CliAgentFixture) -> Connection {
    let db = Connection::open(fixture.state().join("tenure.db")).expect("the registry");
    db.busy_timeout(WAIT_LIMIT).expect("a deadline");
    db
}

/// Names another session as parent in a session's row, against its ancestors.
fn forge_parent(fixture: &CliAgentFixture, key: &str, parent: &str) {
    let sql =
        "UPDATE sessions SET parent = ?2, record = json_set(record, '$.parentSessionKey', ?2) WHERE key = ?1";
    assert_eq!(registry(fixture).execute(sql, [key, parent]).expect("written"), 1);
    assert_eq!(fixture.status(key)["parentSessionKey"], parent);
}

#[test]
fn a_close_ends_the_session_and_its_descendants_children_first_and_nothing_else() {
    let family = Family::new(None);
    let reply = family.fixture.expect_ok("close", "root", &json!({"reason": "enough"}))["closed"].clone();
    assert_eq!(reply["closed"], json!(["leaf", "sister", "middle", "root"]), "{reply}");
    assert_eq!(
        (&reply["unconfirmed"], &reply["left"][0]["key"]),
        (&json!([]), &"doubtful".into()),
        "{reply}"
    );
    let mut ended: Vec<String> = reply["runs"].as_array().expect("runs").iter().map(text).collect();
    let mut runs: Vec<String> = family.runs.iter().flat_map(|(_, runs)| runs.clone()).collect();
    ended.sort();
    runs.sort();
    assert_eq!(ended, runs, "each run is reported once");
    family.assert_ended_children_first();
    for (key, [turn, _]) in &family.runs {
        let turns = family.fixture.history(key);
        assert_eq!((turns.len(), &turns[0]["runId"]), (1, &turn.as_str().into()));
        assert_eq!(turns[0]["state"], "cancelled", "{:?}", turns[0]);
    }
    family.finish();
}

#[test]
fn the_next_daemon_finishes_a_marked_or_half_done_close() {
    for point in ["daemon-sessions-marked", "daemon-session-closed"] {
        eprintln!("{point}");
        let family = Family::new(Some(point));
        let fixture = &family.fixture;
        let daemon = fixture.daemon();
        let _unanswered = fixture.begin_asking("close", "root", &json!({}));
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        fixture.start_daemon();
        fixture.wait_state("root", "closed");
        family.assert_ended_children_first();
        for (key, _) in &family.runs {
            let turns = fixture.history(key);
            assert_eq!((turns.len(), &turns[0]["state"]), (1, &"cancelled".into()), "{key}: {turns:?}");
        }
        family.finish();
    }
}

#[test]
fn a_session_tree_of_a_killed_daemon_is_closed_like_any_other() {
    let family = Family::new(None);
    family.fixture.kill();
    family.fixture.start_daemon();
    let reply: Value = family.fixture.expect_ok("close", "middle", &json!({}))["closed"].clone();
    assert_eq!(reply["closed"], json!(["leaf", "sister", "middle"]), "{reply}");
    assert_eq!(family.fixture.status("root")["state"], "busy", "the parent continues");
    let (_, runs) = &family.runs[0];
    for run in runs {
        assert_eq!(family.fixture.show(run)["state"], "running");
    }
    let reply = family.fixture.expect_ok("close", "root", &json!({}))["closed"].clone();
    assert_eq!(reply["closed"], json!(["root"]), "{reply}");
    family.assert_ended_children_first();
    family.finish();
}
