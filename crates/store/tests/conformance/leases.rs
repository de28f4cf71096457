//! Leases: the right to act on a run, and its transfer.

use crate::sample::{NOW, ended, enrolled, hold, instance, new_run, run_id, started};
use crate::store::{Store, block_on, on_every_store};
use std::sync::{Arc, Barrier};
use tenure_store::{Beat, Count, Failed, Hold, Registry, kind};

/// Run 1 of instance 1, which has expired and was unseated; instance 2 exists.
async fn abandoned(registry: &Arc<dyn Registry>) -> Beat {
    let seen = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
    registry.enrol(instance(2), String::new(), u64::MAX).await.unwrap();
    registry.create(new_run(1)).await.unwrap();
    registry.unseat(instance(1), seen, NOW + 1).await.unwrap().unwrap()
}

async fn steal(registry: &Arc<dyn Registry>, from: Hold, unseated: Beat, at_ms: u64) -> Option<Hold> {
    registry.steal(run_id(1), from, unseated, instance(2), at_ms).await.unwrap()
}

#[test]
fn a_run_of_an_unseated_owner_changes_hands_once() {
    on_every_store(async |store| {
        let registry = store.open();
        let unseated = abandoned(&registry).await;
        let taken = steal(&registry, hold(1), unseated, NOW + 1).await.unwrap();
        assert_eq!(taken, Hold { instance: instance(2), epoch: 2 });
        assert_eq!(steal(&registry, hold(1), unseated, NOW + 1).await, None, "it is not the old owner's");
        let row = registry.run(run_id(1)).await.unwrap().unwrap();
        assert_eq!((row.hold, row.expires_at_ms, row.updated_at_ms), (taken, u64::MAX, NOW + 1));
        assert_eq!(registry.counts(instance(2)).await.unwrap(), [(Count::Steal, 1)]);
        let last = registry.events(0, Some(run_id(1)), 10).await.unwrap().pop().unwrap().event;
        assert_eq!((last.kind.as_str(), last.instance), (kind::LEASE_STOLEN, instance(2)));
        assert_eq!(last.detail["owner"]["from"], instance(1).as_str());
        assert_eq!((&last.detail["epoch"]["from"], &last.detail["epoch"]["to"]), (&1.into(), &2.into()));
    });
}

#[test]
fn nothing_is_taken_from_an_owner_that_is_there() {
    on_every_store(async |store| {
        let registry = store.open();
        let unseated = abandoned(&registry).await;
        assert_eq!(steal(&registry, hold(1), unseated, NOW).await, None, "not expired at that time");
        let seen = Beat { incarnation: unseated.incarnation - 1, ..unseated };
        assert_eq!(steal(&registry, hold(1), seen, NOW + 1).await, None, "not unseated by that beat");
        registry.enrol(instance(1), String::new(), NOW).await.unwrap();
        assert_eq!(steal(&registry, hold(1), unseated, NOW + 1).await, None, "it is back");
    });
}

#[test]
fn a_run_that_has_ended_is_not_taken() {
    on_every_store(async |store| {
        let registry = store.open();
        let unseated = abandoned(&registry).await;
        assert!(registry.record(run_id(1), hold(1), ended(1), NOW).await.unwrap());
        assert_eq!(steal(&registry, hold(1), unseated, NOW + 1).await, None);
    });
}

#[test]
fn a_lease_is_not_taken_at_another_epoch_or_for_one_who_is_not_enrolled() {
    on_every_store(async |store| {
        let registry = store.open();
        let unseated = abandoned(&registry).await;
        let other = Hold { epoch: 7, ..hold(1) };
        assert_eq!(steal(&registry, other, unseated, NOW + 1).await, None);
        let to = registry.steal(run_id(1), hold(1), unseated, instance(9), NOW + 1).await;
        assert!(matches!(to, Err(Failed::Unavailable(_))));
        assert_eq!(registry.run(run_id(1)).await.unwrap().unwrap().hold, hold(1));
    });
}

#[test]
fn only_the_holder_at_the_current_epoch_records() {
    on_every_store(async |store| {
        let registry = store.open();
        let unseated = abandoned(&registry).await;
        let taken = steal(&registry, hold(1), unseated, NOW + 1).await.unwrap();
        for stale in [hold(1), Hold { epoch: 1, ..taken.clone() }, Hold { epoch: 2, ..hold(1) }] {
            assert!(!registry.record(run_id(1), stale, started(), NOW).await.unwrap());
        }
        assert!(registry.record(run_id(1), taken, started(), NOW).await.unwrap());
    });
}

#[test]
fn a_run_needs_an_owner_that_is_enrolled() {
    on_every_store(async |store| {
        let registry = store.open();
        assert!(matches!(registry.create(new_run(1)).await, Err(Failed::Unavailable(_))));
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
    });
}

#[test]
fn of_all_who_try_to_take_a_lease_exactly_one_gets_it() {
    const ROUNDS: u64 = 50;
    const THIEVES: u8 = 4;
    on_every_store(async |store| {
        let unseated = owner_of_many(store, ROUNDS, THIEVES).await;
        let start = Barrier::new(THIEVES.into());
        let handles: Vec<_> = (0..THIEVES).map(|_| store.open()).collect();
        let won: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let thieves = (2..).zip(&handles).map(|(number, registry)| {
                let start = &start;
                scope.spawn(move || {
                    let take = |run: u64| {
                        start.wait();
                        let taken = registry.steal(run_id(run), hold(1), unseated, instance(number), NOW + 1);
                        block_on(taken).unwrap().is_some()
                    };
                    (0..ROUNDS).filter(|&run| take(run)).collect::<Vec<_>>()
                })
            });
            let thieves: Vec<_> = thieves.collect();
            thieves.into_iter().map(|thief| thief.join().unwrap()).collect()
        });
        let mut all = won.concat();
        all.sort_unstable();
        assert_eq!(all, (0..ROUNDS).collect::<Vec<_>>());
        for (number, runs) in (2..).zip(&won) {
            let counted = handles[0].counts(instance(number)).await.unwrap();
            assert_eq!(counted.first().map_or(0, |(_, n)| *n), runs.len() as u64);
        }
    });
}

async fn owner_of_many(store: &Store, runs: u64, thieves: u8) -> Beat {
    let registry = store.open();
    let seen = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
    for number in 0..thieves {
        registry.enrol(instance(number + 2), String::new(), u64::MAX).await.unwrap();
    }
    for number in 0..runs {
        registry.create(new_run(number)).await.unwrap();
    }
    registry.unseat(instance(1), seen, NOW + 1).await.unwrap().unwrap()
}
