//! The ended runs that exceed the retention.

use crate::sample::{NOW, create_ended, ending, enrolled, hold, ids, instance, new_run, run_id};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::ids::RunId;
use tenure_store::{Change, Registry, Retention};

const ALL: Retention = Retention { age_ms: u64::MAX, count: u64::MAX, bytes: u64::MAX };

/// Runs 1 to 5 ended at `NOW` + their number, with ten bytes each; run 6 is live.
async fn five(registry: &Arc<dyn Registry>) {
    enrolled(registry).await;
    for number in [3, 1, 5, 2, 4] {
        create_ended(registry, new_run(number), ending(number, Reason::Exit)).await;
    }
    registry.create(new_run(6)).await.unwrap();
}

async fn outlived(registry: &Arc<dyn Registry>, keep: Retention, limit: usize) -> Vec<RunId> {
    let rows = registry.outlived(instance(1), keep, NOW + 10, limit).await.unwrap();
    rows.into_iter().map(|run| run.ticket.run_id).collect()
}

#[test]
fn what_is_within_all_limits_stays() {
    on_every_store(async |store| {
        let registry = store.open();
        five(&registry).await;
        assert_eq!(outlived(&registry, ALL, 9).await, []);
        let exact = Retention { age_ms: 9, count: 5, bytes: 50 };
        assert_eq!(outlived(&registry, exact, 9).await, []);
    });
}

#[test]
fn each_limit_lets_the_oldest_go_first() {
    on_every_store(async |store| {
        let registry = store.open();
        five(&registry).await;
        assert_eq!(outlived(&registry, Retention { age_ms: 7, ..ALL }, 9).await, ids(&[1, 2]));
        assert_eq!(outlived(&registry, Retention { count: 3, ..ALL }, 9).await, ids(&[1, 2]));
        assert_eq!(outlived(&registry, Retention { bytes: 29, ..ALL }, 9).await, ids(&[1, 2, 3]));
        assert_eq!(
            outlived(&registry, Retention { age_ms: 8, count: 4, bytes: 20 }, 9).await,
            ids(&[1, 2, 3])
        );
        assert_eq!(outlived(&registry, Retention { count: 0, ..ALL }, 9).await, ids(&[1, 2, 3, 4, 5]));
        assert_eq!(outlived(&registry, Retention { count: 0, ..ALL }, 2).await, ids(&[1, 2]));
    });
}

#[test]
fn runs_that_ended_before_the_clock_was_set_back_go_first() {
    on_every_store(async |store| {
        let registry = store.open();
        five(&registry).await;
        // Runs 4 and 5 ended in the future, so the others ended after the clock was set back.
        let outlived = async |keep| {
            let rows = registry.outlived(instance(1), keep, NOW + 3, 9).await.unwrap();
            rows.into_iter().map(|run| run.ticket.run_id).collect::<Vec<_>>()
        };
        assert_eq!(outlived(ALL).await, []);
        assert_eq!(outlived(Retention { age_ms: 1, ..ALL }).await, ids(&[1]), "none of them by age");
        assert_eq!(outlived(Retention { count: 4, ..ALL }).await, ids(&[4]));
        assert_eq!(outlived(Retention { count: 2, ..ALL }).await, ids(&[4, 5, 1]));
        assert_eq!(outlived(Retention { bytes: 20, ..ALL }).await, ids(&[4, 5, 1]));
    });
}

#[test]
fn hidden_runs_go_first_once_they_have_ended() {
    on_every_store(async |store| {
        let registry = store.open();
        five(&registry).await;
        for number in [4, 6] {
            registry.hide(run_id(number)).await.unwrap();
        }
        assert_eq!(outlived(&registry, ALL, 9).await, ids(&[4]));
        let few = Retention { count: 3, ..ALL };
        assert_eq!(outlived(&registry, few, 9).await, ids(&[4, 1]), "hidden ones are not counted");
        assert_eq!(outlived(&registry, few, 1).await, ids(&[4]));
        assert_eq!(outlived(&registry, few, 0).await, []);
    });
}

#[test]
fn dropped_output_takes_no_room() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let mut dropped = ending(1, Reason::Exit);
        dropped.output.bytes = 1000;
        dropped.output.dropped_bytes = 995;
        create_ended(&registry, new_run(1), dropped).await;
        assert_eq!(outlived(&registry, Retention { bytes: 5, ..ALL }, 9).await, []);
        assert_eq!(outlived(&registry, Retention { bytes: 4, ..ALL }, 9).await, ids(&[1]));
    });
}

#[test]
fn the_runs_of_others_are_neither_counted_nor_in_the_way() {
    on_every_store(async |store| {
        let registry = store.open();
        registry.enrol(instance(2), "there".to_owned(), u64::MAX).await.unwrap();
        five(&registry).await;
        for number in 7..=9 {
            let mut theirs = new_run(number);
            theirs.ticket.owner_instance_id = instance(2);
            registry.create(theirs).await.unwrap();
            let ended = Change::Ended(Box::new(ending(number, Reason::Exit)));
            assert!(registry.record(run_id(number), hold(2), ended, NOW).await.unwrap());
        }
        let of = async |number, keep, limit| {
            let rows = registry.outlived(instance(number), keep, NOW + 10, limit).await.unwrap();
            rows.into_iter().map(|run| run.ticket.run_id).collect::<Vec<_>>()
        };
        assert_eq!(
            of(2, Retention { count: 0, ..ALL }, 2).await,
            ids(&[7, 8]),
            "ours are older, and not in the way"
        );
        assert_eq!(of(2, Retention { count: 3, bytes: 30, ..ALL }, 9).await, []);
        assert_eq!(of(1, Retention { count: 4, ..ALL }, 9).await, ids(&[1]));
    });
}
