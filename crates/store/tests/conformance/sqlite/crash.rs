//! A process that writes is killed at any moment: the file stays sound, and what was answered is there.

use super::helper::{Helper, expected_ending};
use crate::sample::{hold, instance, run_id};
use crate::store::block_on;
use std::collections::BTreeMap;
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_core::state::State;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Change, Count, Query, Registry, kind};

const ROUNDS: u64 = 12;
/// More than a round can create.
const APART: u64 = 1_000_000;

#[test]
fn what_was_answered_outlives_a_kill_at_any_moment() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let mut answered: BTreeMap<u64, State> = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut helper = Helper::start(&format!("live {}", round * APART), &path);
        let random = u64::from_ne_bytes(tenure_os::random::bytes().unwrap());
        let moment = usize::try_from(random % 200).unwrap();
        let mut said: Vec<_> = helper.by_ref().take(moment + 1).collect();
        assert_eq!(said.len(), moment + 1, "it ended by itself");
        said.extend(helper.kill());
        for line in said {
            // The last line may be cut off: only what has its full stop was said.
            let Some((what, number)) = line.strip_suffix('.').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let number = number.parse().unwrap();
            let state = match what {
                "created" => State::Starting,
                "started" => State::Running,
                "ended" => State::Exited,
                other => panic!("{other}"),
            };
            answered.insert(number, state);
        }
        block_on(check(&Sqlite::open(&path).unwrap(), &answered));
    }
}

async fn check(registry: &Sqlite, answered: &BTreeMap<u64, State>) {
    assert_eq!(registry.check().await.unwrap(), None);
    for (&number, &state) in answered {
        let row = registry.run(run_id(number)).await.unwrap();
        let row = row.unwrap_or_else(|| panic!("run {number} was answered as {state}, and is gone"));
        assert!(row.state >= state, "run {number} was answered as {state}, and is {}", row.state);
        assert_eq!(row.hold, hold(1));
        if let Some(ending) = row.ending {
            assert_eq!(Change::Ended(Box::new(ending)), expected_ending(number));
        }
    }
    // Recorded, told and counted are one: none of them is ahead of the others.
    let ended = Query { states: vec![State::Exited], limit: usize::MAX >> 1, ..Query::default() };
    let exited = registry.runs(ended).await.unwrap().runs.len() as u64;
    let events = registry.events(0, None, usize::MAX).await.unwrap();
    let told = events.iter().filter(|row| row.event.kind == kind::RUN_ENDED).count() as u64;
    let counts = registry.counts(instance(1)).await.unwrap();
    let counted = counts.iter().find(|(count, _)| *count == Count::Exit(Reason::Exit)).map_or(0, |(_, n)| *n);
    assert_eq!((told, counted), (exited, exited));
}
