//! Events, counters, copies and checks.

use crate::sample::{NOW, create_ended, ended, ending, enrolled, hold, instance, new_run, run_id};
use crate::store::on_every_store;
use serde_json::json;
use tenure_core::ending::{ProcessNote, Reason};
use tenure_core::journal::{JournalEntry, JournalEvent, Proof, Target};
use tenure_core::signal::Signal;
use tenure_store::{Change, Count, Failed, NewEvent, kind};

fn event(at_ms: u64) -> NewEvent {
    NewEvent {
        at_ms,
        kind: "reconciled".into(),
        instance: instance(1),
        run_id: Some(run_id(at_ms % 2)),
        session: Some("agent:a:main".into()),
        detail: json!({ "verdict": "leave", "n": at_ms }),
    }
}

#[test]
fn events_are_told_in_their_order() {
    on_every_store(async |store| {
        let registry = store.open();
        assert_eq!(registry.last_event().await.unwrap(), 0);
        let mut numbers = Vec::new();
        for at_ms in 1..=5 {
            numbers.push(registry.tell(event(at_ms)).await.unwrap());
        }
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert_eq!(registry.last_event().await.unwrap(), numbers[4]);
        let after = registry.events(numbers[1], None, 2).await.unwrap();
        assert_eq!(after.iter().map(|row| row.seq).collect::<Vec<_>>(), numbers[2..4]);
        assert_eq!(after[0].event, event(3));
        let of_run = registry.events(0, Some(run_id(1)), 9).await.unwrap();
        assert_eq!(of_run.iter().map(|row| row.event.at_ms).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(registry.events(numbers[4], None, 9).await.unwrap(), []);
    });
}

#[test]
fn an_events_number_is_never_given_out_again() {
    on_every_store(async |store| {
        let registry = store.open();
        for at_ms in 1..=5 {
            registry.tell(event(at_ms)).await.unwrap();
        }
        let last = registry.last_event().await.unwrap();
        registry.trim_events(3, u64::MAX).await.unwrap();
        let left: Vec<_> =
            registry.events(0, None, 9).await.unwrap().iter().map(|row| row.event.at_ms).collect();
        assert_eq!(left, [3, 4, 5]);
        registry.trim_events(0, 1).await.unwrap();
        assert_eq!(registry.events(0, None, 9).await.unwrap().len(), 1);
        registry.trim_events(0, 0).await.unwrap();
        assert_eq!(registry.events(0, None, 9).await.unwrap(), []);
        assert_eq!(registry.last_event().await.unwrap(), last);
        assert!(registry.tell(event(6)).await.unwrap() > last);
    });
}

#[test]
fn each_count_is_kept_for_itself_and_for_its_instance() {
    on_every_store(async |store| {
        let registry = store.open();
        let mut all: Vec<_> = Reason::ALL.map(Count::Exit).to_vec();
        all.extend([Count::Spawn, Count::TimeoutNoOutput, Count::TimeoutOverall, Count::KillPid]);
        all.extend([Count::KillGroup, Count::KillCgroup, Count::KillJob, Count::Orphan]);
        all.extend([Count::Steal, Count::Escape]);
        for &count in &all {
            registry.count(instance(1), count).await.unwrap();
        }
        registry.count(instance(1), Count::Orphan).await.unwrap();
        all.sort_unstable();
        let times = |count| if count == Count::Orphan { 2 } else { 1 };
        let wanted: Vec<_> = all.into_iter().map(|count| (count, times(count))).collect();
        assert_eq!(registry.counts(instance(1)).await.unwrap(), wanted);
        assert_eq!(registry.counts(instance(2)).await.unwrap(), []);
    });
}

#[test]
fn a_sound_registry_has_nothing_to_say() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        create_ended(&registry, new_run(1), ending(1, Reason::Exit)).await;
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn a_copy_never_replaces_a_file() {
    on_every_store(async |store| {
        let registry = store.open();
        let path = store.path("precious");
        std::fs::write(&path, "mine").unwrap();
        assert!(matches!(registry.backup(path.clone()).await, Err(Failed::Unavailable(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    });
}

#[test]
fn every_daemon_sees_what_another_was_answered() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        enrolled(&one).await;
        for number in 0..50 {
            one.create(new_run(number)).await.unwrap();
            assert!(other.run(run_id(number)).await.unwrap().is_some(), "{number}");
        }
    });
}

fn signalled(at_ms: u64, pid: i32) -> JournalEntry {
    let target = Target::Process { pid, start_time: 1 };
    JournalEntry {
        at_ms,
        what: JournalEvent::Signalled { signal: Signal::TERM, target, proof: Proof::Adopted },
    }
}

#[test]
fn a_journal_is_told_once_however_often_it_is_read_and_before_the_end() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        let processes = vec![ProcessNote { pid: 9, exe: Some("/bin/sleep".into()) }];
        let mut journal = vec![
            JournalEntry { at_ms: 4, what: JournalEvent::FirstOutput },
            JournalEntry { at_ms: 5, what: JournalEvent::Escapees { processes } },
            signalled(6, 7),
        ];
        let note = |journal: &Vec<JournalEntry>| {
            registry.record(run_id(1), hold(1), Change::Noted(journal.clone()), NOW)
        };
        assert!(note(&journal).await.unwrap());
        assert!(!note(&journal).await.unwrap(), "nothing is new");
        journal.push(signalled(8, 8));
        let changes = vec![Change::Noted(journal.clone()), ended(1)];
        assert!(registry.record_all(run_id(1), hold(1), changes, NOW).await.unwrap());
        assert!(!note(&journal).await.unwrap(), "it is over");
        let told = registry.events(0, Some(run_id(1)), 99).await.unwrap();
        let of = |row: &tenure_store::EventRow| {
            (row.event.kind.clone(), row.event.at_ms, row.event.detail["entry"].as_u64())
        };
        let told: Vec<_> = told[told.len() - 4..].iter().map(of).collect();
        let signal = kind::RUN_SIGNALLED.to_owned();
        assert_eq!(told[..2], [(kind::RUN_ESCAPED.to_owned(), 5, Some(1)), (signal.clone(), 6, Some(2))]);
        assert_eq!(told[2], (signal, 8, Some(3)));
        assert_eq!(told[3].0, kind::RUN_ENDED);
    });
}

#[test]
fn an_end_that_is_not_recorded_tells_nothing_of_the_journal() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        let changes = vec![Change::Noted(vec![signalled(6, 7)]), ended(1)];
        let recorded = registry.record_all(run_id(1), hold(2), changes, NOW).await;
        assert_eq!(recorded, Ok(false), "another holds it");
        let told = registry.events(0, Some(run_id(1)), 99).await.unwrap();
        assert!(told.iter().all(|row| row.event.kind != kind::RUN_SIGNALLED), "{told:?}");
    });
}
