//! Closing a session ends all that is below it, children first, and nothing else; a daemon that is killed meanwhile is
//! followed by one that goes on with it.

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::bystander::Bystander;
use tenure_it::conversation::Talks;
use tenure_it::install::Install;
use tenure_it::{PATIENCE, eventually, proc};

/// Each below the one before it, but the last, which is beside the third.
const LEVELS: [(&str, Option<&str>); 4] =
    [("root", None), ("middle", Some("root")), ("leaf", Some("middle")), ("sister", Some("middle"))];
/// What each of them runs beside its turn.
const TREES: [&str; 4] =
    ["ignore-term tree", "ignore-term setsid tree", "ignore-term chrome-like 2", "ignore-all child tree"];

/// A family of sessions that all run something, and others that have nothing to do with it.
struct Family {
    talks: Talks,
    /// The runs of each, a turn's and one of its own.
    runs: Vec<(&'static str, [String; 2])>,
    stranger: String,
    doubtful: String,
    alike: Bystander,
}

impl Family {
    /// With no daemon but those that the test starts. The first stands still at this point, if there is one.
    #[track_caller]
    fn new(point: Option<&str>) -> Self {
        let install = Install::new();
        let talks = Talks::without_daemon(install, "", "[run]\ngrace = '300ms'");
        match point {
            Some(point) => drop(talks.begin_paused(point)),
            None => drop(talks.begin()),
        }
        let witness = talks.dir().join("witness");
        let actor = format!("ACTOR_WITNESS='{}' exec {}", witness.display(), talks.actor());
        let mut runs = Vec::new();
        for ((key, parent), tree) in LEVELS.into_iter().zip(TREES) {
            let spawn = json!({"backend": "exec", "parent": parent});
            talks.spawn_with(key, spawn);
            let _ = talks.send(key, &format!("{actor} ignore-term tree"));
            let turn = talks.wait_said(key, "ready ignore-term");
            let words: Vec<&str> = tree.split(' ').collect();
            let own = talks.act(&["--session", key, "--grace", "300ms"], &words);
            talks.wait_ready(&own);
            runs.push((key, [turn, own]));
        }
        talks.spawn_exec("stranger");
        let stranger = talks.act(&["--session", "stranger"], &["tree"]);
        talks.spawn_exec("doubtful");
        let doubtful = talks.act(&["--session", "doubtful"], &["tree"]);
        pretend(&talks, "doubtful", "root");
        let alike = Bystander::start(&["--pids", "pids", "tree"], "tree");
        for run in [&stranger, &doubtful] {
            talks.wait_ready(run);
        }
        Self { talks, runs, stranger, doubtful, alike }
    }

    /// Every session is closed after its children, and none of its runs was touched before that.
    #[track_caller]
    fn assert_ended_children_first(&self) {
        let events = Events::read(&self.talks);
        for (key, runs) in &self.runs {
            assert_eq!(self.talks.status(key)["state"], "closed", "{key}");
            let closed = events.place("session-closed", key);
            for run in runs {
                let ending = &self.talks.show(run)["termination"];
                let how = (&ending["reason"], &ending["confirmed"]);
                assert_eq!(how, (&"manual-cancel".into(), &true.into()), "{key}: {ending}");
                assert!(events.place("run-ended", run) < closed, "{key}");
            }
            for (child, _) in LEVELS.iter().filter(|(_, parent)| parent == &Some(*key)) {
                let over = events.place("session-closed", child);
                for run in runs {
                    assert!(
                        events.place("run-leaving", run) > over,
                        "{key} was touched before {child} was over"
                    );
                }
            }
        }
    }

    /// Nobody else was touched. They go on until they are ended.
    #[track_caller]
    fn finish(self) {
        for (key, run) in [("stranger", &self.stranger), ("doubtful", &self.doubtful)] {
            assert_eq!(self.talks.show(run)["state"], "running", "{key}");
            assert_eq!(self.talks.status(key)["state"], "idle", "{key}");
            self.talks.cancel(run);
        }
        self.alike.assert_untouched();
        self.talks.finish();
    }
}

/// What happened, in its order: kind, run, session.
struct Events(Vec<(String, Option<String>, Option<String>)>);

impl Events {
    fn read(talks: &Talks) -> Self {
        let db = registry(talks);
        let mut statement =
            db.prepare("SELECT kind, run_id, session FROM events ORDER BY seq").expect("a query");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("rows");
        Self(rows.collect::<Result<_, _>>().expect("events"))
    }

    /// Where the only event of this kind about this run or session stands.
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

fn registry(talks: &Talks) -> Connection {
    let db = Connection::open(talks.state().join("tenure.db")).expect("the registry");
    db.busy_timeout(PATIENCE).expect("a deadline");
    db
}

/// Has the row of a session name another as its parent, which its ancestors do not say.
fn pretend(talks: &Talks, key: &str, parent: &str) {
    let sql =
        "UPDATE sessions SET parent = ?2, record = json_set(record, '$.parentSessionKey', ?2) WHERE key = ?1";
    assert_eq!(registry(talks).execute(sql, [key, parent]).expect("written"), 1);
    assert_eq!(talks.status(key)["parentSessionKey"], parent);
}

#[test]
fn a_session_ends_with_all_below_it_children_first_and_nothing_else() {
    let family = Family::new(None);
    let reply = family.talks.does("close", "root", &json!({"reason": "enough"}))["closed"].clone();
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
    assert_eq!(ended, runs, "each run is told once");
    family.assert_ended_children_first();
    for (key, [turn, _]) in &family.runs {
        let turns = family.talks.history(key);
        assert_eq!((turns.len(), &turns[0]["runId"]), (1, &turn.as_str().into()));
        assert_eq!(turns[0]["state"], "cancelled", "{:?}", turns[0]);
    }
    family.finish();
}

#[test]
fn the_next_daemon_closes_what_was_marked_or_half_closed() {
    for point in ["daemon-sessions-marked", "daemon-session-closed"] {
        eprintln!("{point}");
        let family = Family::new(Some(point));
        let talks = &family.talks;
        let daemon = talks.daemon();
        let _unanswered = talks.begin_asking("close", "root", &json!({}));
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(PATIENCE);
        talks.begin();
        talks.wait_state("root", "closed");
        family.assert_ended_children_first();
        for (key, _) in &family.runs {
            let turns = talks.history(key);
            assert_eq!((turns.len(), &turns[0]["state"]), (1, &"cancelled".into()), "{key}: {turns:?}");
        }
        family.finish();
    }
}

#[test]
fn a_family_whose_daemon_was_killed_before_is_closed_like_any_other() {
    let family = Family::new(None);
    family.talks.kill();
    family.talks.begin();
    let reply: Value = family.talks.does("close", "middle", &json!({}))["closed"].clone();
    assert_eq!(reply["closed"], json!(["leaf", "sister", "middle"]), "{reply}");
    assert_eq!(family.talks.status("root")["state"], "busy", "what is above goes on");
    let (_, runs) = &family.runs[0];
    for run in runs {
        assert_eq!(family.talks.show(run)["state"], "running");
    }
    let reply = family.talks.does("close", "root", &json!({}))["closed"].clone();
    assert_eq!(reply["closed"], json!(["root"]), "{reply}");
    family.assert_ended_children_first();
    family.finish();
}
