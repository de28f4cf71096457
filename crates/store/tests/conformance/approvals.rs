//! Requests for approval, and the allowlist.

use crate::sample::{NOW, question, run_id, yes};
use crate::store::on_every_store;
use serde_json::{Value, json};
use std::sync::Arc;
use tenure_store::{ApprovalState, Registry};

async fn allowed(registry: &Arc<dyn Registry>) -> Vec<(u64, Value)> {
    registry.allowlist().await.unwrap().into_iter().map(|row| (row.id, row.entry)).collect()
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
        // A clock that went back does not reopen it.
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
        // The order of the keys does not matter.
        let turned: Value = serde_json::from_str(r#"{"args":"status","program":"git"}"#).unwrap();
        let again = [allow(&one, &ls), allow(&other, &ls), allow(&other, &turned)];
        let mut ids = Vec::new();
        for call in again {
            ids.push(call.await.unwrap());
        }
        assert_eq!(ids, [first, first, second]);
        assert_eq!(allowed(&one).await, [(first, ls.clone()), (second, git)]);
        // An answer may bring an entry that exists, and a new one.
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
        // A line may use an entry twice; an earlier time does not replace the last one.
        one.used(vec![ids[0], ids[0], ids[1]], NOW + 7).await.unwrap();
        other.used(vec![ids[0], 4711], NOW + 3).await.unwrap();
        one.used(Vec::new(), NOW + 9).await.unwrap();
        let rows = other.allowlist().await.unwrap();
        let uses: Vec<_> = rows.iter().map(|row| (row.uses, row.last_used_at_ms)).collect();
        assert_eq!(uses, [(3, Some(NOW + 7)), (1, Some(NOW + 7)), (0, None)]);
    });
}
