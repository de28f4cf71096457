//! What the registry keeps for the agent's tools: where a run stands with its owner, what a person is asked, what
//! needs no asking.

use crate::sample::{
    NOW, create_ended, ended, ending, enrolled, hold, instance, new_run, question, run_id, started, told, yes,
};
use crate::store::on_every_store;
use serde_json::{Value, json};
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::tools::Notify;
use tenure_store::{ApprovalState, NewRun, Notice, Registry};

/// A run of the exec tool.
fn of_exec(number: u64, notify: Notify) -> NewRun {
    NewRun { exec: Some(notify), ..new_run(number) }
}

async fn notice(registry: &Arc<dyn Registry>, number: u64) -> Option<Notice> {
    registry.exec_run(run_id(number)).await.unwrap().map(|row| row.notice)
}

async fn allowed(registry: &Arc<dyn Registry>) -> Vec<(u64, Value)> {
    registry.allowlist().await.unwrap().into_iter().map(|row| (row.id, row.entry)).collect()
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
            registry.go_background(run_id(number)).await.unwrap();
            let row = registry.exec_run(run_id(number)).await.unwrap().unwrap();
            assert_eq!((row.background, row.notice), (true, owed), "{notify:?}");
        }
        registry.go_background(run_id(9)).await.unwrap();
        assert_eq!(registry.exec_run(run_id(9)).await.unwrap(), None, "a run that is not there");
        registry.create(new_run(8)).await.unwrap();
        registry.go_background(run_id(8)).await.unwrap();
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
            registry.go_background(run_id(number)).await.unwrap();
        }
        assert!(registry.tell_owed(run_id(1), told(1)).await.unwrap());
        assert!(registry.acknowledge(run_id(2)).await.unwrap());
        for number in [1, 2] {
            registry.go_background(run_id(number)).await.unwrap();
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
            registry.go_background(run_id(number)).await.unwrap();
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
            one.go_background(run_id(number)).await.unwrap();
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
        registry.go_background(run_id(2)).await.unwrap();
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
            registry.go_background(run_id(number)).await.unwrap();
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
        registry.go_background(run_id(1)).await.unwrap();
        registry.forget(vec![run_id(1)]).await.unwrap();
        assert_eq!(registry.exec_run(run_id(1)).await.unwrap(), None);
        assert_eq!(registry.owed(instance(1)).await.unwrap(), []);
        registry.create(of_exec(1, Notify::Never)).await.unwrap();
    });
}

#[test]
fn a_question_is_kept_as_it_was_asked() {
    on_every_store(async |store| {
        let registry = store.open();
        let mut asked = question(1, NOW + 100);
        asked.session = Some("agent:main:ö \"1\"".to_owned());
        registry.ask_person(asked.clone()).await.unwrap();
        let row = registry.approval(run_id(1)).await.unwrap().unwrap();
        assert_eq!((row.approval, row.state), (asked.clone(), ApprovalState::Pending));
        assert_eq!((row.answered_at_ms, row.answered_by), (None, None));
        assert_eq!(registry.approval(run_id(2)).await.unwrap(), None);
        registry.ask_person(asked).await.unwrap_err();
        assert_eq!(registry.approvals(false, 9).await.unwrap().len(), 1);
    });
}

#[test]
fn questions_are_listed_the_newest_first_and_those_that_wait_by_themselves() {
    on_every_store(async |store| {
        let registry = store.open();
        for number in [2, 1, 3, 4] {
            registry.ask_person(question(number, u64::MAX / 4)).await.unwrap();
        }
        assert!(registry.answer(run_id(3), yes(ApprovalState::Denied, NOW)).await.unwrap());
        let ids = async |pending, limit| {
            let rows = registry.approvals(pending, limit).await.unwrap();
            rows.into_iter().map(|row| row.approval.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(false, 9).await, [4, 3, 2, 1].map(run_id));
        assert_eq!(ids(true, 9).await, [4, 2, 1].map(run_id));
        assert_eq!(ids(true, 2).await, [4, 2].map(run_id));
        assert_eq!(ids(false, 0).await, []);
    });
}

#[test]
fn a_question_is_answered_once_and_the_first_answer_stands() {
    use ApprovalState::{AllowedAlways, AllowedOnce, Denied};
    on_every_store(async |store| {
        let registry = store.open();
        for (number, first) in (1..).zip([AllowedOnce, AllowedAlways, Denied]) {
            registry.ask_person(question(number, NOW + 100)).await.unwrap();
            assert!(registry.answer(run_id(number), yes(first, NOW + 99)).await.unwrap());
            for again in [AllowedOnce, AllowedAlways, Denied] {
                let mut answer = yes(again, NOW + 99);
                answer.by = "somebody else".to_owned();
                answer.entries = vec![json!({"program": "late"})];
                assert!(!registry.answer(run_id(number), answer).await.unwrap(), "{first:?}, {again:?}");
            }
            let row = registry.approval(run_id(number)).await.unwrap().unwrap();
            assert_eq!((row.state, row.answered_at_ms), (first, Some(NOW + 99)));
            assert_eq!(row.answered_by.as_deref(), Some("a person"));
            assert_eq!(row.approval.asked, json!({"kept": true}), "what is kept is what the answer says");
        }
        assert_eq!(allowed(&registry).await, [], "an answer that does not stand allows nothing");
        assert!(!registry.answer(run_id(9), yes(AllowedOnce, NOW)).await.unwrap());
    });
}

#[test]
fn an_answer_after_the_time_does_not_stand_whether_it_was_closed_or_not() {
    on_every_store(async |store| {
        let registry = store.open();
        for number in 1..=3 {
            registry.ask_person(question(number, NOW + 100)).await.unwrap();
        }
        let always = |at_ms| {
            let mut answer = yes(ApprovalState::AllowedAlways, at_ms);
            answer.entries = vec![json!({"program": "ls"})];
            answer
        };
        assert!(!registry.answer(run_id(1), always(NOW + 100)).await.unwrap(), "at the very moment");
        assert!(!registry.answer(run_id(1), always(NOW + 5000)).await.unwrap());
        assert_eq!(allowed(&registry).await, []);
        assert_eq!(registry.expire_approvals(NOW + 99).await.unwrap(), []);
        assert!(registry.answer(run_id(3), always(NOW + 99)).await.unwrap(), "the last moment");
        let mut closed = registry.expire_approvals(NOW + 100).await.unwrap();
        closed.sort();
        assert_eq!(closed, [run_id(1), run_id(2)], "each is closed once, and not one that was answered");
        assert_eq!(registry.expire_approvals(NOW + 200).await.unwrap(), []);
        let row = registry.approval(run_id(2)).await.unwrap().unwrap();
        assert_eq!((row.state, row.answered_at_ms), (ApprovalState::Expired, Some(NOW + 100)));
        // Not even by a clock that went back.
        assert!(!registry.answer(run_id(2), always(NOW)).await.unwrap());
        assert_eq!(registry.approvals(true, 9).await.unwrap(), []);
    });
}

#[test]
fn of_two_daemons_that_answer_at_once_exactly_one_answer_stands() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        for number in 1..=40 {
            one.ask_person(question(number, NOW + 100)).await.unwrap();
            let mut always = yes(ApprovalState::AllowedAlways, NOW);
            always.entries = vec![json!({"program": format!("/bin/{number}")})];
            let calls = [
                one.answer(run_id(number), always),
                other.answer(run_id(number), yes(ApprovalState::Denied, NOW)),
            ];
            let closing = other.expire_approvals(NOW + 100);
            let mut stand = Vec::new();
            for call in calls {
                stand.push(call.await.unwrap());
            }
            let closed = closing.await.unwrap();
            let row = other.approval(run_id(number)).await.unwrap().unwrap();
            let expected = match (&stand[..], closed.len()) {
                ([true, false], 0) => ApprovalState::AllowedAlways,
                ([false, true], 0) => ApprovalState::Denied,
                ([false, false], 1) => ApprovalState::Expired,
                other => panic!("{other:?}"),
            };
            assert_eq!(row.state, expected);
            let listed = allowed(&one).await.iter().any(|(_, it)| it["program"] == format!("/bin/{number}"));
            assert_eq!(listed, stand[0], "the entry comes with the answer, or not at all");
        }
    });
}

#[test]
fn questions_that_were_closed_long_ago_are_removed_and_those_that_wait_are_not() {
    on_every_store(async |store| {
        let registry = store.open();
        for number in 1..=4 {
            registry.ask_person(question(number, NOW + 1000)).await.unwrap();
        }
        assert!(registry.answer(run_id(1), yes(ApprovalState::Denied, NOW + 50)).await.unwrap());
        assert!(registry.answer(run_id(2), yes(ApprovalState::AllowedOnce, NOW + 500)).await.unwrap());
        let ids = async || {
            let rows = registry.approvals(false, 9).await.unwrap();
            rows.into_iter().map(|row| row.approval.id).collect::<Vec<_>>()
        };
        registry.trim_approvals(NOW + 50).await.unwrap();
        assert_eq!(ids().await.len(), 4);
        registry.trim_approvals(NOW + 51).await.unwrap();
        assert_eq!(ids().await, [4, 3, 2].map(run_id), "what counts is when it was closed");
        registry.trim_approvals(NOW + 501).await.unwrap();
        assert_eq!(ids().await, [4, 3].map(run_id));
        assert_eq!(registry.expire_approvals(NOW + 2000).await.unwrap().len(), 2);
        registry.trim_approvals(NOW + 2000).await.unwrap();
        assert_eq!(ids().await.len(), 2);
        registry.trim_approvals(NOW + 2001).await.unwrap();
        assert_eq!(ids().await, []);
    });
}

#[test]
fn the_same_entry_is_on_the_allowlist_once() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        let (ls, git) = (json!({"program": "ls"}), json!({"program": "git", "args": "status"}));
        let allow =
            |registry: &Arc<dyn Registry>, entry: &Value| registry.allow(entry.clone(), "me".into(), NOW);
        let first = allow(&one, &ls).await.unwrap();
        let second = allow(&other, &git).await.unwrap();
        assert_ne!(first, second);
        // Whichever way round its keys were written.
        let turned: Value = serde_json::from_str(r#"{"args":"status","program":"git"}"#).unwrap();
        let again = [allow(&one, &ls), allow(&other, &ls), allow(&other, &turned)];
        let mut ids = Vec::new();
        for call in again {
            ids.push(call.await.unwrap());
        }
        assert_eq!(ids, [first, first, second]);
        assert_eq!(allowed(&one).await, [(first, ls.clone()), (second, git)]);
        // An answer brings an entry that is there, and one that is not.
        one.ask_person(question(1, NOW + 9)).await.unwrap();
        let mut answer = yes(ApprovalState::AllowedAlways, NOW);
        answer.entries = vec![ls, json!({"program": "wc"})];
        assert!(one.answer(run_id(1), answer).await.unwrap());
        assert_eq!(allowed(&one).await.len(), 3);
        let row = one.allowlist().await.unwrap().pop().unwrap();
        assert_eq!((row.added_by.as_str(), row.added_at_ms), ("a person", NOW));
        assert_eq!((row.uses, row.last_used_at_ms), (0, None));
    });
}

#[test]
fn an_entry_is_taken_off_once_and_its_number_means_no_other() {
    on_every_store(async |store| {
        let registry = store.open();
        let ls = json!({"program": "ls"});
        let first = registry.allow(ls.clone(), "me".into(), NOW).await.unwrap();
        assert!(registry.disallow(first).await.unwrap());
        assert!(!registry.disallow(first).await.unwrap());
        assert!(!registry.disallow(u64::MAX).await.unwrap());
        let second = registry.allow(ls, "me".into(), NOW).await.unwrap();
        assert!(second > first, "whoever knows the old number takes off nothing");
        assert!(!registry.disallow(first).await.unwrap());
        assert_eq!(allowed(&registry).await.len(), 1);
    });
}

#[test]
fn each_use_of_an_entry_is_counted() {
    on_every_store(async |store| {
        let (one, other) = (store.open(), store.open());
        let mut ids = Vec::new();
        for program in ["ls", "wc", "cat"] {
            ids.push(one.allow(json!({"program": program}), "me".into(), NOW).await.unwrap());
        }
        // A line may use one entry twice; a time that went back is not the last.
        one.used(vec![ids[0], ids[0], ids[1]], NOW + 7).await.unwrap();
        other.used(vec![ids[0], 4711], NOW + 3).await.unwrap();
        one.used(Vec::new(), NOW + 9).await.unwrap();
        let rows = other.allowlist().await.unwrap();
        let uses: Vec<_> = rows.iter().map(|row| (row.uses, row.last_used_at_ms)).collect();
        assert_eq!(uses, [(3, Some(NOW + 7)), (1, Some(NOW + 7)), (0, None)]);
    });
}
