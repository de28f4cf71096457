//! Sessions that are removed, those that stay, and those that are still closing.

use crate::sample::{NOW, enrolled, in_session, instance, run_id};
use crate::store::on_every_store;
use crate::talk::{asked, begun, below, close, end, key, say, session, spawned, to, told, turn_id};
use tenure_core::session::{SessionState, close_order};
use tenure_store::{Outcome, kind};

#[test]
fn a_closed_session_is_forgotten_with_all_that_was_said_and_its_key_can_be_used_anew() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        spawned(&registry, &["p"]).await;
        registry.spawn_session(below("p", "a")).await.unwrap();
        registry.create(in_session(1, "a")).await.unwrap();
        begun(&registry, 1, "a").await;
        assert!(registry.end_turn(turn_id(1), end(Outcome::Done)).await.unwrap());
        registry.queue_message(say(2, "a"), None, 9).await.unwrap();
        close(&registry, "a", NOW).await;
        assert!(registry.forget_session(key("a")).await.unwrap());
        assert_eq!(registry.session(key("a")).await.unwrap(), None);
        assert_eq!(registry.turn(turn_id(1)).await.unwrap(), None);
        assert_eq!(registry.descendants(key("p")).await.unwrap().rows.len(), 1);
        assert_eq!(told(&registry, "a").await.last().unwrap(), kind::SESSION_REMOVED);
        assert!(!registry.forget_session(key("a")).await.unwrap(), "again");
        assert_eq!(told(&registry, "a").await.iter().filter(|it| *it == kind::SESSION_REMOVED).count(), 1);
        assert!(registry.run(run_id(1)).await.unwrap().is_some(), "its runs are not touched");
        spawned(&registry, &["a"]).await;
        assert_eq!(begun(&registry, 1, "a").await.number, 1, "it is a new one");
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn what_is_not_closed_is_not_forgotten() {
    use SessionState::{Closing, Idle};
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["idle", "busy", "closing"]).await;
        begun(&registry, 1, "busy").await;
        assert!(registry.advance_session(key("closing"), to(Idle, Closing)).await.unwrap().is_some());
        for name in ["idle", "busy", "closing"] {
            let before = session(&registry, name).await;
            assert!(!registry.forget_session(key(name)).await.unwrap(), "{name}");
            assert_eq!(session(&registry, name).await, before);
        }
        assert!(!registry.forget_session(key("unknown")).await.unwrap());
    });
}

/// Otherwise the next session with that key would inherit the open one.
#[test]
fn a_session_stays_as_long_as_anything_below_it_is_open() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["p"]).await;
        registry.spawn_session(below("p", "c")).await.unwrap();
        registry.spawn_session(below("c", "g")).await.unwrap();
        close(&registry, "p", NOW).await;
        close(&registry, "c", NOW).await;
        for name in ["p", "c"] {
            assert!(!registry.forget_session(key(name)).await.unwrap(), "{name}");
        }
        assert_eq!(registry.trim_sessions(u64::MAX, 0, 9).await.unwrap(), []);
        let rows = registry.descendants(key("p")).await.unwrap().rows;
        assert_eq!(close_order(&rows, &key("p")).order, [key("g")], "it is still known to be below");
        close(&registry, "g", NOW).await;
        assert!(registry.forget_session(key("c")).await.unwrap());
        assert_eq!(registry.trim_sessions(u64::MAX, 0, 9).await.unwrap(), [key("g"), key("p")]);
    });
}

#[test]
fn the_sessions_of_an_instance_that_are_closing_are_found_by_key() {
    use SessionState::{Closed, Closing, Idle};
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["b", "a", "open", "done"]).await;
        let mut theirs = asked("theirs");
        theirs.request.instance = instance(2);
        registry.spawn_session(theirs).await.unwrap();
        assert_eq!(registry.unsettled_sessions(instance(1)).await.unwrap(), []);
        for name in ["b", "a", "theirs"] {
            assert!(registry.advance_session(key(name), to(Idle, Closing)).await.unwrap().is_some());
        }
        close(&registry, "done", NOW).await;
        assert_eq!(registry.unsettled_sessions(instance(1)).await.unwrap(), [key("a"), key("b")]);
        assert_eq!(registry.unsettled_sessions(instance(2)).await.unwrap(), [key("theirs")]);
        assert!(registry.advance_session(key("a"), to(Closing, Closed)).await.unwrap().is_some());
        assert_eq!(registry.unsettled_sessions(instance(1)).await.unwrap(), [key("b")]);
    });
}
