//! Lists of runs, and lookups by a prefix of the id.

use crate::sample::{
    NOW, create_ended, ending, enrolled, hold, ids, in_scope, in_session, leaving, listed, new_run, run_id,
    started,
};
use crate::store::on_every_store;
use std::sync::Arc;
use tenure_core::ending::Reason;
use tenure_core::state::State;
use tenure_store::{Query, Registry};

fn query(states: &[State]) -> Query {
    Query { states: states.to_vec(), limit: 2, ..Query::default() }
}

/// Runs 1 and 5 have ended, 2 starts, 3 runs, 4 is exiting, 6 is hidden.
async fn one_of_each(registry: &Arc<dyn Registry>) {
    enrolled(registry).await;
    for number in [1, 5] {
        create_ended(registry, new_run(number), ending(number, Reason::Exit)).await;
    }
    for number in [2, 3, 4, 6] {
        registry.create(new_run(number)).await.unwrap();
    }
    registry.record(run_id(3), hold(1), started(), NOW).await.unwrap();
    registry.record(run_id(4), hold(1), leaving(), NOW).await.unwrap();
    registry.hide(run_id(6)).await.unwrap();
}

#[test]
fn pages_go_from_the_newest_to_the_oldest() {
    on_every_store(async |store| {
        let registry = store.open();
        one_of_each(&registry).await;
        assert_eq!(listed(&registry, query(&[])).await, ids(&[5, 4, 3, 2, 1]));
        let whole = registry.runs(Query { limit: 5, ..query(&[]) }).await.unwrap();
        assert_eq!((whole.runs.len(), whole.next), (5, None));
        let none = registry.runs(Query { limit: 0, ..query(&[]) }).await.unwrap();
        assert_eq!((none.runs.len(), none.next), (0, None));
    });
}

#[test]
fn runs_of_the_same_moment_are_listed_once_each() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for number in 1..=5 {
            let mut run = new_run(number);
            run.ticket.created_at_ms = NOW;
            registry.create(run).await.unwrap();
        }
        assert_eq!(listed(&registry, query(&[])).await, ids(&[5, 4, 3, 2, 1]));
    });
}

#[test]
fn a_list_can_be_of_some_states() {
    use State::{Exited, Exiting, Running, Starting};
    on_every_store(async |store| {
        let registry = store.open();
        one_of_each(&registry).await;
        assert_eq!(listed(&registry, query(&[Starting, Running, Exiting])).await, ids(&[4, 3, 2]));
        assert_eq!(listed(&registry, query(&[Exited])).await, ids(&[5, 1]));
        assert_eq!(listed(&registry, query(&[Exited, Running, Running])).await, ids(&[5, 3, 1]));
        assert_eq!(listed(&registry, query(&[Starting])).await, ids(&[2]));
    });
}

#[test]
fn a_list_can_be_of_a_session_an_agent_or_a_scope() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        let sessions = [
            "agent:a:main",
            "agent:a:other",
            "agent:ab:main",
            "agent:a",
            "cli:1",
            "agent:a:main",
            "agent::x",
        ];
        for (number, session) in (1..).zip(sessions) {
            registry.create(in_session(number, session)).await.unwrap();
        }
        create_ended(&registry, in_scope(11, "s"), ending(11, Reason::Exit)).await;
        registry.create(in_scope(12, "s")).await.unwrap();
        registry.create(in_scope(13, "t")).await.unwrap();
        let of = |session: Option<&str>, agent: Option<&str>, scope: Option<&str>| Query {
            session: session.map(Into::into),
            agent: agent.map(Into::into),
            scope: scope.map(Into::into),
            ..query(&[])
        };
        assert_eq!(listed(&registry, of(Some("agent:a:main"), None, None)).await, ids(&[6, 1]));
        assert_eq!(listed(&registry, of(None, Some("a"), None)).await, ids(&[6, 4, 2, 1]));
        assert_eq!(listed(&registry, of(None, Some(""), None)).await, []);
        assert_eq!(listed(&registry, of(None, None, Some("s"))).await, ids(&[12, 11]));
        assert_eq!(listed(&registry, of(Some("agent:a:main"), Some("ab"), None)).await, []);
        let live = Query { states: vec![State::Starting], ..of(None, None, Some("s")) };
        assert_eq!(listed(&registry, live).await, ids(&[12]));
        let gone = Query { states: vec![State::Exited], ..of(None, None, Some("s")) };
        assert_eq!(listed(&registry, gone).await, ids(&[11]));
    });
}

#[test]
fn unfinished_runs_are_everybodys_and_hidden_ones_too() {
    on_every_store(async |store| {
        let registry = store.open();
        one_of_each(&registry).await;
        let found: Vec<_> =
            registry.unfinished().await.unwrap().runs.into_iter().map(|run| run.ticket.run_id).collect();
        assert_eq!(found, ids(&[2, 3, 4, 6]));
    });
}

#[test]
fn the_live_run_of_a_scope_is_found_hidden_or_not() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        create_ended(&registry, in_scope(1, "s"), ending(1, Reason::Exit)).await;
        registry.create(new_run(2)).await.unwrap();
        let live = async || registry.live_in_scope("s".into()).await.unwrap().map(|run| run.ticket.run_id);
        assert_eq!(live().await, None);
        registry.create(in_scope(3, "s")).await.unwrap();
        registry.create(in_scope(4, "t")).await.unwrap();
        assert_eq!(live().await, Some(run_id(3)));
        registry.hide(run_id(3)).await.unwrap();
        assert_eq!(live().await, Some(run_id(3)));
    });
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    on_every_store(async |store| {
        let registry = store.open();
        enrolled(&registry).await;
        for number in [0x10, 0x11, 0x20] {
            registry.create(new_run(number)).await.unwrap();
        }
        let find = |prefix: &str, limit| registry.find(prefix.to_owned(), limit);
        assert_eq!(find("0000000000000000000000", 9).await.unwrap(), ids(&[0x10, 0x11, 0x20]));
        assert_eq!(find("00000000000000000000001", 9).await.unwrap(), ids(&[0x10, 0x11]));
        assert_eq!(find("00000000000000000000001", 1).await.unwrap(), ids(&[0x10]));
        assert_eq!(find(run_id(0x20).as_str(), 9).await.unwrap(), ids(&[0x20]));
        for none in ["1", "%", "_", "g", "0000000000000000000000200", "ä", "'"] {
            assert_eq!(find(none, 9).await.unwrap(), [], "{none}");
        }
        registry.hide(run_id(0x20)).await.unwrap();
        assert_eq!(find(run_id(0x20).as_str(), 9).await.unwrap(), []);
    });
}
