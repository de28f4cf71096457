//! Lists of tasks, and lookups of one.

use crate::chores::{begun, lived, row, task, task_id, tracked_in};
use crate::sample::{NOW, enrolled, in_session, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{below, end, key, say, spawned, turn_id};
use std::sync::Arc;
use tenure_core::ids::TaskId;
use tenure_core::task::{Kind, Status};
use tenure_store::{Found, NewRun, Outcome, Registry, TaskQuery};

/// Returns the tasks of every page of a list, read page by page.
async fn listed(registry: &Arc<dyn Registry>, mut query: TaskQuery) -> Vec<TaskId> {
    query.limit = 3;
    let mut found = Vec::new();
    loop {
        let page = registry.tasks(query.clone()).await.unwrap();
        assert!(page.tasks.len() <= query.limit);
        found.extend(page.tasks.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

/// Runs 1 to 4 of `a`, of which 1 and 2 have ended, 3 is running and 4 is queued; runs 5 to 9 of `b`, ended; turns
/// 10 to 12 of `a`'s child `c`, the last of which is queued.
async fn world(registry: &Arc<dyn Registry>) {
    enrolled(registry).await;
    lived(registry, tracked_in(1, "a"), 0).await;
    lived(registry, tracked_in(2, "a"), 1).await;
    begun(registry, tracked_in(3, "a")).await;
    registry.create(tracked_in(4, "a")).await.unwrap();
    for number in 5..=9 {
        lived(registry, tracked_in(number, "b"), 0).await;
    }
    registry.spawn_session(below("a", "c")).await.unwrap();
    registry.begin_turn(say(10, "c"), Some(task(10)), instance(1), NOW + 10).await.unwrap();
    assert!(registry.end_turn(turn_id(10), end(Outcome::Done)).await.unwrap());
    registry.begin_turn(say(11, "c"), Some(task(11)), instance(1), NOW + 11).await.unwrap();
    registry.queue_message(say(12, "c"), Some(task(12)), 9).await.unwrap();
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<TaskId> {
    numbers.into_iter().map(task_id).collect()
}

#[test]
fn a_list_has_all_that_is_asked_for_once_and_the_newest_first() {
    on_every_store(async |store| {
        let registry = store.open();
        world(&registry).await;
        let all = TaskQuery::default;
        let list = async |query| listed(&registry, query).await;
        assert_eq!(list(all()).await, ids((1..=12).rev()));
        let status = |statuses: &[Status]| TaskQuery { statuses: statuses.to_vec(), ..all() };
        assert_eq!(list(status(&[Status::Succeeded])).await, ids([10, 9, 8, 7, 6, 5, 1]));
        assert_eq!(
            list(status(&[Status::Queued, Status::Running, Status::Queued])).await,
            ids([12, 11, 4, 3])
        );
        assert_eq!(list(status(&[Status::Lost])).await, []);
        let kind = |kinds: &[Kind]| TaskQuery { kinds: kinds.to_vec(), ..all() };
        assert_eq!(list(kind(&[Kind::Cli])).await, ids([12, 11, 10]));
        assert_eq!(list(kind(&[Kind::Run, Kind::Acp])).await, ids((1..=9).rev()));
        let both = TaskQuery { statuses: vec![Status::Running], ..kind(&[Kind::Cli]) };
        assert_eq!(list(both.clone()).await, ids([11]));
        let owner = TaskQuery { owner: Some(key("a")), ..all() };
        assert_eq!(list(owner.clone()).await, ids([12, 11, 10, 4, 3, 2, 1]));
        assert_eq!(list(TaskQuery { owner: Some(key("a")), ..both }).await, ids([11]));
        assert_eq!(list(TaskQuery { child: Some(key("c")), ..owner }).await, ids([12, 11, 10]));
        let child = TaskQuery { child: Some(key("c")), ..status(&[Status::Queued]) };
        assert_eq!(list(child).await, ids([12]));
        assert_eq!(list(TaskQuery { owner: Some(key("x")), ..all() }).await, []);
        let page = registry.tasks(TaskQuery { limit: 1, ..status(&[Status::Failed]) }).await.unwrap();
        assert_eq!(
            (page.tasks[0].recent_events.len(), page.next),
            (0, None),
            "what happened is shown, not listed"
        );
    });
}

#[test]
fn tasks_of_one_moment_are_all_listed() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for number in 1..=7 {
            let mut run = tracked_in(number, "a");
            run.ticket.created_at_ms = NOW;
            registry.create(run).await.unwrap();
        }
        assert_eq!(listed(&registry, TaskQuery::default()).await, ids((1..=7).rev()));
    });
}

#[test]
fn a_task_is_found_by_its_id_its_run_or_a_session() {
    on_every_store(async |store| {
        let registry = store.open();
        world(&registry).await;
        let find = async |text: &str| match registry.find_task(text.to_owned()).await.unwrap() {
            Found::None => "none".to_owned(),
            Found::One(row) => {
                assert!(!row.recent_events.is_empty());
                format!("{}", row.created_at_ms - NOW)
            }
            Found::Several(ids) => format!("one of {}", ids.len()),
        };
        assert_eq!(find(task_id(3).as_str()).await, "3");
        assert_eq!(find(run_id(3).as_str()).await, "3");
        assert_eq!(find("aaaaaaaa").await, "one of 10");
        assert_eq!(find("aaaaaaaa0000000000000003").await, "3");
        assert_eq!(find("ffff").await, "none");
        assert_eq!(find("").await, "none");
        assert_eq!(find("c").await, "11", "the turn under way");
        assert_eq!(find("b").await, "9", "the newest, for all are over");
        assert_eq!(find("a").await, "one of 4", "two of its own, two of its child's");
        assert_eq!(find("x").await, "none");
        assert_eq!(find("%").await, "none");
        assert!(registry.end_turn(turn_id(11), end(Outcome::Done)).await.unwrap());
        assert_eq!(find("c").await, "12");
    });
}

#[test]
fn reading_changes_nothing() {
    on_every_store(async |store| {
        let registry = store.open();
        world(&registry).await;
        spawned(&registry, &["late"]).await;
        registry.create(NewRun { task: None, ..in_session(20, "late") }).await.unwrap();
        let before = (row(&registry, 1).await, registry.last_event().await.unwrap());
        listed(&registry, TaskQuery::default()).await;
        registry.find_task("a".into()).await.unwrap();
        registry.queued_notices(key("a"), 9).await.unwrap();
        registry.backlog().await.unwrap();
        registry.audit_tasks(NOW + 999_999_999, 9).await.unwrap();
        registry
            .preview_sweep(tenure_store::Sweep {
                now_ms: u64::MAX / 4,
                grace_ms: 1,
                limit: 99,
                removes: true,
            })
            .await
            .unwrap();
        assert_eq!((row(&registry, 1).await, registry.last_event().await.unwrap()), before);
    });
}
