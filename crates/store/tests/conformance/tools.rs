//! What the registry keeps for the agent's tools: where a run stands with its owner.

use crate::sample::{
    NOW, create_ended, ended, ending, enrolled, hold, instance, new_run, run_id, started, told,
};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::tools::Notify;
use tenure_store::{NewRun, Notice, Registry};

/// A run of the exec tool.
fn of_exec(number: u64, notify: Notify) -> NewRun {
    NewRun { exec: Some(notify), ..new_run(number) }
}

async fn notice(registry: &Arc<dyn Registry>, number: u64) -> Option<Notice> {
    registry.exec_run(run_id(number)).await.unwrap().map(|row| row.notice)
}

/// How often this run's end is told of.
async fn times_told(registry: &Arc<dyn Registry>, number: u64) -> usize {
    let events = registry.events(0, Some(run_id(number)), 99).await.unwrap();
    events.iter().filter(|row| row.event.kind == "run-notice").count()
}

#[test]
fn a_run_of_exec_stands_in_the_foreground_at_first_and_another_run_nowhere() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        for (number, notify) in (2..).zip([Notify::Auto, Notify::Always, Notify::Never]) {
            registry.create(of_exec(number, notify)).await.unwrap();
            let row = registry.exec_run(run_id(number)).await.unwrap().unwrap();
            assert_eq!(
                (row.notify, row.background, row.notice, row.read_to),
                (notify, false, Notice::None, None)
            );
        }
        assert_eq!(registry.exec_run(run_id(1)).await.unwrap(), None);
        assert_eq!(registry.exec_run(run_id(9)).await.unwrap(), None);
    });
}

#[test]
fn a_run_that_is_not_recorded_leaves_no_trace_of_exec() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let mut first = of_exec(1, Notify::Auto);
        first.ticket.scope = Some("s".to_owned());
        let second = NewRun { ticket: first.ticket.clone(), ..of_exec(2, Notify::Auto) };
        let mut second = second;
        second.ticket.run_id = run_id(2);
        registry.create(first).await.unwrap();
        registry.create(second).await.unwrap_err();
        assert_eq!(registry.exec_run(run_id(2)).await.unwrap(), None);
    });
}

#[test]
fn an_end_in_the_background_is_owed_unless_that_was_not_wanted() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let expected =
            [(Notify::Auto, Notice::Owed), (Notify::Always, Notice::Owed), (Notify::Never, Notice::None)];
        for (number, (notify, owed)) in (1..).zip(expected) {
            registry.create(of_exec(number, notify)).await.unwrap();
            registry.go_background(run_id(number), None).await.unwrap();
            let row = registry.exec_run(run_id(number)).await.unwrap().unwrap();
            assert_eq!((row.background, row.notice), (true, owed), "{notify:?}");
        }
        registry.go_background(run_id(9), None).await.unwrap();
        assert_eq!(registry.exec_run(run_id(9)).await.unwrap(), None, "a run that is not there");
        registry.create(new_run(8)).await.unwrap();
        registry.go_background(run_id(8), None).await.unwrap();
        assert_eq!(registry.exec_run(run_id(8)).await.unwrap(), None, "a run of another face");
    });
}

#[test]
fn what_was_told_or_seen_is_not_owed_again_by_going_to_the_background_twice() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for number in [1, 2] {
            registry.create(of_exec(number, Notify::Always)).await.unwrap();
            registry.go_background(run_id(number), None).await.unwrap();
        }
        assert!(registry.tell_owed(run_id(1), told(1)).await.unwrap());
        assert!(registry.acknowledge(run_id(2)).await.unwrap());
        for number in [1, 2] {
            registry.go_background(run_id(number), None).await.unwrap();
        }
        assert_eq!(notice(&registry, 1).await, Some(Notice::Told));
        assert_eq!(notice(&registry, 2).await, Some(Notice::Acknowledged));
    });
}

#[test]
fn an_end_is_told_or_seen_and_that_once_in_whatever_order() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let (tell, see) = (true, false);
        for (number, order) in
            (1..).zip([[tell, tell, see], [tell, see, see], [see, tell, see], [see, see, tell]])
        {
            registry.create(of_exec(number, Notify::Always)).await.unwrap();
            let settle = async |told_of| {
                if told_of {
                    registry.tell_owed(run_id(number), told(number)).await.unwrap()
                } else {
                    registry.acknowledge(run_id(number)).await.unwrap()
                }
            };
            assert!(!settle(order[0]).await, "in the foreground nothing is owed");
            registry.go_background(run_id(number), None).await.unwrap();
            let mut settled = Vec::new();
            for told_of in order {
                settled.push(settle(told_of).await);
            }
            assert_eq!(settled, [true, false, false], "{order:?}");
            let (stands, times) = if order[0] { (Notice::Told, 1) } else { (Notice::Acknowledged, 0) };
            assert_eq!(notice(&registry, number).await, Some(stands), "the first stands: {order:?}");
            assert_eq!(times_told(&registry, number).await, times, "{order:?}");
        }
        assert!(!registry.acknowledge(run_id(99)).await.unwrap());
        assert!(!registry.tell_owed(run_id(99), told(99)).await.unwrap());
        assert_eq!(times_told(&registry, 99).await, 0);
    });
}

#[test]
fn of_two_daemons_that_tell_and_see_at_once_exactly_one_does() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        enrolled(&one).await;
        for number in 1..=40 {
            one.create(of_exec(number, Notify::Always)).await.unwrap();
            one.go_background(run_id(number), None).await.unwrap();
            // All four are under way before any is waited for.
            let calls = [
                one.tell_owed(run_id(number), told(number)),
                other.acknowledge(run_id(number)),
                other.tell_owed(run_id(number), told(number)),
                one.acknowledge(run_id(number)),
            ];
            let mut settled = Vec::new();
            for call in calls {
                settled.push(call.await.unwrap());
            }
            assert_eq!(settled.iter().filter(|settled| **settled).count(), 1, "{settled:?}");
            let told_of = settled[0] || settled[2];
            assert_eq!(times_told(&one, number).await, usize::from(told_of));
            let stands = if told_of { Notice::Told } else { Notice::Acknowledged };
            assert_eq!(notice(&other, number).await, Some(stands));
        }
    });
}

#[test]
fn up_to_where_was_read_is_kept_for_every_run_that_is_there() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(of_exec(1, Notify::Always)).await.unwrap();
        registry.create(new_run(2)).await.unwrap();
        for mark in ["{\"at\":1}", "{\"at\":2}"] {
            for number in [1, 2, 9] {
                registry.read_to(run_id(number), mark.to_owned()).await.unwrap();
            }
            for number in [1, 2] {
                let row = registry.exec_run(run_id(number)).await.unwrap().unwrap();
                assert_eq!(row.read_to.as_deref(), Some(mark));
            }
        }
        let row = registry.exec_run(run_id(1)).await.unwrap().unwrap();
        assert_eq!((row.notify, row.background, row.notice), (Notify::Always, false, Notice::None));
        registry.go_background(run_id(2), None).await.unwrap();
        assert_eq!(notice(&registry, 2).await, Some(Notice::None), "nobody is told of another face's run");
        assert_eq!(registry.exec_run(run_id(9)).await.unwrap(), None, "a run that is not there");
    });
}

#[test]
fn what_is_owed_is_of_runs_that_have_ended_and_are_ours() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.enrol(instance(2), "there".to_owned(), u64::MAX).await.unwrap();
        for number in 1..=5 {
            let mut run = of_exec(number, Notify::Always);
            if number == 5 {
                run.ticket.owner_instance_id = instance(2);
            }
            registry.create(run).await.unwrap();
        }
        for number in [1, 2, 4, 5] {
            registry.go_background(run_id(number), None).await.unwrap();
        }
        assert!(registry.record(run_id(2), hold(1), started(), NOW).await.unwrap());
        for (number, owner) in [(1, 1), (3, 1), (4, 1), (5, 2)] {
            assert!(registry.record(run_id(number), hold(owner), ended(number), NOW).await.unwrap());
        }
        assert!(registry.acknowledge(run_id(4)).await.unwrap());
        // 2 runs, 3 ended in the foreground, 4 was seen, 5 is another's.
        assert_eq!(registry.owed(instance(1)).await.unwrap(), [run_id(1)]);
        assert_eq!(registry.owed(instance(2)).await.unwrap(), [run_id(5)]);
        assert!(registry.tell_owed(run_id(1), told(1)).await.unwrap());
        assert_eq!(registry.owed(instance(1)).await.unwrap(), []);
    });
}

#[test]
fn a_run_that_is_forgotten_is_forgotten_by_the_tools_too() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        create_ended(&registry, of_exec(1, Notify::Always), ending(1, Reason::Exit)).await;
        registry.go_background(run_id(1), None).await.unwrap();
        registry.forget(vec![run_id(1)]).await.unwrap();
        assert_eq!(registry.exec_run(run_id(1)).await.unwrap(), None);
        assert_eq!(registry.owed(instance(1)).await.unwrap(), []);
        registry.create(of_exec(1, Notify::Never)).await.unwrap();
    });
}
