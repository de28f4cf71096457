//! Turns and queued messages.

use crate::sample::{NOW, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{asked, begun, end, key, say, session, spawned, state, to, told, turn_id};
use std::sync::Arc;
use tenure_core::defaults;
use tenure_core::session::SessionState;
use tenure_store::{Failed, FinalText, Outcome, Registry, Side, TurnEnd, TurnPage, TurnState, kind};

fn busy(session: &str, turn: u64) -> Failed {
    Failed::SessionBusy { key: key(session), turn: turn_id(turn) }
}

fn numbers(page: &TurnPage) -> Vec<u64> {
    page.turns.iter().map(|turn| turn.number).collect()
}

/// Returns the queued messages of a session.
async fn waiting(registry: &Arc<dyn Registry>, session: &str) -> Vec<String> {
    registry.messages(key(session)).await.unwrap().into_iter().map(|it| it.turn.message).collect()
}

#[test]
fn a_turn_makes_its_session_busy_and_its_end_makes_it_idle() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a"]).await;
        let turn = begun(&registry, 1, "a").await;
        assert_eq!((turn.number, turn.state, turn.ended_at_ms), (1, TurnState::Running, None));
        assert_eq!((turn.asked.clone(), turn.instance.clone()), (say(1, "a"), instance(1)));
        assert_eq!(registry.turn(turn_id(1)).await.unwrap(), Some(turn.clone()));
        assert_eq!(registry.active_turn(key("a")).await.unwrap(), Some(turn));
        assert_eq!(state(&registry, "a").await, SessionState::Busy);
        assert!(registry.set_turn_run(turn_id(1), run_id(7)).await.unwrap());
        let answer = TurnEnd { resume: Some("r".into()), error: Some("e".into()), ..end(Outcome::Failed) };
        assert!(registry.end_turn(turn_id(1), answer).await.unwrap());
        let turn = registry.turn(turn_id(1)).await.unwrap().unwrap();
        assert_eq!(
            (turn.state, turn.ended_at_ms, turn.run),
            (TurnState::Failed, Some(NOW + 9), Some(run_id(7)))
        );
        assert_eq!((turn.text, turn.error.as_deref()), (Some(FinalText::whole("done")), Some("e")));
        let row = session(&registry, "a").await;
        assert_eq!((row.row.state, row.resume.as_deref(), row.turns), (SessionState::Idle, Some("r"), 1));
        assert_eq!(row.row.updated_at_ms, NOW + 9);
        assert_eq!(registry.active_turn(key("a")).await.unwrap(), None);
        assert!(!registry.set_turn_run(turn_id(1), run_id(8)).await.unwrap(), "it has ended");
        assert_eq!(begun(&registry, 2, "a").await.number, 2);
        let kinds = [kind::SESSION_CREATED, kind::TURN_STARTED, kind::TURN_ENDED, kind::TURN_STARTED];
        assert_eq!(told(&registry, "a").await, kinds);
    });
}

#[test]
fn a_turn_ends_once_and_every_way_to_end_is_kept() {
    use Outcome::{Cancelled, Done, Failed, Lost, TimedOut};
    on_every_store(async |store| {
        let (one, two) = (store.open(), store.open());
        spawned(&one, &["a"]).await;
        let ways = [
            (Done, TurnState::Done),
            (Failed, TurnState::Failed),
            (Cancelled, TurnState::Cancelled),
            (TimedOut, TurnState::TimedOut),
            (Lost, TurnState::Lost),
        ];
        for (number, (outcome, state)) in (1..).zip(ways) {
            begun(&one, number, "a").await;
            let (a, b) =
                (one.end_turn(turn_id(number), end(outcome)), two.end_turn(turn_id(number), end(outcome)));
            assert!(a.await.unwrap() != b.await.unwrap());
            // A late end of this turn must not end the next one.
            begun(&one, number + 50, "a").await;
            assert!(!two.end_turn(turn_id(number), end(Done)).await.unwrap());
            assert_eq!(one.turn(turn_id(number)).await.unwrap().unwrap().state, state);
            assert_eq!(session(&one, "a").await.row.state, SessionState::Busy);
            assert!(two.end_turn(turn_id(number + 50), end(Done)).await.unwrap());
        }
        assert!(!one.end_turn(turn_id(99), end(Done)).await.unwrap(), "there is none");
        let ended = told(&one, "a").await.into_iter().filter(|it| it == kind::TURN_ENDED).count();
        assert_eq!(ended, 10);
    });
}

#[test]
fn of_all_that_begin_a_turn_at_once_one_does_and_the_others_are_told_which() {
    on_every_store(async |store| {
        let registries = [store.open(), store.open()];
        for round in 0..10 {
            let name = format!("s:{round}");
            spawned(&registries[0], &[&name]).await;
            let tries: Vec<_> = (0..4_u64)
                .map(|n| (round * 10 + n, usize::try_from(n % 2).unwrap()))
                .map(|(n, which)| registries[which].begin_turn(say(n, &name), None, instance(1), NOW))
                .collect();
            let mut answers = Vec::new();
            for answer in tries {
                answers.push(answer.await);
            }
            let begun: Vec<_> = answers.iter().flatten().map(|turn| turn.asked.id.clone()).collect();
            assert_eq!(begun.len(), 1);
            let busy = Failed::SessionBusy { key: key(&name), turn: begun[0].clone() };
            assert!(answers.into_iter().filter_map(Result::err).all(|failed| failed == busy));
        }
    });
}

#[test]
fn a_turn_that_cannot_begin_leaves_nothing_behind() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b"]).await;
        begun(&registry, 1, "a").await;
        let begin = |number, session: &str| registry.begin_turn(say(number, session), None, instance(1), NOW);
        assert_eq!(begin(2, "a").await, Err(busy("a", 1)));
        assert_eq!(registry.turn(turn_id(2)).await.unwrap(), None);
        assert_eq!(begin(2, "x").await, Err(Failed::NoSession { key: key("x") }));
        assert_eq!(begin(1, "b").await, Err(Failed::TurnTaken { turn: turn_id(1) }));
        assert_eq!(state(&registry, "b").await, SessionState::Idle);
        assert_eq!((session(&registry, "a").await.turns, session(&registry, "b").await.turns), (1, 0));
        assert!(registry.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap());
        registry.queue_message(say(3, "a"), None, 9).await.unwrap();
        assert_eq!(begin(4, "a").await, Err(Failed::MessagesWait { key: key("a"), waiting: 1 }));
    });
}

#[test]
fn a_long_text_is_cut_between_characters_and_the_cut_is_stated() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a"]).await;
        let cap = defaults::TURN_TEXT;
        for (number, text, cut, kept, out) in [
            (1, "x".repeat(cap), 0, cap, 0),
            (2, "x".repeat(cap + 7), 5, cap, 12),
            (3, format!("{}ü!", "x".repeat(cap - 1)), 0, cap - 1, 3),
        ] {
            begun(&registry, number, "a").await;
            let text = Some(FinalText { text, cut_bytes: cut });
            registry.end_turn(turn_id(number), TurnEnd { text, ..end(Outcome::Done) }).await.unwrap();
            let text = registry.turn(turn_id(number)).await.unwrap().unwrap().text.unwrap();
            assert_eq!((text.text.len(), text.cut_bytes), (kept, out), "{number}");
        }
    });
}

#[test]
fn turns_are_read_in_pages_from_both_ends() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b"]).await;
        for number in 1..=5 {
            begun(&registry, number, "a").await;
            registry.end_turn(turn_id(number), end(Outcome::Done)).await.unwrap();
        }
        begun(&registry, 6, "b").await;
        let page = async |side, limit, bytes| registry.turns(key("a"), side, limit, bytes).await.unwrap();
        let first = page(Side::After(0), 2, u64::MAX).await;
        assert_eq!((numbers(&first), first.next), (vec![1, 2], Some(Side::After(2))));
        let rest = page(Side::After(2), 3, u64::MAX).await;
        assert_eq!((numbers(&rest), rest.next), (vec![3, 4, 5], None));
        let last = page(Side::Before(u64::MAX), 2, u64::MAX).await;
        assert_eq!((numbers(&last), last.next), (vec![5, 4], Some(Side::Before(4))));
        assert_eq!(numbers(&page(Side::Before(4), 9, u64::MAX).await), [3, 2, 1]);
        // "message 1" and "done" are thirteen bytes.
        let short = page(Side::After(0), 9, 26).await;
        assert_eq!((numbers(&short), short.next), (vec![1, 2], Some(Side::After(2))));
        let one = page(Side::After(0), 9, 0).await;
        assert_eq!((numbers(&one), one.next), (vec![1], Some(Side::After(1))), "one is always there");
        assert_eq!(page(Side::After(0), 0, 9).await, TurnPage::default());
        assert_eq!(registry.turns(key("x"), Side::After(0), 9, 9).await.unwrap(), TurnPage::default());
    });
}

#[test]
fn the_turns_that_an_instance_left_running_are_found() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b", "c", "d"]).await;
        for (number, session, by) in [(4, "a", 1), (2, "b", 1), (1, "c", 2), (3, "d", 1)] {
            registry.begin_turn(say(number, session), None, instance(by), NOW + number).await.unwrap();
        }
        registry.end_turn(turn_id(3), end(Outcome::Done)).await.unwrap();
        let left = registry.running_turns(instance(1)).await.unwrap();
        assert_eq!(left.into_iter().map(|turn| turn.asked.id).collect::<Vec<_>>(), [turn_id(2), turn_id(4)]);
        assert_eq!(registry.running_turns(instance(3)).await.unwrap(), []);
    });
}

#[test]
fn messages_wait_in_their_order_and_become_turns_one_by_one() {
    on_every_store(async |store| {
        let (one, two) = (store.open(), store.open());
        spawned(&one, &["a", "b"]).await;
        begun(&one, 1, "a").await;
        for (before, number) in (0..).zip([5, 3, 4]) {
            assert_eq!(one.queue_message(say(number, "a"), None, 9).await, Ok(before));
        }
        assert_eq!(one.queue_message(say(2, "b"), None, 9).await, Ok(0));
        assert_eq!(waiting(&two, "a").await, ["message 5", "message 3", "message 4"]);
        assert_eq!(session(&two, "a").await.queued, 3);
        assert_eq!(two.take_message(key("a"), instance(2), NOW).await, Ok(None), "it is busy");
        one.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap();
        let (x, y) =
            (one.take_message(key("a"), instance(1), NOW), two.take_message(key("a"), instance(2), NOW));
        let taken: Vec<_> = [x.await.unwrap(), y.await.unwrap()].into_iter().flatten().collect();
        assert_eq!(taken.len(), 1, "two that take at once");
        assert_eq!((&taken[0].asked, taken[0].number), (&say(5, "a"), 2));
        assert_eq!(one.active_turn(key("a")).await.unwrap().as_ref(), taken.first());
        assert_eq!(waiting(&one, "a").await, ["message 3", "message 4"]);
        assert_eq!(
            one.take_message(key("x"), instance(1), NOW).await,
            Err(Failed::NoSession { key: key("x") })
        );
        let queued = told(&one, "a").await.into_iter().filter(|it| it == kind::MESSAGE_QUEUED).count();
        assert_eq!(queued, 3);
        assert_eq!(one.check().await.unwrap(), None);
    });
}

#[test]
fn a_full_queue_is_an_answer_and_holds_among_daemons() {
    on_every_store(async |store| {
        let registries = [store.open(), store.open()];
        spawned(&registries[0], &["a", "b"]).await;
        let tries: Vec<_> = (0..10_u64)
            .map(|n| registries[usize::try_from(n % 2).unwrap()].queue_message(say(n, "a"), None, 3))
            .collect();
        let mut kept = 0;
        for answer in tries {
            match answer.await {
                Ok(before) => {
                    assert_eq!(before, kept);
                    kept += 1;
                }
                Err(failed) => assert_eq!(failed, Failed::QueueFull { key: key("a"), waiting: 3 }),
            }
        }
        assert_eq!((kept, waiting(&registries[0], "a").await.len()), (3, 3));
        assert_eq!(registries[0].queue_message(say(20, "b"), None, 3).await, Ok(0), "another's is not full");
        let refused = registries[0].queue_message(say(21, "b"), None, 0).await;
        assert_eq!(refused, Err(Failed::QueueFull { key: key("b"), waiting: 1 }));
    });
}

#[test]
fn a_message_is_sent_once() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b"]).await;
        registry.queue_message(say(1, "a"), None, 9).await.unwrap();
        let again = |session| registry.queue_message(say(1, session), None, 9);
        let taken = Err(Failed::TurnTaken { turn: turn_id(1) });
        assert_eq!(again("a").await, taken);
        assert_eq!(again("b").await, taken);
        registry.take_message(key("a"), instance(1), NOW).await.unwrap().unwrap();
        assert_eq!(again("a").await, taken);
        registry.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap();
        assert_eq!(again("b").await, taken);
        assert_eq!(
            registry.queue_message(say(2, "x"), None, 9).await,
            Err(Failed::NoSession { key: key("x") })
        );
    });
}

#[test]
fn a_withdrawn_message_is_never_a_turn() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b"]).await;
        for number in 1..=3 {
            registry.queue_message(say(number, "a"), None, 9).await.unwrap();
        }
        let withdraw = |session, number| registry.withdraw_message(key(session), turn_id(number), NOW);
        assert!(!withdraw("b", 1).await.unwrap(), "it is another's");
        assert!(withdraw("a", 1).await.unwrap());
        assert!(!withdraw("a", 1).await.unwrap());
        let turn = registry.take_message(key("a"), instance(1), NOW).await.unwrap().unwrap();
        assert_eq!(turn.asked.id, turn_id(2));
        assert!(!withdraw("a", 2).await.unwrap(), "it is a turn");
        assert_eq!(waiting(&registry, "a").await, ["message 3"]);
        assert!(told(&registry, "a").await.contains(&kind::MESSAGE_WITHDRAWN.to_owned()));
    });
}

#[test]
fn idle_sessions_with_messages_are_found_after_a_start() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["d", "a", "b", "c"]).await;
        let mut elsewhere = asked("e");
        elsewhere.request.instance = instance(2);
        registry.spawn_session(elsewhere).await.unwrap();
        begun(&registry, 9, "b").await;
        for (number, session) in (1..).zip(["d", "a", "a", "b", "e", "c"]) {
            registry.queue_message(say(number, session), None, 9).await.unwrap();
        }
        registry.advance_session(key("c"), to(SessionState::Idle, SessionState::Closing)).await.unwrap();
        assert_eq!(registry.waiting_sessions(instance(1)).await.unwrap(), ["a", "d"].map(key));
        assert_eq!(registry.waiting_sessions(instance(2)).await.unwrap(), [key("e")]);
    });
}
