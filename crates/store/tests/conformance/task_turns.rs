//! Tasks of turns: they are queued, begin and end with the messages to a session.

use crate::chores::{claimed, key_of, keys, on_slack, row, task, task_id, waiting};
use crate::sample::{NOW, ended as exit_of, enrolled, hold, in_session, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{below, end, key, say, spawned, to, turn_id};
use tenure_core::session::{self, Interaction, SessionState};
use tenure_core::task::{DeliveryStatus, Kind, Status};
use tenure_store::{FinalText, NewRun, NewTask, Outcome, Tracked, TurnEnd};

#[test]
fn a_turn_and_its_task_begin_and_end_together() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["p"]).await;
        registry.spawn_session(below("p", "c")).await.unwrap();
        registry.begin_turn(say(1, "c"), Some(task(1)), instance(1), NOW + 2).await.unwrap();
        let made = row(&registry, 1).await;
        assert_eq!((made.kind, made.status, made.turn), (Kind::Cli, Status::Running, Some(turn_id(1))));
        assert_eq!((made.owner, made.child), (Some(key("p")), Some(key("c"))));
        assert_eq!((made.created_at_ms, made.started_at_ms), (NOW + 1, Some(NOW + 2)));
        assert_eq!(made.interaction, Interaction::ParentOwnedBackground);
        let answer = TurnEnd { text: Some(FinalText::whole("All done.\nReally.")), ..end(Outcome::Done) };
        assert!(registry.end_turn(turn_id(1), answer).await.unwrap());
        let over = row(&registry, 1).await;
        assert_eq!(
            (over.status, over.terminal_summary.as_deref()),
            (Status::Succeeded, Some("All done. Really."))
        );
        assert_eq!(over.delivery, DeliveryStatus::SessionQueued);
        assert_eq!(waiting(&registry, "p").await, [key_of(1, "terminal")]);
        assert_eq!(waiting(&registry, "c").await, [""; 0], "nobody tells a session of its own turn");
        assert!(!registry.end_turn(turn_id(1), end(Outcome::Lost)).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Succeeded);
    });
}

#[test]
fn every_outcome_of_a_turn_is_a_status() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["c"]).await;
        for (number, (outcome, status)) in (1..).zip([
            (Outcome::Done, Status::Succeeded),
            (Outcome::Failed, Status::Failed),
            (Outcome::Cancelled, Status::Cancelled),
            (Outcome::TimedOut, Status::TimedOut),
            (Outcome::Lost, Status::Lost),
        ]) {
            registry.begin_turn(say(number, "c"), Some(task(number)), instance(1), NOW).await.unwrap();
            assert!(registry.end_turn(turn_id(number), end(outcome)).await.unwrap());
            let row = row(&registry, number).await;
            assert_eq!((row.status, row.delivery), (status, DeliveryStatus::NotApplicable), "nobody owns it");
        }
    });
}

#[test]
fn a_message_that_waits_is_a_task_that_is_queued() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["p"]).await;
        let mut child = below("p", "c");
        child.request.kind = session::Kind::Subagent;
        registry.spawn_session(child).await.unwrap();
        registry.begin_turn(say(1, "c"), Some(task(1)), instance(1), NOW).await.unwrap();
        for number in 2..=5 {
            registry.queue_message(say(number, "c"), Some(task(number)), 9).await.unwrap();
        }
        let queued = row(&registry, 2).await;
        assert_eq!(
            (queued.kind, queued.status, queued.started_at_ms),
            (Kind::Subagent, Status::Queued, None)
        );
        assert!(registry.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap());
        registry.take_message(key("c"), instance(2), NOW + 20).await.unwrap().unwrap();
        let began = row(&registry, 2).await;
        assert_eq!((began.status, began.started_at_ms), (Status::Running, Some(NOW + 20)));
        assert_eq!(began.instance, instance(2), "whoever carries it out");
        assert!(registry.withdraw_message(key("c"), turn_id(3), NOW + 21).await.unwrap());
        let withdrawn = row(&registry, 3).await;
        assert_eq!(
            (withdrawn.status, withdrawn.delivery),
            (Status::Cancelled, DeliveryStatus::SessionQueued)
        );
        let closing = to(SessionState::Busy, SessionState::Closing);
        registry.advance_session(key("c"), closing).await.unwrap().unwrap();
        for number in [4, 5] {
            assert_eq!(row(&registry, number).await.status, Status::Cancelled, "{number}");
        }
        assert_eq!(row(&registry, 2).await.status, Status::Running);
        assert_eq!(waiting(&registry, "p").await, [1, 3, 4, 5].map(|number| key_of(number, "terminal")));
    });
}

#[test]
fn the_run_of_a_turn_is_found_with_its_task_and_does_not_end_it() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        spawned(&registry, &["p"]).await;
        registry.spawn_session(below("p", "c")).await.unwrap();
        registry.begin_turn(say(1, "c"), Some(task(1)), instance(1), NOW).await.unwrap();
        assert!(registry.set_turn_run(turn_id(1), run_id(7)).await.unwrap());
        registry.create(NewRun { task: Some(task(2)), ..in_session(7, "c") }).await.unwrap();
        assert_eq!(
            registry.task(Tracked::Task(task_id(2))).await.unwrap(),
            None,
            "the turn's task is the run's"
        );
        assert_eq!(registry.task(Tracked::Run(run_id(7))).await.unwrap().unwrap().id, task_id(1));
        assert!(registry.record(run_id(7), hold(1), exit_of(7), NOW).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Running, "what the agent said decides");
        assert!(registry.end_turn(turn_id(1), end(Outcome::Failed)).await.unwrap());
        assert_eq!(row(&registry, 1).await.status, Status::Failed);
        assert_eq!(waiting(&registry, "p").await, [key_of(1, "terminal")]);
        let seen = async |which| registry.acknowledge_task(which, NOW).await.unwrap();
        assert!(!seen(Tracked::Run(run_id(7))).await, "the run's end is not what the agent said");
        assert!(seen(Tracked::Turn(turn_id(1))).await);
        assert_eq!(waiting(&registry, "p").await, [""; 0]);
    });
}

#[test]
fn whoever_asked_is_told_rather_than_the_parent_and_a_child_in_the_background_reaches_no_channel() {
    on_every_store(async |store| {
        let registry = store.open();
        registry.spawn_session(on_slack("p")).await.unwrap();
        spawned(&registry, &["asker"]).await;
        // The child has a channel of its own, but talks to its parent only; so do its own children.
        let mut child = below("p", "c");
        child.request.origin = Some(crate::chores::slack());
        registry.spawn_session(child).await.unwrap();
        registry.spawn_session(below("c", "g")).await.unwrap();
        for (number, session, owner) in [(1, "c", None), (2, "c", Some("asker")), (3, "g", None)] {
            let task = NewTask { owner: owner.map(key), ..task(number) };
            registry.begin_turn(say(number, session), Some(task), instance(1), NOW).await.unwrap();
            assert!(registry.end_turn(turn_id(number), end(Outcome::Done)).await.unwrap());
        }
        assert_eq!(
            keys(&claimed(&registry, NOW + 99).await),
            [key_of(1, "terminal")],
            "the notifier tells p"
        );
        assert_eq!(waiting(&registry, "asker").await, [key_of(2, "terminal")]);
        assert_eq!(waiting(&registry, "c").await, [key_of(3, "terminal")]);
    });
}
