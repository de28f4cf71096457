//! Notices in delivery: claimed by one daemon at a time, retried, given up, withdrawn, and never told twice.

use crate::chores::{
    begun, claimed, exit, key_of, keys, lived, on_slack, row, task_id, tracked_as, tracked_in, waiting,
};
use crate::sample::{NOW, ending, enrolled, hold, instance, run_id};
use crate::store::{Store, on_every_store};
use crate::talk::{close, key};
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::task::{DeliveryStatus, NotifyPolicy, Status};
use tenure_store::{Backlog, Change, Registry, Tracked, Tried};

async fn world(store: &Store) -> Arc<dyn Registry> {
    let registry = store.open();
    enrolled(&registry).await;
    registry.spawn_session(on_slack("s")).await.unwrap();
    registry
}

fn again(at_ms: u64) -> Tried {
    Tried::Again { error: "500\u{1b}[31m\nfrom them".to_owned(), at_ms }
}

fn given_up() -> Tried {
    Tried::GivenUp { error: "refused".to_owned() }
}

#[test]
fn a_notice_is_one_notifiers_at_a_time_and_delivered_once() {
    on_every_store(async |store| {
        let one = world(store).await;
        let two = store.open();
        lived(&one, tracked_in(1, "s"), 0).await;
        let mine = claimed(&one, NOW + 5).await;
        assert_eq!((keys(&mine), mine[0].tries), (vec![key_of(1, "terminal")], 1));
        assert!(claimed(&two, NOW + 34).await.is_empty(), "another has it");
        assert!(one.renew_notice(mine[0].claim.clone(), NOW + 60).await.unwrap());
        assert!(claimed(&two, NOW + 59).await.is_empty());
        assert!(one.settle_notice(mine[0].claim.clone(), Tried::Delivered, NOW + 59).await.unwrap());
        assert_eq!(row(&one, 1).await.delivery, DeliveryStatus::Delivered);
        assert!(claimed(&two, NOW + 9_999).await.is_empty());
        assert!(
            !one.settle_notice(mine[0].claim.clone(), again(0), NOW + 60).await.unwrap(),
            "it is settled"
        );
        assert!(!one.renew_notice(mine[0].claim.clone(), NOW + 99).await.unwrap());
        assert_eq!(one.retry_notices(task_id(1), NOW).await.unwrap(), 0);
        assert!(!one.acknowledge_task(Tracked::Task(task_id(1)), NOW).await.unwrap());
    });
}

#[test]
fn a_notice_that_was_left_is_tried_again_under_its_key_and_the_late_one_has_no_say() {
    on_every_store(async |store| {
        let registry = world(store).await;
        lived(&registry, tracked_in(1, "s"), 0).await;
        let first = claimed(&registry, NOW + 5).await;
        let second = claimed(&registry, NOW + 35).await;
        assert_eq!((&second[0].notice, second[0].tries), (&first[0].notice, 2));
        assert!(!registry.settle_notice(first[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert!(!registry.renew_notice(first[0].claim.clone(), NOW + 999).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Pending);
        // After a start, the instance's own claims are free at once.
        assert!(claimed(&registry, NOW + 40).await.is_empty());
        assert_eq!(registry.release_notices(instance(2), NOW + 40).await.unwrap(), 0);
        assert_eq!(registry.release_notices(instance(1), NOW + 40).await.unwrap(), 1);
        let third = claimed(&registry, NOW + 40).await;
        assert_eq!(third[0].tries, 2, "a try that a death cut short is none");
        assert!(!registry.settle_notice(second[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert!(registry.settle_notice(third[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
    });
}

#[test]
fn what_failed_is_tried_again_when_it_is_due_and_goes_to_the_queue_when_it_is_given_up() {
    on_every_store(async |store| {
        let registry = world(store).await;
        lived(&registry, tracked_in(1, "s"), 0).await;
        let first = claimed(&registry, NOW + 5).await;
        assert!(registry.settle_notice(first[0].claim.clone(), again(NOW + 500), NOW + 6).await.unwrap());
        assert_eq!(registry.next_notices().await.unwrap(), [("slack".to_owned(), NOW + 500)]);
        assert!(claimed(&registry, NOW + 499).await.is_empty());
        let why = registry.task_notices(task_id(1)).await.unwrap()[0].last_error.clone();
        assert_eq!(why.as_deref(), Some("500 from them"));
        let second = claimed(&registry, NOW + 500).await;
        assert!(registry.settle_notice(second[0].claim.clone(), given_up(), NOW + 501).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::SessionQueued);
        let queued = registry.queued_notices(key("s"), 9).await.unwrap();
        assert_eq!((queued.len(), queued[0].last_error.as_deref()), (1, Some("refused")));
        assert_eq!(registry.next_notices().await.unwrap(), []);
        let shown = registry.task_notices(task_id(1)).await.unwrap();
        assert_eq!((shown.len(), shown[0].state.as_str(), shown[0].attempts), (1, "queued", 2));
        assert_eq!((shown[0].channel.as_deref(), shown[0].settled_at_ms), (Some("slack"), Some(NOW + 501)));
        // An operator can still send it to its channel, until it is taken.
        assert_eq!(registry.retry_notices(task_id(1), NOW + 502).await.unwrap(), 1);
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Pending);
        let third = claimed(&registry, NOW + 502).await;
        assert_eq!((keys(&third), third[0].tries), (keys(&first), 1));
        assert!(registry.settle_notice(third[0].claim.clone(), given_up(), NOW + 503).await.unwrap());
        let taken = async |name: &str| {
            let of = vec![first[0].claim.key.clone()];
            registry.take_notices(key(name), of, NOW + 504).await.unwrap()
        };
        assert_eq!((taken("other").await, taken("s").await, taken("s").await), (0, 1, 0));
        assert_eq!(waiting(&registry, "s").await, [""; 0]);
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::SessionQueued);
        assert_eq!(registry.retry_notices(task_id(1), NOW).await.unwrap(), 0);
    });
}

#[test]
fn what_neither_the_channel_nor_the_session_takes_has_failed_and_can_be_retried() {
    on_every_store(async |store| {
        let registry = world(store).await;
        lived(&registry, tracked_in(1, "s"), 0).await;
        close(&registry, "s", NOW).await;
        let first = claimed(&registry, NOW + 5).await;
        assert!(registry.settle_notice(first[0].claim.clone(), given_up(), NOW + 6).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Failed);
        let backlog = Backlog { notices_failed: 1, ..Backlog::default() };
        assert_eq!(registry.backlog().await.unwrap(), backlog);
        assert_eq!(registry.retry_notices(task_id(1), NOW + 7).await.unwrap(), 1);
        let second = claimed(&registry, NOW + 7).await;
        assert_eq!(keys(&second), keys(&first));
        assert!(registry.settle_notice(second[0].claim.clone(), Tried::Delivered, NOW + 8).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Delivered);
    });
}

#[test]
fn an_owner_who_saw_the_end_is_not_told_it() {
    on_every_store(async |store| {
        let registry = world(store).await;
        begun(&registry, tracked_in(1, "s")).await;
        let seen = async |number| registry.acknowledge_task(Tracked::Run(run_id(number)), NOW).await.unwrap();
        assert!(!seen(1).await, "there is nothing to see yet");
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), NOW).await.unwrap());
        assert!(seen(1).await && !seen(1).await);
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Delivered);
        // A queued notice is withdrawn too; one in delivery is not retried.
        lived(&registry, tracked_in(2, "q"), 0).await;
        assert!(seen(2).await);
        assert_eq!(waiting(&registry, "q").await, [""; 0]);
        lived(&registry, tracked_in(3, "s"), 0).await;
        let on_its_way = claimed(&registry, NOW + 9).await;
        assert_eq!(keys(&on_its_way), [key_of(3, "terminal")]);
        assert!(seen(3).await);
        assert!(!registry.renew_notice(on_its_way[0].claim.clone(), NOW + 99).await.unwrap());
        assert!(!registry.settle_notice(on_its_way[0].claim.clone(), again(NOW), NOW).await.unwrap());
        assert!(claimed(&registry, NOW + 9_999).await.is_empty());
        assert!(!seen(9).await);
    });
}

#[test]
fn changes_are_told_in_order_and_the_latest_stands_for_those_before_it() {
    on_every_store(async |store| {
        let registry = world(store).await;
        let note = async |text: &str, at| {
            registry.note_progress(Tracked::Task(task_id(1)), text.to_owned().into(), at).await.unwrap()
        };
        begun(&registry, tracked_as(1, "s", NotifyPolicy::StateChanges)).await;
        let started = claimed(&registry, NOW).await;
        assert_eq!(keys(&started), [key_of(1, "change-1")]);
        assert!(started[0].notice.text.ends_with("has started."));
        assert!(note("one", NOW + 1_000).await, "too soon to be told");
        assert!(note("two", NOW + 15_000).await && note("three", NOW + 30_000).await);
        // The first is in delivery again; no other overtakes it.
        let first = claimed(&registry, NOW + 30_000).await;
        assert_eq!(keys(&first), [key_of(1, "change-1")]);
        assert!(
            registry.settle_notice(first[0].claim.clone(), Tried::Delivered, NOW + 30_001).await.unwrap()
        );
        let second = claimed(&registry, NOW + 30_001).await;
        assert_eq!(keys(&second), [key_of(1, "change-3")], "the second is overtaken");
        assert!(second[0].notice.text.ends_with("Last output: three"));
        assert!(registry.settle_notice(second[0].claim.clone(), given_up(), NOW + 30_002).await.unwrap());
        assert_eq!(waiting(&registry, "s").await, [""; 0], "nobody reads later how it went");
        assert!(note("four", NOW + 60_000).await);
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), NOW + 60_001).await.unwrap());
        let last = claimed(&registry, NOW + 60_001).await;
        assert_eq!(keys(&last), [key_of(1, "terminal")], "the end stands for all");
        assert!(last[0].notice.text.ends_with("Last output: four"), "{}", last[0].notice.text);
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Pending);
    });
}

#[test]
fn the_policy_can_be_changed_at_any_time() {
    on_every_store(async |store| {
        let registry = world(store).await;
        let set = async |number, policy| registry.set_policy(task_id(number), policy, NOW).await.unwrap();
        assert_eq!(set(9, NotifyPolicy::Silent).await, None);
        begun(&registry, tracked_in(1, "s")).await;
        assert_eq!(set(1, NotifyPolicy::Silent).await.unwrap().delivery, DeliveryStatus::NotApplicable);
        assert_eq!(set(1, NotifyPolicy::StateChanges).await.unwrap().delivery, DeliveryStatus::Pending);
        assert_eq!(set(1, NotifyPolicy::Silent).await.unwrap().policy, NotifyPolicy::Silent);
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), NOW).await.unwrap());
        assert_eq!(set(1, NotifyPolicy::DoneOnly).await.unwrap().delivery, DeliveryStatus::NotApplicable);
        assert!(claimed(&registry, NOW + 99).await.is_empty(), "the end was not to be told when it came");
        for number in [2, 3] {
            lived(&registry, tracked_in(number, "s"), 0).await;
        }
        assert_eq!(set(2, NotifyPolicy::Silent).await.unwrap().delivery, DeliveryStatus::NotApplicable);
        let on_its_way = claimed(&registry, NOW + 99).await;
        assert_eq!(keys(&on_its_way), [key_of(3, "terminal")]);
        assert_eq!(set(3, NotifyPolicy::Silent).await.unwrap().delivery, DeliveryStatus::Pending);
        assert!(registry.settle_notice(on_its_way[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert_eq!(row(&registry, 3).await.delivery, DeliveryStatus::Delivered);
    });
}

#[test]
fn what_waits_for_its_next_try_is_tried_at_once_if_somebody_wants_that() {
    on_every_store(async |store| {
        let registry = world(store).await;
        lived(&registry, tracked_in(1, "s"), 0).await;
        let retry = async || registry.retry_notices(task_id(1), NOW + 7).await.unwrap();
        assert_eq!(retry().await, 0, "it has not been tried yet");
        let first = claimed(&registry, NOW + 5).await;
        assert_eq!(retry().await, 0, "it is on its way");
        assert!(registry.settle_notice(first[0].claim.clone(), again(NOW + 500), NOW + 6).await.unwrap());
        assert_eq!(retry().await, 1);
        let second = claimed(&registry, NOW + 7).await;
        assert_eq!((keys(&second), second[0].tries), (keys(&first), 1));
    });
}

/// A notice in delivery is not called back, but it is the last one.
#[test]
fn whoever_asks_for_silence_meanwhile_is_not_tried_again() {
    on_every_store(async |store| {
        let registry = world(store).await;
        for (number, tried) in [(1, again(NOW + 200)), (2, given_up())] {
            lived(&registry, tracked_in(number, "s"), 0).await;
            let on_its_way = claimed(&registry, NOW + 99).await;
            registry.set_policy(task_id(number), NotifyPolicy::Silent, NOW).await.unwrap();
            assert!(registry.settle_notice(on_its_way[0].claim.clone(), tried, NOW).await.unwrap());
            assert_eq!(row(&registry, number).await.delivery, DeliveryStatus::NotApplicable);
            let shown = registry.task_notices(task_id(number)).await.unwrap();
            assert_eq!((shown[0].state.as_str(), shown[0].last_error.is_some()), ("dropped", true));
            assert!(claimed(&registry, NOW + 9_999).await.is_empty());
            assert!(waiting(&registry, "s").await.is_empty());
        }
    });
}

#[test]
fn whoever_wants_no_changes_any_more_does_not_hear_those_that_wait() {
    on_every_store(async |store| {
        let registry = world(store).await;
        for (number, policy) in [(1, NotifyPolicy::DoneOnly), (2, NotifyPolicy::Silent)] {
            begun(&registry, tracked_as(number, "s", NotifyPolicy::StateChanges)).await;
            registry.set_policy(task_id(number), policy, NOW).await.unwrap();
            let shown = registry.task_notices(task_id(number)).await.unwrap();
            let states: Vec<&str> = shown.iter().map(|one| one.state.as_str()).collect();
            assert_eq!(states, ["dropped"]);
        }
        assert!(claimed(&registry, NOW + 99).await.is_empty());
    });
}

#[test]
fn what_lives_is_not_given_up_and_what_is_lost_is_not_lost_again() {
    on_every_store(async |store| {
        let registry = world(store).await;
        begun(&registry, tracked_in(1, "s")).await;
        let lose = async || registry.lose_task(task_id(1), "gone".into(), NOW).await.unwrap();
        assert!(!lose().await, "its run lives");
        let unknown = Change::Ended(Box::new(ending(1, Reason::ReconciledStale)));
        assert!(registry.record(run_id(1), hold(1), unknown, NOW).await.unwrap());
        let row = row(&registry, 1).await;
        assert_eq!((row.status, row.delivery), (Status::Lost, DeliveryStatus::Pending));
        assert!(!lose().await);
        assert_eq!(keys(&claimed(&registry, NOW).await), [key_of(1, "terminal")]);
    });
}

#[test]
fn the_backlog_counts_what_is_not_settled() {
    on_every_store(async |store| {
        let registry = world(store).await;
        registry.create(tracked_in(1, "s")).await.unwrap();
        begun(&registry, tracked_in(2, "s")).await;
        for (number, session) in [(3, "s"), (4, "s"), (5, "q")] {
            lived(&registry, tracked_in(number, session), 0).await;
        }
        let first = claimed(&registry, NOW + 99).await;
        assert!(registry.settle_notice(first[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        let expected = Backlog {
            tasks_queued: 1,
            tasks_running: 1,
            notices_due: 1,
            notices_queued: 1,
            notices_failed: 0,
        };
        assert_eq!(registry.backlog().await.unwrap(), expected);
    });
}
