//! Tasks of runs: created, begun and ended with the work that they track.

use crate::chores::{
    begun, claimed, exit, key_of, keys, lived, on_slack, row, slack, task, task_id, tracked_as, tracked_in,
    waiting,
};
use crate::sample::{
    NOW, ended, ending, enrolled, hold, in_session, instance, leaving, new_run, run_id, started,
};
use crate::store::on_every_store;
use crate::talk::{close, key, spawned, told};
use tenure_core::defaults;
use tenure_core::ending::Reason;
use tenure_core::session::Interaction;
use tenure_core::task::text::LABEL_CHARS;
use tenure_core::task::{DeliveryStatus, EventKind, Kind, NotifyPolicy, Status};
use tenure_core::tools::Notify;
use tenure_store::{CancelAsked, Change, NewRun, NewTask, Tracked, kind};

#[test]
fn a_run_and_its_task_begin_and_end_together() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(tracked_in(1, "agent:a:1")).await.unwrap();
        let made = row(&registry, 1).await;
        assert_eq!(
            (made.kind, made.status, made.policy),
            (Kind::Run, Status::Queued, NotifyPolicy::DoneOnly)
        );
        assert_eq!(
            (made.run.clone(), made.owner.clone(), made.child),
            (Some(run_id(1)), Some(key("agent:a:1")), None)
        );
        assert_eq!((made.delivery, made.label.as_deref()), (DeliveryStatus::Pending, Some("job 1")));
        assert_eq!((made.created_at_ms, made.started_at_ms, made.instance), (NOW + 1, None, instance(1)));
        assert_eq!(made.interaction, Interaction::ParentOwnedBackground);
        assert!(registry.record(run_id(1), hold(1), started(), NOW + 5).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Running);
        assert!(registry.record(run_id(1), hold(1), leaving(), NOW + 6).await.unwrap());
        assert!(registry.record(run_id(1), hold(1), exit(1, 3), NOW + 7).await.unwrap());
        let over = row(&registry, 1).await;
        assert_eq!((over.status, over.error.as_deref()), (Status::Failed, Some("exit 3")));
        assert_eq!(over.outcome.clone().unwrap().exit_code, Some(3));
        assert_eq!((over.delivery, over.last_event_at_ms), (DeliveryStatus::SessionQueued, NOW + 7));
        assert_eq!(over.cleanup_after_ms, Some(over.ended_at_ms.unwrap() + 7 * 86_400_000));
        let events: Vec<_> = over.recent_events.iter().map(|event| event.kind).collect();
        assert_eq!(events, [EventKind::Created, EventKind::Started, EventKind::Ended]);
        assert_eq!(waiting(&registry, "agent:a:1").await, [key_of(1, "terminal")]);
        let kinds = told(&registry, "agent:a:1").await;
        for kind in [kind::TASK_CREATED, kind::TASK_STARTED, kind::TASK_ENDED] {
            assert_eq!(kinds.iter().filter(|it| *it == kind).count(), 1, "{kind}: {kinds:?}");
        }
        assert_eq!(registry.task(Tracked::Run(run_id(1))).await.unwrap(), Some(over));
        assert!(!registry.record(run_id(1), hold(1), exit(1, 0), NOW + 9).await.unwrap(), "once");
        assert_eq!(waiting(&registry, "agent:a:1").await.len(), 1);
    });
}

#[test]
fn what_is_tracked_is_tracked_once() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(tracked_in(1, "a")).await.unwrap();
        let again = NewRun { ticket: tracked_in(1, "a").ticket, task: Some(task(2)), ..new_run(1) };
        assert!(registry.create(again).await.is_err(), "the run is there");
        // The same id for another run is the same task, and the run has none.
        registry.create(NewRun { task: Some(task(1)), ..in_session(3, "a") }).await.unwrap();
        assert_eq!(registry.task(Tracked::Run(run_id(3))).await.unwrap(), None);
        assert_eq!(row(&registry, 1).await.run, Some(run_id(1)));
        registry.create(NewRun { exec: Some(Notify::Always), ..in_session(4, "a") }).await.unwrap();
        for id in [4, 5] {
            registry.go_background(run_id(4), task(id)).await.unwrap();
        }
        assert_eq!(row(&registry, 4).await.run, Some(run_id(4)));
        assert_eq!(registry.task(Tracked::Task(task_id(5))).await.unwrap(), None);
    });
}

#[test]
fn a_run_without_a_task_ends_without_a_word() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        lived(&registry, in_session(1, "a"), 0).await;
        assert_eq!(registry.task(Tracked::Run(run_id(1))).await.unwrap(), None);
        assert_eq!(waiting(&registry, "a").await, [""; 0]);
    });
}

#[test]
fn the_end_is_told_on_the_owners_channel_or_to_its_queue_or_to_nobody() {
    use DeliveryStatus::{NotApplicable, ParentMissing, Pending, SessionQueued};
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.spawn_session(on_slack("s")).await.unwrap();
        spawned(&registry, &["gone"]).await;
        lived(&registry, tracked_in(1, "s"), 0).await;
        lived(&registry, tracked_in(2, "q"), 0).await;
        lived(&registry, NewRun { task: Some(task(3)), ..new_run(3) }, 0).await;
        begun(&registry, tracked_in(4, "gone")).await;
        close(&registry, "gone", NOW).await;
        assert!(registry.record(run_id(4), hold(1), exit(4, 0), NOW).await.unwrap());
        lived(&registry, tracked_as(5, "s", NotifyPolicy::Silent), 0).await;
        let elsewhere = NewTask { owner: Some(key("s")), ..task(6) };
        lived(&registry, NewRun { task: Some(elsewhere), ..in_session(6, "q") }, 0).await;
        let own = NewTask { origin: Some(slack()), ..task(7) };
        lived(&registry, NewRun { task: Some(own), ..new_run(7) }, 0).await;
        let expected =
            [Pending, SessionQueued, NotApplicable, ParentMissing, NotApplicable, Pending, Pending];
        for (number, delivery) in (1..).zip(expected) {
            assert_eq!(row(&registry, number).await.delivery, delivery, "{number}");
        }
        let due = claimed(&registry, NOW + 99).await;
        assert_eq!(keys(&due), [1, 6, 7].map(|number| key_of(number, "terminal")));
        assert_eq!((due[0].notice.origin.clone(), due[0].notice.status), (Some(slack()), Status::Succeeded));
        assert!(
            due[0].notice.text.starts_with("Task job 1 (aaaaaaaa) is done after"),
            "{}",
            due[0].notice.text
        );
        assert_eq!(waiting(&registry, "q").await, [key_of(2, "terminal")]);
    });
}

#[test]
fn a_command_that_goes_to_the_background_has_a_task_from_then_on() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let exec = |number| NewRun { exec: Some(Notify::Auto), ..in_session(number, "a") };
        let quiet = |number| NewTask { tells_quiet_success: false, ..task(number) };
        for number in 1..=3 {
            begun(&registry, exec(number)).await;
        }
        registry.go_background(run_id(1), quiet(1)).await.unwrap();
        let made = row(&registry, 1).await;
        assert_eq!((made.status, made.created_at_ms), (Status::Running, NOW + 1));
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), NOW).await.unwrap());
        assert_eq!(row(&registry, 1).await.delivery, DeliveryStatus::SessionQueued);
        // The run may have ended meanwhile.
        assert!(registry.record(run_id(2), hold(1), exit(2, 1), NOW).await.unwrap());
        registry.go_background(run_id(2), quiet(2)).await.unwrap();
        assert_eq!(row(&registry, 2).await.status, Status::Failed);
        assert_eq!(waiting(&registry, "a").await, [1, 2].map(|number| key_of(number, "terminal")));
        // The run goes there once, and has one task.
        registry.go_background(run_id(3), quiet(3)).await.unwrap();
        registry.go_background(run_id(3), quiet(4)).await.unwrap();
        let tracks = registry.task(Tracked::Run(run_id(3))).await.unwrap().unwrap();
        assert_eq!((tracks.id, tracks.status), (task(3).id, Status::Running));
        for number in 1..=3 {
            assert!(registry.exec_run(run_id(number)).await.unwrap().unwrap().background, "{number}");
        }
    });
}

#[test]
fn a_success_without_a_word_is_not_told_unless_it_is_wanted() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let Change::Ended(mut end) = exit(1, 0) else { panic!() };
        end.output.bytes = 0;
        let quiet = NewTask { tells_quiet_success: false, ..task(1) };
        begun(&registry, NewRun { task: Some(quiet), ..in_session(1, "a") }).await;
        assert!(registry.record(run_id(1), hold(1), Change::Ended(end), NOW).await.unwrap());
        let row = row(&registry, 1).await;
        assert_eq!((row.status, row.delivery), (Status::Succeeded, DeliveryStatus::NotApplicable));
        assert_eq!(waiting(&registry, "a").await, [""; 0]);
    });
}

#[test]
fn every_way_a_run_ends_is_a_status() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for (number, (reason, status)) in (1..).zip([
            (Reason::ManualCancel, Status::Cancelled),
            (Reason::OverallTimeout, Status::TimedOut),
            (Reason::SpawnError, Status::Failed),
            (Reason::ReconciledStale, Status::Lost),
        ]) {
            registry.create(tracked_in(number, "a")).await.unwrap();
            let end = Change::Ended(Box::new(ending(number, reason)));
            assert!(registry.record(run_id(number), hold(1), end, NOW).await.unwrap());
            assert_eq!(row(&registry, number).await.status, status, "{reason}");
        }
        assert_eq!(waiting(&registry, "a").await.len(), 4);
    });
}

#[test]
fn the_wish_to_cancel_is_noted_once_and_a_task_that_is_over_refuses_with_its_status() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        begun(&registry, tracked_in(1, "a")).await;
        let CancelAsked::Noted(noted) = registry.ask_cancel(task_id(1), NOW + 1).await.unwrap() else {
            panic!()
        };
        assert_eq!((noted.status, noted.cancel_asked_at_ms), (Status::Running, Some(NOW + 1)));
        assert_eq!(noted.run, Some(run_id(1)), "what is to be ended");
        assert!(registry.record(run_id(1), hold(1), ended(1), NOW + 2).await.unwrap());
        let CancelAsked::Over(over) = registry.ask_cancel(task_id(1), NOW + 3).await.unwrap() else {
            panic!()
        };
        assert_eq!((over.status, over.cancel_asked_at_ms), (Status::Lost, Some(NOW + 1)));
        assert_eq!(registry.ask_cancel(task_id(9), NOW).await.unwrap(), CancelAsked::NoTask);
    });
}

#[test]
fn progress_is_kept_in_few_words_and_the_events_stay_few() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let note = async |text: &str, at| {
            registry.note_progress(Tracked::Run(run_id(1)), text.to_owned().into(), at).await.unwrap()
        };
        assert!(!note("x", NOW).await, "no such task");
        registry.create(tracked_in(1, "a")).await.unwrap();
        assert!(!note("x", NOW).await, "it has not begun");
        assert!(registry.record(run_id(1), hold(1), started(), NOW).await.unwrap());
        for n in 0..50 {
            assert!(note(&format!("step {n}\u{1b}[0m\n\n"), NOW + n).await);
        }
        let now = row(&registry, 1).await;
        assert_eq!((now.progress_summary.as_deref(), now.last_event_at_ms), (Some("step 49"), NOW + 49));
        let events: Vec<_> = now.recent_events.iter().map(|event| event.kind).collect();
        assert_eq!(events, [EventKind::Created, EventKind::Started, EventKind::Progress]);
        assert!(note(&"y".repeat(1 << 20), NOW + 60).await);
        assert_eq!(row(&registry, 1).await.progress_summary.unwrap().chars().count(), defaults::TASK_SUMMARY);
        for n in 0..60 {
            let policy = NotifyPolicy::ALL[n % 3];
            registry.set_policy(task_id(1), policy, NOW + 100 + n as u64).await.unwrap().unwrap();
        }
        let events = row(&registry, 1).await.recent_events;
        assert_eq!((events.len(), events[0].at_ms), (defaults::TASK_EVENTS, NOW + 140));
        assert!(events.is_sorted_by_key(|event| event.at_ms));
        assert!(registry.record(run_id(1), hold(1), exit(1, 0), NOW + 200).await.unwrap());
        assert!(!note("late", NOW + 201).await);
    });
}

#[test]
fn a_stolen_run_takes_its_task_along() {
    on_every_store(async |store| {
        let registry = store.open();
        registry.enrol(instance(1), "here".into(), NOW).await.unwrap();
        let seen = registry.instances().await.unwrap()[0].beat;
        registry.create(tracked_in(1, "a")).await.unwrap();
        registry.enrol(instance(2), "there".into(), u64::MAX).await.unwrap();
        let unseated = registry.unseat(instance(1), seen, NOW + 1).await.unwrap().unwrap();
        let stolen =
            registry.steal(run_id(1), hold(1), unseated, instance(2), NOW + 2).await.unwrap().unwrap();
        assert_eq!(row(&registry, 1).await.instance, instance(2));
        assert!(registry.record(run_id(1), stolen, exit(1, 0), NOW + 3).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Succeeded);
    });
}

#[test]
fn a_task_outlives_the_record_of_its_run() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        lived(&registry, tracked_in(1, "a"), 0).await;
        registry.forget(vec![run_id(1)]).await.unwrap();
        assert_eq!(registry.run(run_id(1)).await.unwrap(), None);
        assert_eq!(row(&registry, 1).await.status, Status::Succeeded);
    });
}

#[test]
fn a_task_without_a_label_is_called_as_its_run_or_by_the_command() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let nameless = |number| NewTask { label: None, ..task(number) };
        registry.create(NewRun { task: Some(nameless(1)), ..in_session(1, "a") }).await.unwrap();
        assert_eq!(row(&registry, 1).await.label.as_deref(), Some("web"));
        let mut run = NewRun { task: Some(nameless(2)), ..in_session(2, "a") };
        run.ticket.options.label = None;
        registry.create(run).await.unwrap();
        assert_eq!(row(&registry, 2).await.label.as_deref(), Some("npm test"));
        let long = NewTask { label: Some("x\n".repeat(1 << 19)), ..task(3) };
        registry.create(NewRun { task: Some(long), ..in_session(3, "a") }).await.unwrap();
        assert_eq!(row(&registry, 3).await.label.unwrap().chars().count(), LABEL_CHARS);
    });
}
