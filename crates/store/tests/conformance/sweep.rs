//! Maintenance: tasks without backing are lost, old ones are removed, problems are found.

use crate::chores::{
    begun, claimed, exit, key_of, keys, lived, on_slack, row, task, task_id, tracked_in, waiting,
};
use crate::sample::{NOW, enrolled, hold, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{below, end, say, spawned, turn_id};
use tenure_core::task::{DeliveryStatus, FindingCode, Status};
use tenure_core::tools::tasks::TaskReset;
use tenure_store::{NewTask, Outcome, Sweep, Swept, Tracked, Tried};

const HOUR: u64 = 3_600_000;
const GRACE: u64 = 300_000;
/// The grace has passed since the first message.
const LATER: u64 = NOW + 1 + GRACE;

fn at(now_ms: u64) -> Sweep {
    Sweep { now_ms, grace_ms: GRACE, limit: 99, removes: true }
}

#[test]
fn a_turn_that_nobody_carries_out_any_more_is_lost_and_its_late_end_corrects_that() {
    on_every_store(async |store| {
        let registry = store.open();
        registry.enrol(instance(1), "here".into(), NOW).await.unwrap();
        registry.enrol(instance(2), "there".into(), u64::MAX).await.unwrap();
        registry.spawn_session(on_slack("p")).await.unwrap();
        for (number, session, by) in [(1, "c", 1), (2, "d", 2)] {
            registry.spawn_session(below("p", session)).await.unwrap();
            registry.begin_turn(say(number, session), Some(task(number)), instance(by), NOW).await.unwrap();
        }
        registry.queue_message(say(3, "d"), Some(task(3)), 9).await.unwrap();
        let none = Swept::default();
        assert_eq!(registry.preview_sweep(at(LATER - 1)).await.unwrap(), none, "the grace is not over");
        let lost = Swept { lost: vec![task_id(1)], ..none.clone() };
        assert_eq!(registry.preview_sweep(at(LATER)).await.unwrap(), lost);
        assert_eq!(row(&registry, 1).await.status, Status::Running, "that was a preview");
        assert_eq!(registry.sweep_tasks(at(LATER)).await.unwrap(), lost);
        assert_eq!(registry.sweep_tasks(at(LATER)).await.unwrap(), none, "once");
        let given_up = row(&registry, 1).await;
        assert_eq!(given_up.status, Status::Lost);
        assert_eq!(given_up.error.as_deref(), Some("nobody carries its turn out any more"));
        assert_eq!(given_up.cleanup_after_ms, Some(LATER + 24 * HOUR));
        for number in [2, 3] {
            assert!(!row(&registry, number).await.status.is_terminal(), "{number}: its daemon lives");
        }
        // The worker was only away, comes back and reports the end.
        assert!(registry.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap());
        let corrected = row(&registry, 1).await;
        assert_eq!((corrected.status, corrected.delivery), (Status::Succeeded, DeliveryStatus::Pending));
        assert_eq!(corrected.error, None);
        let first = claimed(&registry, LATER).await;
        assert_eq!(keys(&first), [key_of(1, "terminal")], "in this order");
        assert!(registry.settle_notice(first[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Pending, "the correction counts");
        let second = claimed(&registry, LATER).await;
        assert_eq!(keys(&second), [key_of(1, "correction")]);
        assert!(second[0].notice.text.contains("was reported lost, but it"));
        assert!(registry.settle_notice(second[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::Delivered);
    });
}

#[test]
fn a_live_run_is_never_lost_however_silent_it_is() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        begun(&registry, tracked_in(1, "a")).await;
        let later = NOW + 1_000 * HOUR;
        assert_eq!(registry.sweep_tasks(at(later)).await.unwrap(), Swept::default());
        assert_eq!(registry.audit_tasks(later, 9).await.unwrap(), []);
        assert!(!registry.lose_task(task_id(1), "silent".into(), later).await.unwrap());
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), later).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Succeeded);
    });
}

#[test]
fn what_has_ended_goes_after_a_week_with_all_that_is_of_it() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.spawn_session(on_slack("s")).await.unwrap();
        for (number, session) in [(1, "a"), (2, "s"), (3, "a")] {
            lived(&registry, tracked_in(number, session), 0).await;
        }
        let week = NOW + 7 * 24 * HOUR;
        assert_eq!(registry.sweep_tasks(at(week)).await.unwrap(), Swept::default());
        let swept = registry.sweep_tasks(at(week + 2)).await.unwrap();
        assert_eq!(swept, Swept { removed: vec![task_id(1)], ..Swept::default() }, "2 is still to be told");
        assert_eq!(registry.task(Tracked::Task(task_id(1))).await.unwrap(), None);
        assert_eq!(waiting(&registry, "a").await, [key_of(3, "terminal")]);
        let due = claimed(&registry, week).await;
        assert!(registry.settle_notice(due[0].claim.clone(), Tried::Delivered, week).await.unwrap());
        let keeps = Sweep { removes: false, ..at(week + 9) };
        assert_eq!(registry.sweep_tasks(keeps).await.unwrap(), Swept::default(), "the clock is not trusted");
        let few = Sweep { limit: 1, ..at(week + 9) };
        for number in [2, 3] {
            let swept = Swept { removed: vec![task_id(number)], ..Swept::default() };
            assert_eq!(registry.preview_sweep(few).await.unwrap(), swept);
            assert_eq!(registry.sweep_tasks(few).await.unwrap(), swept);
        }
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn an_audit_finds_what_waits_for_too_long_and_what_could_not_be_told() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        spawned(&registry, &["c"]).await;
        let to_slack = NewTask { origin: Some(crate::chores::slack()), ..task(1) };
        registry.begin_turn(say(1, "c"), Some(to_slack), instance(1), NOW).await.unwrap();
        registry.queue_message(say(2, "c"), Some(task(2)), 9).await.unwrap();
        assert!(registry.end_turn(turn_id(1), end(Outcome::Failed)).await.unwrap());
        let due = claimed(&registry, NOW + 99).await;
        let given_up = Tried::GivenUp { error: "404".into() };
        assert!(registry.settle_notice(due[0].claim.clone(), given_up, NOW + 99).await.unwrap());
        let found = registry.audit_tasks(NOW + HOUR, 9).await.unwrap();
        let codes: Vec<_> = found.iter().map(|it| (it.task.id.clone(), it.findings[0].code)).collect();
        assert_eq!(
            codes,
            [(task_id(1), FindingCode::DeliveryFailed), (task_id(2), FindingCode::StaleQueued)]
        );
        assert_eq!(registry.audit_tasks(NOW + HOUR, 1).await.unwrap().len(), 1);
        assert_eq!(registry.audit_tasks(NOW, 9).await.unwrap().len(), 1);
    });
}

#[test]
fn a_reset_discards_tasks_and_notices_and_leaves_runs_and_their_ends() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.spawn_session(on_slack("s")).await.unwrap();
        lived(&registry, tracked_in(1, "s"), 0).await;
        lived(&registry, tracked_in(2, "a"), 1).await;
        begun(&registry, tracked_in(3, "s")).await;
        let there = TaskReset { applied: false, tasks: 3, active: 1, notices: 2 };
        assert_eq!(registry.preview_reset().await.unwrap(), there);
        assert_eq!(registry.backlog().await.unwrap().tasks_running, 1, "looking changes nothing");
        let under_way = claimed(&registry, NOW + 9).await;
        let done = registry.reset_tasks(instance(1), NOW + 9).await.unwrap();
        assert_eq!(done, TaskReset { applied: true, ..there });
        assert_eq!(registry.preview_reset().await.unwrap(), TaskReset::default());
        assert_eq!((claimed(&registry, NOW + 99).await, waiting(&registry, "a").await), (vec![], vec![]));
        let late = registry.settle_notice(under_way[0].claim.clone(), Tried::Delivered, NOW + 10).await;
        assert!(!late.unwrap(), "what was on its way has nobody to say so to");
        let end = exit(3, 0);
        assert!(registry.record(run_id(3), hold(1), end, NOW + 11).await.unwrap());
        let run = registry.run(run_id(3)).await.unwrap().unwrap();
        assert!(run.ending.is_some(), "{run:?}");
        assert_eq!(registry.preview_reset().await.unwrap(), TaskReset::default(), "nobody is told of it");
        let events = registry.events(0, None, 999).await.unwrap();
        assert!(events.iter().any(|row| row.event.kind == "tasks-reset"), "{events:?}");
        assert_eq!(registry.check().await.unwrap(), None);
    });
}
