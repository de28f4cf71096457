//! Cost of an ACP agent under Tenure, against the same agent on a plain pipe: a prompt to a warm agent, and two hundred
//! of them at once; and a page of a session's long history.

pub(crate) mod agent;

use crate::api_client::ApiClient;
use crate::bench_daemon::BenchDaemon;
use crate::samples::{Samples, in_turns};
use crate::subject::Subject;
use crate::table::Row;
use agent::PipedAgent;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const PROMPTS: usize = 500;
/// Time that a prompt may take longer than over a pipe.
const BAR: Duration = Duration::from_millis(2);
const SESSIONS: usize = 200;
const PAGES: usize = 1000;
const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
const PAGE: Duration = Duration::from_millis(5);

/// Starts a daemon that knows the agent.
fn served(state: &Path) -> io::Result<BenchDaemon> {
    std::fs::create_dir_all(state)?;
    let own = std::env::current_exe()?;
    let describes =
        format!("[agents.bench.acp]\ncommand = {:?}\nargs = [\"agent\"]\n", own.display().to_string());
    std::fs::write(state.join("config.toml"), describes)?;
    BenchDaemon::start(state, false)
}

pub(crate) fn measure_prompt(subject: &Subject) -> io::Result<Vec<Row>> {
    let memory = tempfile::Builder::new().prefix("bench-").tempdir_in("/dev/shm")?;
    let (fast, slow) = (memory.path().join("state"), subject.dir().join("prompt"));
    let (in_memory, on_disk) = (served(&fast)?, served(&slow)?);
    let mut piped = PipedAgent::start()?;
    let (mut fast, mut slow) = (in_memory.talk()?, on_disk.talk()?);
    for talk in [&mut fast, &mut slow] {
        spawn(talk, "agent:bench:0")?;
    }
    let mut raw = || timed(|| piped.prompt("hello"));
    let (mut fast, mut slow) =
        (|| timed(|| prompt(&mut fast, "agent:bench:0")), || timed(|| prompt(&mut slow, "agent:bench:0")));
    let [raw, fast, slow] = in_turns(PROMPTS, [&mut raw, &mut fast, &mut slow])?;
    Ok(vec![
        Row::beyond("a prompt to a warm agent, state on tmpfs", &raw, &fast, BAR),
        Row::beyond("a prompt to a warm agent, state on disk", &raw, &slow, BAR),
    ])
}

pub(crate) fn measure_sessions(subject: &Subject) -> io::Result<Vec<Row>> {
    let daemon = served(&subject.dir().join("sessions"))?;
    let piped: Vec<PipedAgent> = (0..SESSIONS).map(|_| PipedAgent::start()).collect::<io::Result<_>>()?;
    let from = Instant::now();
    at_once(piped, |mut agent| agent.prompt("hello"))?;
    let raw = Samples::new(vec![from.elapsed()]);
    let mut talk = daemon.talk()?;
    for number in 0..SESSIONS {
        spawn(&mut talk, &format!("agent:bench:{number}"))?;
    }
    let talks: Vec<(usize, ApiClient)> =
        (0..SESSIONS).map(|number| Ok((number, daemon.talk()?))).collect::<io::Result<_>>()?;
    let from = Instant::now();
    at_once(talks, |(number, mut talk)| prompt(&mut talk, &format!("agent:bench:{number}")))?;
    let kept = Samples::new(vec![from.elapsed()]);
    Ok(vec![Row::ratio(&format!("a prompt to each of {SESSIONS} warm agents at once"), &raw, &kept, None)])
}

/// Runs `each` for all items at the same time.
fn at_once<T: Send>(all: Vec<T>, each: impl Fn(T) -> io::Result<()> + Sync) -> io::Result<()> {
    thread::scope(|scope| {
        let lanes: Vec<_> = all.into_iter().map(|one| scope.spawn(|| each(one))).collect();
        lanes.into_iter().try_for_each(|lane| lane.join().map_err(|_| io::Error::other("a lane panicked"))?)
    })
}

pub(crate) fn measure_entries(subject: &Subject) -> io::Result<Vec<Row>> {
    let (small, large) = (subject.dir().join("entries-few"), subject.dir().join("entries-many"));
    fill(&small, FEW)?;
    fill(&large, MANY)?;
    let (small, large) = (served(&small)?, served(&large)?);
    let mut rows = Vec::new();
    for (what, newest) in [("from its beginning", false), ("from its end", true)] {
        let (mut short, mut long) = (small.talk()?, large.talk()?);
        let (mut few, mut many) = (pages(&mut short, newest), pages(&mut long, newest));
        let [few, many] = in_turns(PAGES, [&mut few, &mut many])?;
        let what = format!("a page of {MANY} entries {what}, raw {FEW}, p99");
        rows.push(Row::within_p99(&what, Some(&few), &many, Some(PAGE)));
    }
    Ok(rows)
}

/// Requests the next page each time; after the last comes the first.
fn pages(talk: &mut ApiClient, newest: bool) -> impl FnMut() -> io::Result<Duration> + '_ {
    let mut after = String::new();
    move || {
        let path = format!("/v1/sessions/agent:bench:0/entries?newestFirst={newest}{after}");
        let from = Instant::now();
        let page = talk.call("GET", &path, "")?;
        let took = from.elapsed();
        let page: Value = serde_json::from_slice(&page)?;
        after = page["next"].as_str().map_or_else(String::new, |next| format!("&after={next}"));
        Ok(took)
    }
}

/// Makes a session with this many entries: copies of real ones, inserted straight into the table.
fn fill(state: &Path, entries: u64) -> io::Result<()> {
    let daemon = served(state)?;
    spawn(&mut daemon.talk()?, "agent:bench:0")?;
    drop(daemon);
    let db = rusqlite::Connection::open(state.join("tenure.db")).map_err(io::Error::other)?;
    db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO entries (session, number, turn, at_ms, kind, body)
         SELECT session, number + 2 * i, turn, at_ms, kind, body FROM n CROSS JOIN
             (SELECT * FROM entries WHERE number <= 2)",
        [i64::try_from(entries / 2).map_err(io::Error::other)?],
    )
    .map(drop)
    .map_err(io::Error::other)
}

/// Makes a session and has its agent answer once.
fn spawn(talk: &mut ApiClient, key: &str) -> io::Result<()> {
    let body = json!({"action": "spawn", "agent": "bench", "backend": "acp", "sessionKey": key, "cwd": "/"});
    talk.call("POST", "/v1/sessions", &body.to_string())?;
    prompt(talk, key)
}

/// Sends a message to a session and waits for the answer.
fn prompt(talk: &mut ApiClient, key: &str) -> io::Result<()> {
    talk.call("POST", &format!("/v1/sessions/{key}/send"), "{\"text\":\"hello\"}")?;
    let turn = talk.call("POST", &format!("/v1/sessions/{key}/wait"), "{}")?;
    let turn: Value = serde_json::from_slice(&turn)?;
    match turn["turn"]["state"].as_str() {
        Some("done") => Ok(()),
        _ => Err(io::Error::other(format!("a turn was not answered: {turn}"))),
    }
}

fn timed(act: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let from = Instant::now();
    act()?;
    Ok(from.elapsed())
}
