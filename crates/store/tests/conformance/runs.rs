//! The life of a run in the registry.

use crate::sample::{
    NOW, create_ended, ended, ending, enrolled, hold, in_scope, instance, leaving, new_run, note, run_id,
    started,
};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::ending::{Cause, ProcessNote, Reason};
use tenure_core::state::State;
use tenure_store::{Change, Count, Failed, Registry, kind};

#[test]
fn a_run_is_known_as_it_was_asked_for() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let mut asked = new_run(1);
        asked.ticket.options.session_id = Some("agent:main:ö \"1\"".into());
        registry.create(asked.clone()).await.unwrap();
        let row = registry.run(run_id(1)).await.unwrap().unwrap();
        assert_eq!(
            (row.ticket, row.directory, row.asked_by),
            (asked.ticket, asked.directory, asked.asked_by)
        );
        assert_eq!((row.hold, row.expires_at_ms, row.state), (hold(1), u64::MAX, State::Starting));
        assert_eq!((row.cause, row.note, row.ending, row.hidden), (None, None, None, false));
        assert_eq!(row.updated_at_ms, NOW + 1);
        assert_eq!(registry.run(run_id(2)).await.unwrap(), None);
    });
}

#[test]
fn a_run_is_recorded_once() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        assert!(matches!(registry.create(new_run(1)).await, Err(Failed::Unavailable(_))));
        assert_eq!(registry.events(0, Some(run_id(1)), 10).await.unwrap().len(), 1);
    });
}

#[test]
fn a_scope_has_one_live_run() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(in_scope(1, "s")).await.unwrap();
        let taken = Failed::ScopeTaken { scope: "s".into(), holder: run_id(1) };
        assert_eq!(registry.create(in_scope(2, "s")).await, Err(taken.clone()));
        registry.create(in_scope(3, "t")).await.unwrap();
        registry.hide(run_id(1)).await.unwrap();
        assert_eq!(registry.create(in_scope(2, "s")).await, Err(taken), "hidden is not ended");
        assert!(registry.record(run_id(1), hold(1), ended(1), NOW).await.unwrap());
        registry.create(in_scope(2, "s")).await.unwrap();
    });
}

async fn counts(registry: &Arc<dyn Registry>) -> Vec<(Count, u64)> {
    registry.counts(instance(1)).await.unwrap()
}

#[test]
fn each_step_is_recorded_told_and_counted_once() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        let cancel =
            Change::Leaving { cause: Some(Cause::ManualCancel), detail: Some("a client asked".into()) };
        let end = Change::Ended(Box::new(ending(1, Reason::ManualCancel)));
        for (step, change) in (1..).zip([started(), cancel, end]) {
            assert!(registry.record(run_id(1), hold(1), change.clone(), NOW + step).await.unwrap());
            assert!(!registry.record(run_id(1), hold(1), change, NOW + step).await.unwrap(), "again");
        }
        let row = registry.run(run_id(1)).await.unwrap().unwrap();
        assert_eq!(
            (row.state, row.cause, row.note),
            (State::Exited, Some(Cause::ManualCancel), Some(note()))
        );
        assert_eq!(row.ending, Some(ending(1, Reason::ManualCancel)));
        assert_eq!(row.updated_at_ms, NOW + 3);
        let events = registry.events(0, Some(run_id(1)), 10).await.unwrap();
        let kinds: Vec<_> = events.iter().map(|row| row.event.kind.as_str()).collect();
        assert_eq!(kinds, [kind::RUN_CREATED, kind::RUN_STARTED, kind::RUN_LEAVING, kind::RUN_ENDED]);
        assert_eq!(events[0].event.detail["command"][0], "npm");
        assert_eq!(
            (&events[1].event.detail["pid"], &events[1].event.detail["boundary"]),
            (&101.into(), &"cgroup".into())
        );
        assert_eq!(events[2].event.detail["cause"], "manual-cancel");
        assert_eq!(
            (&events[3].event.detail["reason"], &events[3].event.detail["cause"]),
            (&"manual-cancel".into(), &"manual-cancel".into())
        );
        assert_eq!(counts(&registry).await, [(Count::Spawn, 1), (Count::Exit(Reason::ManualCancel), 1)]);
    });
}

#[test]
fn a_run_never_goes_back() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        assert!(registry.record(run_id(1), hold(1), ended(1), NOW).await.unwrap(), "the daemon was away");
        let other = Change::Ended(Box::new(ending(1, Reason::ReconciledStale)));
        for change in [started(), leaving(), other] {
            assert!(!registry.record(run_id(1), hold(1), change, NOW).await.unwrap());
        }
        let row = registry.run(run_id(1)).await.unwrap().unwrap();
        assert_eq!((row.state, row.note), (State::Exited, None));
        assert_eq!(row.ending, Some(ending(1, Reason::Exit)), "the first ending stands");
        assert_eq!(counts(&registry).await, [(Count::Exit(Reason::Exit), 1)]);
    });
}

#[test]
fn a_run_that_is_asked_to_leave_before_its_start_is_known_has_started_all_the_same() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        assert!(registry.record(run_id(1), hold(1), leaving(), NOW).await.unwrap());
        assert!(registry.record(run_id(1), hold(1), started(), NOW).await.unwrap());
        let row = registry.run(run_id(1)).await.unwrap().unwrap();
        assert_eq!((row.state, row.note), (State::Exiting, Some(note())));
        assert!(!registry.record(run_id(1), hold(1), started(), NOW).await.unwrap());
    });
}

#[test]
fn timeouts_and_escapes_are_counted_beside_the_reason() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let mut escaped = ending(4, Reason::Exit);
        escaped.termination.escapees.push(ProcessNote { pid: 77, exe: None });
        let endings = [
            ending(1, Reason::OverallTimeout),
            ending(2, Reason::NoOutputTimeout),
            ending(3, Reason::OwnershipEscape),
            escaped,
        ];
        for (number, ending) in (1..).zip(endings) {
            create_ended(&registry, new_run(number), ending).await;
        }
        let counts = counts(&registry).await;
        let value = |count| counts.iter().find(|(is, _)| *is == count).map_or(0, |(_, value)| *value);
        assert_eq!((value(Count::TimeoutOverall), value(Count::TimeoutNoOutput)), (1, 1));
        assert_eq!((value(Count::Escape), value(Count::Exit(Reason::OwnershipEscape))), (2, 1));
        assert_eq!(value(Count::Spawn), 0);
    });
}

#[test]
fn a_run_that_is_not_there_is_not_recorded() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        assert!(!registry.record(run_id(1), hold(1), started(), NOW).await.unwrap());
        assert_eq!(counts(&registry).await, []);
    });
}

#[test]
fn only_runs_that_have_ended_are_forgotten() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        create_ended(&registry, new_run(2), ending(2, Reason::Exit)).await;
        registry.forget(vec![run_id(1), run_id(2), run_id(3)]).await.unwrap();
        assert!(registry.run(run_id(1)).await.unwrap().is_some());
        assert_eq!(registry.run(run_id(2)).await.unwrap(), None);
        let last = registry.events(0, Some(run_id(2)), 10).await.unwrap().pop().unwrap().event;
        assert_eq!((last.kind.as_str(), &last.detail["reason"]), (kind::RUN_REMOVED, &"exit".into()));
        registry.create(new_run(2)).await.unwrap();
    });
}

#[test]
fn a_hidden_run_is_known_by_its_id_alone() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        registry.hide(run_id(1)).await.unwrap();
        registry.hide(run_id(1)).await.unwrap();
        registry.hide(run_id(9)).await.unwrap();
        assert!(registry.run(run_id(1)).await.unwrap().unwrap().hidden);
        assert_eq!(registry.find(String::new(), 9).await.unwrap(), []);
        assert_eq!(registry.unfinished().await.unwrap().runs.len(), 1);
        let events = registry.events(0, None, 10).await.unwrap();
        assert_eq!(events.iter().filter(|row| row.event.kind == kind::RUN_HIDDEN).count(), 1);
    });
}
