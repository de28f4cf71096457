//! Sessions: creating, finding and closing them.

use crate::sample::{NOW, instance};
use crate::store::on_every_store;
use crate::talk::{
    asked, begun, below, close, end, key, listed, say, session, spawned, state, to, told, turn_id,
};
use tenure_core::session::{
    AgentId, Backend, Kind, Refused, SessionRow, SessionState, SpawnLimits, close_order,
};
use tenure_store::{Failed, Moved, NewSession, Outcome, SessionQuery, kind};

pub(crate) fn query() -> SessionQuery {
    SessionQuery { limit: 2, ..SessionQuery::default() }
}

fn keys(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.key.as_str()).collect()
}

#[test]
fn a_session_reads_back_as_it_was_made() {
    on_every_store(async |store| {
        let registry = store.open();
        let parent = registry.spawn_session(asked("agent:a:1")).await.unwrap();
        let new = NewSession { label: Some("a child".into()), ..below("agent:a:1", "cli:2") };
        let child = registry.spawn_session(new).await.unwrap();
        assert_eq!(session(&registry, "agent:a:1").await, parent);
        assert_eq!(session(&registry, "cli:2").await, child);
        assert_eq!(child.row.lineage, [key("agent:a:1")]);
        assert_eq!(child.row.agent.as_ref().map(AgentId::as_str), Some("a"), "inherited");
        assert_eq!(
            (child.label.as_deref(), child.resume, child.turns, child.queued),
            (Some("a child"), None, 0, 0)
        );
        assert_eq!(registry.session(key("x")).await.unwrap(), None);
        assert_eq!(told(&registry, "cli:2").await, [kind::SESSION_CREATED]);
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn a_taken_key_is_an_answer_and_changes_nothing() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a"]).await;
        let before = session(&registry, "a").await;
        let taken = |state| Failed::SessionTaken { key: key("a"), state };
        assert_eq!(registry.spawn_session(asked("a")).await, Err(taken(SessionState::Idle)));
        let row = SessionRow { kind: Kind::Main, ..before.row.clone() };
        assert_eq!(registry.adopt_session(row, None, None).await, Err(taken(SessionState::Idle)));
        assert_eq!(session(&registry, "a").await, before);
        close(&registry, "a", NOW).await;
        assert_eq!(registry.spawn_session(asked("a")).await, Err(taken(SessionState::Closed)));
        assert_eq!(told(&registry, "a").await.len(), 3);
    });
}

#[test]
fn of_two_daemons_that_spawn_the_same_key_one_gets_it() {
    on_every_store(async |store| {
        let (one, two) = (store.open(), store.open());
        for n in 0..20 {
            let new = asked(&format!("k:{n}"));
            let (a, b) = (one.spawn_session(new.clone()), two.spawn_session(new));
            let (a, b) = (a.await, b.await);
            assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
            assert!(matches!(a.or(b.clone()).and(b), Ok(_) | Err(Failed::SessionTaken { .. })));
        }
    });
}

#[test]
fn the_limit_of_children_holds_among_daemons_that_spawn_at_once() {
    on_every_store(async |store| {
        let registries = [store.open(), store.open()];
        spawned(&registries[0], &["p"]).await;
        let limits = SpawnLimits { depth: 9, children: 3 };
        let new = |n: usize| NewSession { limits, ..below("p", &format!("c:{n}")) };
        let answers: Vec<_> = (0..10).map(|n| registries[n % 2].spawn_session(new(n))).collect();
        let mut made = Vec::new();
        for answer in answers {
            match answer.await {
                Ok(session) => made.push(session.row.key),
                Err(Failed::NotSpawned(Refused::TooManyChildren { limit: 3, .. })) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(made.len(), 3);
        close(&registries[1], made[0].as_str(), NOW).await;
        registries[0].spawn_session(new(10)).await.unwrap();
        assert!(registries[1].spawn_session(new(11)).await.is_err());
        let deep = NewSession { limits: SpawnLimits { depth: 0, children: 9 }, ..below("p", "d") };
        let too_deep = Refused::TooDeep { parent: key("p"), limit: 0 };
        assert_eq!(registries[0].spawn_session(deep).await, Err(Failed::NotSpawned(too_deep)));
        let nowhere = registries[0].spawn_session(below("x", "d")).await;
        assert_eq!(nowhere, Err(Failed::NoSession { key: key("x") }));
    });
}

#[test]
fn a_session_of_others_is_taken_in_as_it_is() {
    on_every_store(async |store| {
        let registry = store.open();
        let like = registry.spawn_session(asked("like")).await.unwrap().row;
        let (parent, lineage) = (Some(key("gone")), vec![key("x"), key("y"), key("x")]);
        let row = SessionRow { key: key("legacy"), parent, lineage, ..like };
        let adopted =
            registry.adopt_session(row.clone(), Some("old".into()), Some("r1".into())).await.unwrap();
        assert_eq!(adopted.row, row);
        assert_eq!(session(&registry, "legacy").await, adopted);
        for state in [SessionState::Busy, SessionState::Closing] {
            let row = SessionRow { key: key("other"), state, ..row.clone() };
            assert!(registry.adopt_session(row, None, None).await.is_err(), "{state}");
        }
        let family = registry.descendants(key("x")).await.unwrap();
        assert_eq!(keys(&family.rows), ["legacy"]);
    });
}

#[test]
fn lists_go_from_the_newest_to_the_oldest_and_by_what_is_asked_for() {
    use SessionState::{Busy, Closed, Idle};
    on_every_store(async |store| {
        let registry = store.open();
        let made = [
            ("agent:a:1", Kind::Main),
            ("agent:ab:1", Kind::Cli),
            ("cli:1", Kind::Exec),
            ("cli:2", Kind::Cli),
        ];
        for (at, (name, kind)) in (0..).zip(made) {
            let mut new = if name == "cli:2" { below("cli:1", name) } else { asked(name) };
            // Two sessions of the same moment.
            (new.request.kind, new.request.now_ms) = (kind, NOW + at / 2);
            new.request.backend = if at == 0 { Backend::Acp } else { Backend::Cli };
            registry.spawn_session(new).await.unwrap();
        }
        close(&registry, "agent:ab:1", NOW).await;
        begun(&registry, 1, "cli:2").await;
        let list =
            async |query| listed(&registry, query).await.into_iter().map(|row| row.key).collect::<Vec<_>>();
        let are = |names: &[&str]| names.iter().map(|name| key(name)).collect::<Vec<_>>();
        assert_eq!(list(query()).await, are(&["cli:2", "cli:1", "agent:ab:1", "agent:a:1"]));
        assert_eq!(
            list(SessionQuery { agent: Some("a".parse().unwrap()), ..query() }).await,
            are(&["agent:a:1"])
        );
        assert_eq!(
            list(SessionQuery { kind: Some(Kind::Cli), ..query() }).await,
            are(&["cli:2", "agent:ab:1"])
        );
        assert_eq!(list(SessionQuery { backend: Some(Backend::Acp), ..query() }).await, are(&["agent:a:1"]));
        assert_eq!(list(SessionQuery { parent: Some(key("cli:1")), ..query() }).await, are(&["cli:2"]));
        let states = |states: &[SessionState]| SessionQuery { states: states.to_vec(), ..query() };
        assert_eq!(list(states(&[Idle])).await, are(&["cli:1", "agent:a:1"]));
        assert_eq!(list(states(&[Busy, Closed, Busy])).await, are(&["cli:2", "agent:ab:1"]));
        for (prefix, found) in
            [("cli", 2), ("agent:a", 2), ("agent:a:", 1), ("", 4), ("%", 0), ("'", 0), ("CLI", 0)]
        {
            let query = SessionQuery { prefix: Some(prefix.into()), ..query() };
            assert_eq!(list(query).await.len(), found, "{prefix}");
        }
        let none = registry.sessions(SessionQuery { limit: 0, ..query() }).await.unwrap();
        assert_eq!((none.sessions.len(), none.next), (0, None));
        let exact = registry.sessions(SessionQuery { limit: 4, ..query() }).await.unwrap();
        assert_eq!((exact.sessions.len(), exact.next), (4, None));
    });
}

#[test]
fn all_that_say_they_came_from_a_session_are_found_with_it() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["root", "other"]).await;
        for (parent, name) in [("root", "1"), ("1", "2"), ("2", "3"), ("other", "4")] {
            registry.spawn_session(below(parent, name)).await.unwrap();
        }
        let like = session(&registry, "other").await.row;
        let owned = SessionRow { key: key("owned"), owner: Some(key("1")), ..like.clone() };
        let asked_for = SessionRow { key: key("asked"), spawned_by: Some(key("1")), ..like };
        for row in [owned, asked_for] {
            registry.adopt_session(row, None, None).await.unwrap();
        }
        let family = async |name| registry.descendants(key(name)).await.unwrap().rows;
        assert_eq!(keys(&family("root").await), ["1", "2", "3", "root"]);
        assert_eq!(keys(&family("1").await), ["1", "2", "3", "asked", "owned"]);
        assert_eq!(keys(&family("3").await), ["3"]);
        assert_eq!(keys(&family("x").await), [""; 0]);
        let closing = close_order(&family("1").await, &key("1"));
        assert_eq!(closing.order, ["3", "2", "1"].map(key));
        assert_eq!(closing.left.len(), 2);
    });
}

#[test]
fn a_session_is_moved_only_from_where_it_is() {
    use SessionState::{Busy, Closed, Closing, Idle};
    on_every_store(async |store| {
        let (one, two) = (store.open(), store.open());
        spawned(&one, &["a"]).await;
        let step = |registry: &std::sync::Arc<dyn tenure_store::Registry>, from, into| {
            registry.advance_session(key("a"), to(from, into))
        };
        assert_eq!(step(&one, Busy, Closing).await, Ok(None));
        assert_eq!(step(&one, Closing, Closed).await, Ok(None));
        let (a, b) = (step(&one, Idle, Closing), step(&two, Idle, Closing));
        assert_eq!([a.await.unwrap(), b.await.unwrap()].iter().flatten().count(), 1);
        for (from, into) in
            [(Idle, Busy), (Busy, Idle), (Idle, Closed), (Busy, Closed), (Closed, Closing), (Closing, Idle)]
        {
            let refused = Failed::BadMove { key: key("a"), from, to: into };
            assert_eq!(step(&one, from, into).await, Err(refused));
        }
        assert_eq!(step(&two, Closing, Closed).await, Ok(Some(Moved::default())));
        assert_eq!(step(&one, Closing, Closed).await, Ok(None));
        let row = session(&one, "a").await.row;
        assert_eq!((row.state, row.closed_at_ms), (Closed, Some(NOW + 8)));
        let unknown = one.advance_session(key("x"), to(Idle, Closing)).await;
        assert_eq!(unknown, Err(Failed::NoSession { key: key("x") }));
        assert_eq!(
            told(&one, "a").await,
            [kind::SESSION_CREATED, kind::SESSION_CLOSING, kind::SESSION_CLOSED]
        );
    });
}

#[test]
fn closing_withdraws_what_waits_and_waits_for_the_turn_under_way() {
    use SessionState::{Busy, Closed, Closing};
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a", "b"]).await;
        begun(&registry, 1, "a").await;
        for number in [2, 3] {
            registry.queue_message(say(number, "a"), None, 9).await.unwrap();
        }
        registry.queue_message(say(4, "b"), None, 9).await.unwrap();
        let moved = registry.advance_session(key("a"), to(Busy, Closing)).await.unwrap().unwrap();
        assert_eq!(moved.withdrawn, [turn_id(2), turn_id(3)]);
        assert_eq!(session(&registry, "a").await.queued, 0);
        assert_eq!(session(&registry, "b").await.queued, 1, "another's is not touched");
        let busy = Failed::SessionBusy { key: key("a"), turn: turn_id(1) };
        assert_eq!(registry.advance_session(key("a"), to(Closing, Closed)).await, Err(busy));
        assert!(registry.end_turn(turn_id(1), end(Outcome::Cancelled)).await.unwrap());
        assert_eq!(state(&registry, "a").await, Closing, "it does not become idle again");
        let over = |state| Failed::SessionOver { key: key("a"), state };
        let refused = registry.begin_turn(say(5, "a"), None, instance(1), NOW).await;
        assert_eq!(refused, Err(over(Closing)));
        assert!(registry.advance_session(key("a"), to(Closing, Closed)).await.unwrap().is_some());
        assert_eq!(registry.queue_message(say(5, "a"), None, 9).await, Err(over(Closed)));
        assert_eq!(registry.take_message(key("a"), instance(1), NOW).await, Ok(None));
    });
}

#[test]
fn what_a_session_is_called_is_noted_or_there_is_none() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["a"]).await;
        assert!(registry.set_resume(key("a"), Some("0197-ab".into())).await.unwrap());
        assert!(registry.set_label(key("a"), Some("work".into())).await.unwrap());
        let row = session(&registry, "a").await;
        assert_eq!((row.resume.as_deref(), row.label.as_deref()), (Some("0197-ab"), Some("work")));
        assert!(registry.set_resume(key("a"), None).await.unwrap());
        assert_eq!(session(&registry, "a").await.resume, None);
        assert!(!registry.set_resume(key("x"), None).await.unwrap());
        assert!(!registry.set_label(key("x"), None).await.unwrap());
    });
}

#[test]
fn closed_sessions_go_the_oldest_first_with_all_that_was_said() {
    on_every_store(async |store| {
        let registry = store.open();
        for (at, name) in (1..).zip(["a", "b", "c", "d"]) {
            spawned(&registry, &[name]).await;
            begun(&registry, at, name).await;
            assert!(registry.end_turn(turn_id(at), end(Outcome::Done)).await.unwrap());
            close(&registry, name, NOW + at).await;
        }
        spawned(&registry, &["open"]).await;
        let trim = async |before, most, limit| registry.trim_sessions(before, most, limit).await.unwrap();
        assert_eq!(trim(NOW + 1, 4, 9).await, []);
        assert_eq!(trim(u64::MAX, 0, 0).await, []);
        assert_eq!(trim(NOW + 3, 9, 1).await, [key("a")]);
        assert_eq!(trim(NOW + 3, u64::MAX, 9).await, [key("b")]);
        assert_eq!(trim(0, 1, 9).await, [key("c")]);
        assert_eq!(trim(0, 0, 9).await, [key("d")]);
        assert_eq!(registry.turn(turn_id(1)).await.unwrap(), None);
        assert_eq!(registry.session(key("a")).await.unwrap(), None);
        assert!(registry.session(key("open")).await.unwrap().is_some());
        assert_eq!(told(&registry, "a").await.last().unwrap(), kind::SESSION_REMOVED);
        assert_eq!(registry.check().await.unwrap(), None);
        spawned(&registry, &["a"]).await;
        assert_eq!(begun(&registry, 1, "a").await.number, 1, "it is a new one");
    });
}

#[test]
fn a_closed_session_stays_as_long_as_a_child_of_it_is_open() {
    on_every_store(async |store| {
        let registry = store.open();
        spawned(&registry, &["p"]).await;
        registry.spawn_session(below("p", "c")).await.unwrap();
        close(&registry, "p", NOW).await;
        assert_eq!(registry.trim_sessions(u64::MAX, 0, 9).await.unwrap(), []);
        close(&registry, "c", NOW + 1).await;
        assert_eq!(registry.trim_sessions(u64::MAX, 0, 9).await.unwrap(), [key("p"), key("c")]);
        assert_eq!(registry.descendants(key("p")).await.unwrap().rows, []);
    });
}
