//! The promises of every registry about conversations: each step is atomic, and the next daemon finds the open
//! parts.

use crate::sample::{NOW, enrolled, in_session, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{close, key, say, spawned, turn_id};
use std::sync::Arc;
use tenure_core::talk::{ConversationStep, HistoryChange, RecordedRequest, RecordedStep, SentRequest};
use tenure_store::{Registry, Side};

/// A session with an adapter that is run 1.
async fn begun(registry: &Arc<dyn Registry>) {
    spawned(registry, &["a"]).await;
    assert!(registry.begin_talk(run_id(1), key("a"), NOW).await.unwrap());
}

async fn step(registry: &Arc<dyn Registry>, step: ConversationStep) -> RecordedStep {
    registry.advance_talk(run_id(1), instance(1), step, NOW + 1).await.unwrap().unwrap()
}

fn question(id: i64, text: &str) -> (String, Option<SentRequest>) {
    (text.to_owned(), Some(SentRequest { id, verb: "prompt".to_owned(), turn: Some(turn_id(1)) }))
}

fn wanted(id: &str) -> RecordedRequest {
    RecordedRequest {
        id: id.to_owned(),
        method: "fs/read".to_owned(),
        params: Some("{}".to_owned()),
        at_ms: NOW,
    }
}

fn new(body: &str) -> HistoryChange {
    HistoryChange::New { turn: Some(turn_id(1)), kind: "agent".to_owned(), body: body.to_owned() }
}

async fn bodies(
    registry: &Arc<dyn Registry>,
    side: Side,
    limit: usize,
    bytes: u64,
) -> (Vec<String>, Option<Side>) {
    let page = registry.entries(key("a"), side, limit, bytes).await.unwrap();
    (page.entries.into_iter().map(|entry| entry.body).collect(), page.next)
}

#[test]
fn a_session_has_one_adapter_at_a_time() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        assert!(!registry.begin_talk(run_id(2), key("a"), NOW).await.unwrap());
        assert!(registry.end_talk(run_id(1), NOW + 2).await.unwrap());
        assert!(!registry.end_talk(run_id(1), NOW + 3).await.unwrap());
        assert!(registry.begin_talk(run_id(2), key("a"), NOW + 4).await.unwrap());
        assert_eq!(registry.open_talk(key("a")).await.unwrap().unwrap().talk.run, run_id(2));
        assert_eq!(registry.last_talk(key("a")).await.unwrap().unwrap().run, run_id(2));
    });
}

#[test]
fn lines_stand_one_after_the_other_and_are_found_by_their_place() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        let first = step(
            &registry,
            ConversationStep {
                lines: vec![question(1, "abc\n"), ("de\n".to_owned(), None)],
                ..ConversationStep::default()
            },
        );
        assert_eq!(first.await.at, [0, 4]);
        assert_eq!(
            step(
                &registry,
                ConversationStep { lines: vec![question(2, "f\n")], ..ConversationStep::default() }
            )
            .await
            .at,
            [7]
        );
        let from = async |at: u64| {
            let lines = registry.lines_from(run_id(1), at).await.unwrap();
            lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
        };
        assert_eq!(from(0).await, ["abc\n", "de\n", "f\n"]);
        assert_eq!(from(5).await, ["de\n", "f\n"], "half of a line was taken");
        assert_eq!(from(7).await, ["f\n"]);
        let talk = registry.open_talk(key("a")).await.unwrap().unwrap().talk;
        assert_eq!((talk.said_to, talk.last_id), (9, 2));
    });
}

#[test]
fn the_next_daemon_finds_what_was_not_answered_on_either_side() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        let heard = ConversationStep {
            heard_to: 50,
            lines: vec![question(1, "a\n"), question(2, "b\n")],
            asked: vec![wanted("7"), wanted("\"7\"")],
            told: vec![new("x")],
            agent_session: Some("s-1".to_owned()),
            ..ConversationStep::default()
        };
        step(&registry, heard).await;
        let answered = ConversationStep {
            heard_to: 80,
            answers: vec![(1, "{\"result\":1}".to_owned())],
            answered: vec!["7".to_owned()],
            lines: vec![("reply\n".to_owned(), None)],
            ..ConversationStep::default()
        };
        step(&registry, answered).await;
        let next = store.open();
        let open = next.open_talk(key("a")).await.unwrap().unwrap();
        assert_eq!((open.talk.heard_to, open.talk.agent_session.as_deref()), (80, Some("s-1")));
        assert_eq!(open.questions.iter().map(|line| line.asks.as_ref().unwrap().id).collect::<Vec<_>>(), [2]);
        assert_eq!(open.asked.iter().map(|asked| asked.id.as_str()).collect::<Vec<_>>(), ["\"7\""]);
        let first = next.lines_from(run_id(1), 0).await.unwrap().remove(0);
        assert_eq!(first.answer.as_deref(), Some("{\"result\":1}"));
    });
}

#[test]
fn the_answer_to_a_turns_question_is_kept_and_the_first_one_counts() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        assert_eq!(registry.question_of(turn_id(1)).await.unwrap(), None);
        step(&registry, ConversationStep { lines: vec![question(1, "a\n")], ..ConversationStep::default() })
            .await;
        assert_eq!(registry.question_of(turn_id(1)).await.unwrap().unwrap().answer, None);
        for answer in ["1", "2"] {
            step(
                &registry,
                ConversationStep { answers: vec![(1, answer.to_owned())], ..ConversationStep::default() },
            )
            .await;
        }
        assert_eq!(registry.question_of(turn_id(1)).await.unwrap().unwrap().answer.as_deref(), Some("1"));
    });
}

#[test]
fn a_step_of_what_is_over_or_another_instances_changes_nothing() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        begun(&registry).await;
        registry.create(in_session(1, "a")).await.unwrap();
        let told = || ConversationStep { heard_to: 9, told: vec![new("x")], ..ConversationStep::default() };
        assert_eq!(registry.advance_talk(run_id(1), instance(2), told(), NOW).await.unwrap(), None);
        assert!(registry.advance_talk(run_id(1), instance(1), told(), NOW).await.unwrap().is_some());
        registry.end_talk(run_id(1), NOW).await.unwrap();
        assert_eq!(registry.advance_talk(run_id(1), instance(1), told(), NOW).await.unwrap(), None);
        assert_eq!(registry.advance_talk(run_id(2), instance(1), told(), NOW).await.unwrap(), None);
        assert_eq!(bodies(&registry, Side::After(0), 9, 99).await.0, ["x"]);
        assert_eq!(registry.last_talk(key("a")).await.unwrap().unwrap().heard_to, 9);
    });
}

#[test]
fn a_history_is_paged_from_both_ends_by_number_and_size_and_entries_may_grow() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        let told = ["1", "22", "333", "4444"].map(new).to_vec();
        assert_eq!(
            step(&registry, ConversationStep { told, ..ConversationStep::default() }).await.numbers,
            [1, 2, 3, 4]
        );
        let again = vec![HistoryChange::Again { number: 2, body: "2222".to_owned() }, new("5")];
        assert_eq!(
            step(&registry, ConversationStep { told: again, ..ConversationStep::default() }).await.numbers,
            [5]
        );
        let all = ["1", "2222", "333", "4444", "5"];
        assert_eq!(bodies(&registry, Side::After(0), 9, 99).await, (all.map(str::to_owned).to_vec(), None));
        assert_eq!(bodies(&registry, Side::After(0), 2, 99).await.1, Some(Side::After(2)));
        assert_eq!(
            bodies(&registry, Side::After(3), 2, 99).await,
            (vec!["4444".to_owned(), "5".to_owned()], None)
        );
        let newest = bodies(&registry, Side::Before(u64::MAX), 9, 5).await;
        assert_eq!(newest, (vec!["5".to_owned(), "4444".to_owned()], Some(Side::Before(4))));
        let one = bodies(&registry, Side::After(1), 9, 1).await;
        assert_eq!(one, (vec!["2222".to_owned()], Some(Side::After(2))), "one is always there");
    });
}

#[test]
fn a_session_that_is_forgotten_takes_its_conversations_with_it() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        step(
            &registry,
            ConversationStep {
                lines: vec![question(1, "a\n")],
                asked: vec![wanted("7")],
                told: vec![new("x")],
                ..ConversationStep::default()
            },
        )
        .await;
        close(&registry, "a", NOW + 5).await;
        assert!(registry.forget_session(key("a")).await.unwrap());
        assert_eq!(registry.last_talk(key("a")).await.unwrap(), None);
        assert_eq!(registry.lines_from(run_id(1), 0).await.unwrap(), []);
        assert_eq!(bodies(&registry, Side::After(0), 9, 99).await, (Vec::new(), None));
    });
}

#[test]
fn the_conversations_under_way_are_those_whose_adapters_are_the_instances() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        begun(&registry).await;
        let under_way = async |number| {
            let talks = registry.open_talks(instance(number)).await.unwrap();
            talks.into_iter().map(|talk| talk.run).collect::<Vec<_>>()
        };
        assert_eq!(under_way(1).await, [], "its run is not there yet");
        registry.create(in_session(1, "a")).await.unwrap();
        assert_eq!((under_way(1).await, under_way(2).await), (vec![run_id(1)], vec![]));
        assert!(registry.end_talk(run_id(1), NOW).await.unwrap());
        assert_eq!(under_way(1).await, []);
    });
}

#[test]
fn conversations_of_long_ago_are_forgotten_and_the_newest_are_not() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        for number in 2..=30 {
            let at_ms = NOW + number;
            let lines = vec![question(1, "{}\n")];
            let step = ConversationStep { lines, ..ConversationStep::default() };
            registry.advance_talk(run_id(number - 1), instance(1), step, at_ms).await.unwrap().unwrap();
            assert!(registry.end_talk(run_id(number - 1), at_ms).await.unwrap());
            assert!(registry.begin_talk(run_id(number), key("a"), at_ms).await.unwrap());
        }
        assert_eq!(registry.lines_from(run_id(1), 0).await.unwrap(), []);
        assert_eq!(registry.lines_from(run_id(29), 0).await.unwrap().len(), 1);
        assert_eq!(registry.last_talk(key("a")).await.unwrap().unwrap().run, run_id(30));
    });
}

#[test]
fn a_turn_is_its_adapters_from_the_step_on_that_asks_its_prompt() {
    on_every_store(async |store| {
        let registry = store.open();
        begun(&registry).await;
        registry.begin_turn(say(1, "a"), None, instance(1), NOW).await.unwrap();
        assert_eq!(registry.turn(turn_id(1)).await.unwrap().unwrap().run, None);
        step(&registry, ConversationStep { lines: vec![question(1, "{}\n")], ..ConversationStep::default() })
            .await;
        assert_eq!(registry.turn(turn_id(1)).await.unwrap().unwrap().run, Some(run_id(1)));
    });
}
