//! This test program as another process: a job by name, on a registry by path. It prints each acknowledged change.
//! The parent kills exactly the child that it started, if at all.

use crate::chores::{claimed, exit, on_slack, tracked_in};
use crate::sample::{NOW, ended, ending, enrolled, hold, instance, new_run, run_id, started};
use crate::store::block_on;
use crate::talk::{asked, end, key, say};
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Beat, Change, Failed, Outcome, Registry, Tried};

const JOB: &str = "TENURE_STORE_JOB";
const PATH: &str = "TENURE_STORE_PATH";
/// The prefix of a helper's own lines; the test harness prints others.
const SAYS: &str = "@@";

/// Another process at work.
pub(crate) struct Helper {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Helper {
    /// Starts a job.
    pub(crate) fn start(job: &str, path: &Path) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the processes of this test are its own copies")]
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::helper::helper", "--ignored", "--nocapture", "--test-threads=1"])
            .env(JOB, job)
            .env(PATH, path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Kills the process; returns the lines that it had printed and nobody had read.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.by_ref().collect()
    }

    /// Waits for the end of the process.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let said = self.by_ref().collect();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

impl Iterator for Helper {
    type Item = String;

    /// Returns the next line; `None` when the process has ended.
    fn next(&mut self) -> Option<String> {
        // The harness does not end its own line before the test's first.
        self.lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.split_once(SAYS)?.1.to_owned()))
    }
}

#[test]
#[ignore = "the other process of other tests"]
fn helper() {
    let (Ok(job), Some(path)) = (std::env::var(JOB), std::env::var_os(PATH)) else { return };
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(Path::new(&path)).unwrap());
    let (job, argument) = job.split_once(' ').unwrap_or((&job, ""));
    match job {
        "open" => block_on(async { println!("{SAYS}{}", registry.last_event().await.unwrap()) }),
        "live" => live(&registry, argument.parse().unwrap()),
        "steal" => steal(&registry, argument),
        "tasks" => tasks(&registry, argument.parse().unwrap()),
        "talk" => talk(&registry, argument.parse().unwrap()),
        other => panic!("no such job: {other}"),
    }
}

/// Runs whole lives of runs, many at once, from this number on, until the process is killed.
fn live(registry: &Arc<dyn Registry>, first: u64) {
    const AT_ONCE: u64 = 16;
    block_on(async {
        enrolled(registry).await;
        let lives = (0..AT_ONCE).map(|lane| {
            let registry = registry.clone();
            async move {
                for number in (first + lane..).step_by(usize::try_from(AT_ONCE).unwrap()) {
                    registry.create(new_run(number)).await.unwrap();
                    println!("{SAYS}created {number}.");
                    assert!(registry.record(run_id(number), hold(1), started(), NOW).await.unwrap());
                    println!("{SAYS}started {number}.");
                    assert!(registry.record(run_id(number), hold(1), ended(number), NOW).await.unwrap());
                    println!("{SAYS}ended {number}.");
                }
            }
        });
        let set: Vec<_> = lives.map(tokio::spawn).collect();
        for life in set {
            life.await.unwrap();
        }
    });
}

/// Runs whole lives of runs with their tasks, from this number on, and a notifier that delivers due notices, until
/// the process is killed. The channel's acceptance is printed before the registry learns of it.
fn tasks(registry: &Arc<dyn Registry>, first: u64) {
    block_on(async {
        enrolled(registry).await;
        let _ = registry.spawn_session(on_slack("s")).await;
        registry.release_notices(instance(1), NOW).await.unwrap();
        let working = async {
            for number in first.. {
                registry.create(tracked_in(number, "s")).await.unwrap();
                assert!(registry.record(run_id(number), hold(1), started(), NOW).await.unwrap());
                assert!(registry.record(run_id(number), hold(1), exit(number, 0), NOW).await.unwrap());
                println!("{SAYS}ended {number}.");
            }
        };
        let telling = async {
            loop {
                for it in claimed(registry, NOW).await {
                    println!("{SAYS}accepted {}.", it.claim.key);
                    let key = it.claim.key.clone();
                    assert!(registry.settle_notice(it.claim, Tried::Delivered, NOW).await.unwrap());
                    println!("{SAYS}settled {key}.");
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(working, telling);
    });
}

/// Sends messages to a session, which is created if needed, from this number on, and makes turns of them, until the
/// process is killed.
fn talk(registry: &Arc<dyn Registry>, first: u64) {
    const DEPTH: usize = 4;
    block_on(async {
        let _ = registry.spawn_session(asked("talk")).await;
        let sending = async {
            for number in first.. {
                while let Err(failed) = registry.queue_message(say(number, "talk"), None, DEPTH).await {
                    assert!(matches!(failed, Failed::QueueFull { .. }), "{failed}");
                    tokio::task::yield_now().await;
                }
                println!("{SAYS}queued {number}.");
            }
        };
        let answering = async {
            for left in registry.running_turns(instance(1)).await.unwrap() {
                assert!(registry.end_turn(left.asked.id, end(Outcome::Lost)).await.unwrap());
            }
            loop {
                let Some(turn) = registry.take_message(key("talk"), instance(1), NOW).await.unwrap() else {
                    tokio::task::yield_now().await;
                    continue;
                };
                println!("{SAYS}began {}.", turn.asked.message);
                assert!(registry.end_turn(turn.asked.id, end(Outcome::Done)).await.unwrap());
                println!("{SAYS}ended {}.", turn.asked.message);
            }
        };
        tokio::join!(sending, answering);
    });
}

/// Steals every run that it can get from instance 1: "thief runs incarnation number".
fn steal(registry: &Arc<dyn Registry>, argument: &str) {
    let words: Vec<u64> = argument.split(' ').map(|word| word.parse().unwrap()).collect();
    let [thief, runs, incarnation, number] = words[..] else { panic!("{argument}") };
    let thief = instance(u8::try_from(thief).unwrap());
    block_on(async {
        for run in 0..runs {
            let unseated = Beat { incarnation, number };
            if registry.steal(run_id(run), hold(1), unseated, thief.clone(), NOW + 1).await.unwrap().is_some()
            {
                println!("{SAYS}{run}");
            }
        }
    });
}

/// Returns the ending that a helper gives a run.
pub(crate) fn expected_ending(number: u64) -> Change {
    Change::Ended(Box::new(ending(number, Reason::Exit)))
}
