//! The registry of the agent's tools: the state of a run towards its owner.

use crate::chores::{exit, key_of, keys, row, task};
use crate::sample::{NOW, create_ended, ending, enrolled, hold, instance, new_run, run_id, told};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::output::Totals;
use tenure_core::task::{DeliveryStatus, NotifyPolicy, exec_ended_channel};
use tenure_core::tools::Notify;
use tenure_store::{Change, Claimed, NewRun, NewTask, Registry, Tracked, Tried};

/// A run of the exec tool.
fn of_exec(number: u64, notify: Notify) -> NewRun {
    NewRun { exec: Some(notify), ..new_run(number) }
}

/// The notices for the listeners of this installation.
async fn due(registry: &Arc<dyn Registry>, of: u8) -> Vec<Claimed> {
    let (now_ms, channel) = (NOW + 1_000, exec_ended_channel(&instance(of)));
    registry.claim_notices(channel, instance(of), now_ms, now_ms, 99).await.unwrap()
}

/// Returns how often this run's end was told.
async fn times_told(registry: &Arc<dyn Registry>, number: u64) -> usize {
    let events = registry.events(0, Some(run_id(number)), 99).await.unwrap();
    events.iter().filter(|row| row.event.kind == "run-notice").count()
}

/// Starts a command that goes to the background and fails.
async fn failed(registry: &Arc<dyn Registry>, number: u64) {
    registry.create(of_exec(number, Notify::Always)).await.unwrap();
    registry.go_background(run_id(number), task(number)).await.unwrap();
    assert!(registry.record(run_id(number), hold(1), exit(number, 3), NOW).await.unwrap());
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
            assert_eq!((row.notify, row.background, row.read_to), (notify, false, None));
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
        first.ticket.options.scope = Some("s".to_owned());
        let second = NewRun { ticket: first.ticket.clone(), ..of_exec(2, Notify::Auto) };
        let mut second = second;
        second.ticket.run_id = run_id(2);
        registry.create(first).await.unwrap();
        registry.create(second).await.unwrap_err();
        assert_eq!(registry.exec_run(run_id(2)).await.unwrap(), None);
    });
}

#[test]
fn the_end_of_a_background_command_is_due_to_listeners_unless_that_is_unwanted() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let quiet = |number| NewTask { tells_quiet_success: false, ..task(number) };
        let silent = |number| NewTask { policy: NotifyPolicy::Silent, ..task(number) };
        let cases = [(quiet(1), 3, 1), (quiet(2), 0, 0), (task(3), 0, 1), (silent(4), 3, 0)];
        for (number, (task, code, times)) in (1..).zip(cases) {
            registry.create(of_exec(number, Notify::Auto)).await.unwrap();
            registry.go_background(run_id(number), task).await.unwrap();
            assert!(due(&registry, 1).await.is_empty(), "{number}: it has not ended");
            let mut change = exit(number, code);
            if let Change::Ended(ending) = &mut change {
                ending.output = Totals::default();
            }
            assert!(registry.record(run_id(number), hold(1), change, NOW).await.unwrap());
            let mut expected = vec![key_of(number, "exec-ended")];
            expected.truncate(times);
            let found = due(&registry, 1).await;
            assert_eq!(keys(&found), expected, "{number}");
            for one in found {
                assert!(registry.settle_notice(one.claim, Tried::Told(told(number)), NOW).await.unwrap());
            }
        }
        // Neither is one that ended in the foreground, nor a run of another face.
        create_ended(&registry, of_exec(8, Notify::Always), ending(8, Reason::Exit)).await;
        let run = NewRun { task: Some(task(9)), ..new_run(9) };
        create_ended(&registry, run, ending(9, Reason::Exit)).await;
        assert!(due(&registry, 1).await.is_empty());
        // A run that had ended before it went to the background is told.
        registry.go_background(run_id(8), task(8)).await.unwrap();
        assert_eq!(keys(&due(&registry, 1).await), [key_of(8, "exec-ended")]);
    });
}

#[test]
fn the_notice_for_listeners_is_no_delivery_and_is_not_among_the_tasks_notices() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for number in [1, 2] {
            failed(&registry, number).await;
        }
        assert_eq!(registry.backlog().await.unwrap().notices_due, 0);
        let claimed = due(&registry, 1).await;
        let claim = claimed[0].claim.clone();
        assert!(registry.settle_notice(claim, Tried::Told(told(1)), NOW).await.unwrap());
        assert!(registry.acknowledge_task(Tracked::Run(run_id(2)), NOW).await.unwrap());
        for number in [1, 2] {
            let row = row(&registry, number).await;
            assert_eq!(row.delivery, DeliveryStatus::NotApplicable);
            assert!(registry.task_notices(row.id.clone()).await.unwrap().is_empty());
            assert_eq!(registry.retry_notices(row.id, NOW).await.unwrap(), 0);
        }
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
            failed(&registry, number).await;
            let claim = due(&registry, 1).await.remove(0).claim;
            let mut settled = Vec::new();
            for told_of in order {
                settled.push(if told_of {
                    registry.settle_notice(claim.clone(), Tried::Told(told(number)), NOW).await.unwrap()
                } else {
                    registry.acknowledge_task(Tracked::Run(run_id(number)), NOW).await.unwrap()
                });
            }
            assert_eq!(settled, [true, false, false], "{order:?}");
            assert_eq!(times_told(&registry, number).await, usize::from(order[0]), "{order:?}");
            // Going to the background a second time changes nothing.
            registry.go_background(run_id(number), task(number + 50)).await.unwrap();
            assert!(due(&registry, 1).await.is_empty());
        }
    });
}

#[test]
fn of_two_daemons_that_tell_and_see_at_once_exactly_one_does() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        enrolled(&one).await;
        for number in 1..=40 {
            failed(&one, number).await;
            let claim = due(&one, 1).await.remove(0).claim;
            // All four calls are in progress before any is awaited.
            let calls = [
                one.settle_notice(claim.clone(), Tried::Told(told(number)), NOW),
                other.acknowledge_task(Tracked::Run(run_id(number)), NOW),
                other.settle_notice(claim, Tried::Told(told(number)), NOW),
                one.acknowledge_task(Tracked::Run(run_id(number)), NOW),
            ];
            let mut settled = Vec::new();
            for call in calls {
                settled.push(call.await.unwrap());
            }
            assert_eq!(settled.iter().filter(|settled| **settled).count(), 1, "{settled:?}");
            let told_of = settled[0] || settled[2];
            assert_eq!(times_told(&one, number).await, usize::from(told_of));
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
        assert_eq!((row.notify, row.background), (Notify::Always, false));
        assert_eq!(registry.exec_run(run_id(9)).await.unwrap(), None, "a run that is not there");
    });
}

#[test]
fn listeners_hear_of_the_runs_of_their_own_installation() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.enrol(instance(2), "there".to_owned(), u64::MAX).await.unwrap();
        failed(&registry, 1).await;
        let mut run = of_exec(2, Notify::Always);
        run.ticket.owner_instance_id = instance(2);
        registry.create(run).await.unwrap();
        registry.go_background(run_id(2), task(2)).await.unwrap();
        assert!(registry.record(run_id(2), hold(2), exit(2, 3), NOW).await.unwrap());
        assert_eq!(keys(&due(&registry, 1).await), [key_of(1, "exec-ended")]);
        assert_eq!(keys(&due(&registry, 2).await), [key_of(2, "exec-ended")]);
    });
}

#[test]
fn a_run_that_is_forgotten_is_forgotten_by_the_tools_too() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        create_ended(&registry, of_exec(1, Notify::Always), ending(1, Reason::Exit)).await;
        registry.forget(vec![run_id(1)]).await.unwrap();
        assert_eq!(registry.exec_run(run_id(1)).await.unwrap(), None);
        registry.create(of_exec(1, Notify::Never)).await.unwrap();
        // A run that is not there goes nowhere.
        registry.go_background(run_id(9), task(9)).await.unwrap();
        assert_eq!(registry.task(Tracked::Run(run_id(9))).await.unwrap(), None);
    });
}
