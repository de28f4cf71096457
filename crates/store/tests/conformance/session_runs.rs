//! The sessions of runs: every one has a row, whoever names it first.

use crate::sample::{NOW, enrolled, in_session, instance, new_run, run_id};
use crate::store::{Store, on_every_store};
use crate::talk::{asked, below, close, key, session, spawned, to, told};
use std::sync::Arc;
use tenure_core::session::{Backend, Interaction, Kind, Mode, SessionRow, SessionState};
use tenure_store::{Failed, NewRun, Registry, kind};

async fn ready(store: &Store) -> Arc<dyn Registry> {
    let registry = store.open();
    enrolled(&registry).await;
    registry
}

/// A run whose session gets this parent, if it is created.
fn made_below(number: u64, session: &str, parent: &str) -> NewRun {
    NewRun { session_parent: Some(key(parent)), ..in_session(number, session) }
}

fn over(text: &str, state: SessionState) -> Result<(), Failed> {
    Err(Failed::SessionOver { key: key(text), state })
}

#[test]
fn the_first_run_of_a_session_makes_it_and_the_next_ones_find_it() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        registry.create(in_session(1, "agent:a:1")).await.unwrap();
        let made = session(&registry, "agent:a:1").await;
        let row = &made.row;
        assert_eq!((row.kind, row.mode, row.backend), (Kind::Exec, Mode::Persistent, Backend::Run));
        assert_eq!((row.state, row.interaction), (SessionState::Idle, Interaction::Interactive));
        assert_eq!((&row.agent, &row.instance), (&Some("a".parse().unwrap()), &instance(1)));
        assert_eq!((row.created_at_ms, row.sandboxed, row.sources().count()), (NOW + 1, false, 0));
        registry.create(in_session(2, "agent:a:1")).await.unwrap();
        assert_eq!(session(&registry, "agent:a:1").await, made);
        let expected = [kind::SESSION_CREATED, kind::RUN_CREATED, kind::RUN_CREATED];
        assert_eq!(told(&registry, "agent:a:1").await, expected);
        registry.create(new_run(3)).await.unwrap();
        assert_eq!(registry.sessions(crate::sessions::query()).await.unwrap().sessions.len(), 1);
    });
}

#[test]
fn a_session_that_a_run_makes_is_carried_out_by_what_the_run_is_of() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        let backends = [("exec", Backend::Exec), ("cli", Backend::Cli), ("run", Backend::Run)];
        for (number, (word, backend)) in (1..).zip(backends.into_iter().chain([("later", Backend::Run)])) {
            let mut run = in_session(number, &format!("s:{word}"));
            run.ticket.backend_id = word.to_owned();
            registry.create(run).await.unwrap();
            assert_eq!(session(&registry, &format!("s:{word}")).await.row.backend, backend, "{word}");
        }
    });
}

#[test]
fn a_run_that_is_not_recorded_makes_no_session() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        registry.create(new_run(1)).await.unwrap();
        assert!(registry.create(in_session(1, "a")).await.is_err(), "that run is known already");
        let mut strange = in_session(2, "a");
        strange.ticket.owner_instance_id = instance(9);
        assert!(registry.create(strange).await.is_err(), "nobody enrolled that instance");
        assert_eq!(registry.session(key("a")).await.unwrap(), None);
        assert_eq!(told(&registry, "a").await.len(), 0);
    });
}

#[test]
fn nothing_is_started_in_a_session_that_is_over() {
    use SessionState::{Closed, Closing, Idle};
    on_every_store(async |store| {
        let registry = ready(store).await;
        spawned(&registry, &["a"]).await;
        registry.create(in_session(1, "a")).await.unwrap();
        assert!(registry.advance_session(key("a"), to(Idle, Closing)).await.unwrap().is_some());
        assert_eq!(registry.create(in_session(2, "a")).await, over("a", Closing));
        assert!(registry.advance_session(key("a"), to(Closing, Closed)).await.unwrap().is_some());
        assert_eq!(registry.create(in_session(2, "a")).await, over("a", Closed));
        assert_eq!(registry.run(run_id(2)).await.unwrap(), None);
        let text = over("a", Closed).unwrap_err().to_string();
        assert!(text.starts_with("session a is closed: ") && text.contains("name another"), "{text}");
    });
}

#[test]
fn a_run_that_lives_is_recorded_however_its_session_is() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        spawned(&registry, &["closed", "p"]).await;
        close(&registry, "closed", NOW).await;
        close(&registry, "p", NOW).await;
        let before = session(&registry, "closed").await;
        let living = |run: NewRun| NewRun { is_started: true, ..run };
        registry.create(living(in_session(1, "closed"))).await.unwrap();
        assert_eq!(session(&registry, "closed").await, before);
        registry.create(living(made_below(2, "c", "p"))).await.unwrap();
        assert_eq!(session(&registry, "c").await.row.parent, None);
        registry.create(living(in_session(3, "new"))).await.unwrap();
        assert_eq!(session(&registry, "new").await.row.state, SessionState::Idle);
    });
}

#[test]
fn a_session_that_a_run_makes_is_its_parents_whatever_the_limits() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        let mut parent = asked("agent:a:1");
        parent.request.sandboxed = true;
        registry.spawn_session(parent).await.unwrap();
        for number in 0..30 {
            registry.create(made_below(number, &format!("mcp:{number}"), "agent:a:1")).await.unwrap();
        }
        registry.create(made_below(30, "mcp:deep", "mcp:0")).await.unwrap();
        let row = session(&registry, "mcp:deep").await.row;
        assert_eq!(row.lineage, [key("mcp:0"), key("agent:a:1")]);
        assert_eq!(
            (&row.parent, &row.spawned_by, &row.owner),
            (&Some(key("mcp:0")), &row.parent, &row.parent)
        );
        assert_eq!((row.interaction, row.sandboxed), (Interaction::ParentOwnedBackground, true));
        assert_eq!(row.agent, Some("a".parse().unwrap()));
        assert_eq!(row.agrees(), Ok(()));
        registry.create(made_below(31, "agent:a:1", "mcp:0")).await.unwrap();
        assert_eq!(session(&registry, "agent:a:1").await.row.parent, None, "what is there stays as it is");
    });
}

#[test]
fn a_parent_that_is_over_starts_nothing_by_way_of_another_session() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        spawned(&registry, &["p"]).await;
        close(&registry, "p", NOW).await;
        let refused = registry.create(made_below(1, "c", "p")).await;
        assert_eq!(refused, over("p", SessionState::Closed));
        assert_eq!(registry.session(key("c")).await.unwrap(), None);
        assert_eq!(registry.run(run_id(1)).await.unwrap(), None);
    });
}

#[test]
fn below_a_parent_that_is_not_to_be_had_a_session_is_nobodys_but_as_shut_in() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        registry.create(made_below(1, "of-nobody", "unknown")).await.unwrap();
        let row = session(&registry, "of-nobody").await.row;
        assert_eq!((row.sources().count(), row.interaction), (0, Interaction::Interactive));
        spawned(&registry, &["like"]).await;
        let like = session(&registry, "like").await.row;
        let odd = SessionRow { key: key("odd"), owner: Some(key("x")), sandboxed: true, ..like };
        registry.adopt_session(odd, None, None).await.unwrap();
        registry.create(made_below(2, "of-odd", "odd")).await.unwrap();
        let row = session(&registry, "of-odd").await.row;
        assert_eq!((row.sources().count(), row.sandboxed), (0, true));
    });
}

#[test]
fn an_old_ticket_that_names_no_key_of_a_session_is_recorded_without_one() {
    on_every_store(async |store| {
        let registry = ready(store).await;
        for (number, odd) in (1..).zip(["/etc/passwd", "agent:", "a\nb", "", " a "]) {
            registry.create(in_session(number, odd)).await.unwrap();
            let row = registry.run(run_id(number)).await.unwrap().unwrap();
            assert_eq!(row.ticket.options.session_id.as_deref(), Some(odd));
        }
        assert_eq!(registry.sessions(crate::sessions::query()).await.unwrap().sessions, []);
    });
}

#[test]
fn a_run_of_a_session_that_is_spawned_at_once_finds_one_of_the_two() {
    on_every_store(async |store| {
        let (one, two) = (ready(store).await, store.open());
        spawned(&one, &["p"]).await;
        for number in 0..20 {
            let name = format!("k:{number}");
            let (run, spawn) =
                (one.create(made_below(number, &name, "p")), two.spawn_session(below("p", &name)));
            run.await.unwrap();
            assert!(matches!(spawn.await, Ok(_) | Err(Failed::SessionTaken { .. })));
            assert_eq!(session(&one, &name).await.row.parent, Some(key("p")));
        }
    });
}
