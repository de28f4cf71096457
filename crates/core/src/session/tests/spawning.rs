//! The ownership of a new session, and the requests that are refused.

use super::*;

fn below(parent: &SessionRow, request: SpawnRequest) -> Result<SessionRow, Refused> {
    spawn(Some(parent), request, Known::default(), SpawnLimits::default())
}

#[test]
fn a_child_has_its_parent_in_every_field_and_all_ancestors_the_nearest_first() {
    let main = root("agent:a:main");
    let sub = child(&main, "agent:b:sub");
    let leaf = child(&sub, "agent:c:leaf");
    assert_eq!(leaf.lineage, [key("agent:b:sub"), key("agent:a:main")]);
    for field in [&leaf.parent, &leaf.owner, &leaf.spawned_by] {
        assert_eq!(field.as_ref(), Some(&sub.key));
    }
    for row in [&main, &sub, &leaf] {
        assert_eq!(row.agrees(), Ok(()));
    }
    assert_eq!(sub.agrees_with_parent(&main), Ok(()));
    assert_eq!(leaf.agrees_with_parent(&main), Err(Disagreement::LineageDiffers));
}

#[test]
fn a_first_session_belongs_to_nobody_and_speaks_for_itself() {
    let row = root("cli:1");
    assert_eq!((&row.parent, &row.owner, &row.spawned_by, row.lineage.len()), (&None, &None, &None, 0));
    assert_eq!(row.interaction, Interaction::Interactive);
}

#[test]
fn a_child_speaks_with_its_parent_unless_asked_otherwise() {
    let main = root("agent:a:main");
    assert_eq!(child(&main, "x").interaction, Interaction::ParentOwnedBackground);
    let open = SpawnRequest { interaction: Some(Interaction::Interactive), ..asked("x") };
    assert_eq!(below(&main, open).unwrap().interaction, Interaction::Interactive);
    let alone = SpawnRequest { interaction: Some(Interaction::ParentOwnedBackground), ..asked("x") };
    let refused = spawn(None, alone, Known::default(), SpawnLimits::default());
    assert_eq!(refused, Err(Refused::NoParent { key: key("x") }));
}

#[test]
fn the_origin_of_a_child_is_its_own() {
    let mut main = root("agent:a:main");
    main.origin = Some(Origin { channel: "slack".into(), to: None, thread: None });
    assert_eq!(child(&main, "x").origin, None);
}

#[test]
fn the_agent_is_the_keys_then_the_asked_then_the_parents_then_none() {
    let main = root("agent:a:main");
    let asks = |text: &str, name: Option<&str>| SpawnRequest { agent: name.map(agent), ..asked(text) };
    for (parent, request, expected) in [
        (Some(&main), asks("agent:b:1", None), Some("b")),
        (Some(&main), asks("agent:b:1", Some("b")), Some("b")),
        (Some(&main), asks("x", Some("c")), Some("c")),
        (Some(&main), asks("x", None), Some("a")),
        (None, asks("x", None), None),
    ] {
        let row = spawn(parent, request, Known::default(), SpawnLimits::default()).unwrap();
        assert_eq!(row.agent.as_ref().map(AgentId::as_str), expected, "{}", row.key);
    }
    let refused = below(&main, asks("agent:b:1", Some("c"))).unwrap_err();
    assert!(refused.to_string().contains("use agent:c:… or name agent b"), "{refused}");
}

#[test]
fn a_key_that_exists_is_refused_whatever_became_of_its_session() {
    for &state in SessionState::ALL {
        let known = Known { taken: Some(state), children: 0 };
        let refused = spawn(None, asked("x"), known, SpawnLimits::default()).unwrap_err();
        assert_eq!(refused, Refused::Taken { key: key("x"), state });
        assert_eq!(refused.to_string().contains("send to that one"), state.is_open(), "{refused}");
    }
}

#[test]
fn a_session_is_never_its_own_ancestor() {
    let main = root("agent:a:main");
    let sub = child(&main, "agent:b:sub");
    for (parent, text) in [(&main, "agent:a:main"), (&sub, "agent:b:sub"), (&sub, "agent:a:main")] {
        assert_eq!(below(parent, asked(text)), Err(Refused::OwnAncestor { key: key(text) }), "{text}");
    }
}

#[test]
fn a_parent_that_stands_in_a_cycle_is_refused() {
    let mut main = root("agent:a:main");
    let sub = child(&main, "agent:b:sub");
    (main.parent, main.owner) = (Some(sub.key.clone()), Some(sub.key.clone()));
    main.lineage = vec![sub.key.clone(), main.key.clone()];
    let why = Disagreement::OwnAncestor;
    assert_eq!(below(&main, asked("x")), Err(Refused::ParentDisagrees { parent: main.key.clone(), why }));
}

#[test]
fn every_field_of_a_parent_that_disagrees_is_told_apart() {
    let good = child(&child(&root("m"), "s"), "p");
    let broken: [Break; 7] = [
        (|row| row.lineage.push(row.key.clone()), Disagreement::OwnAncestor),
        (|row| row.lineage.push(key("s")), Disagreement::RepeatedAncestor),
        (|row| row.lineage.clear(), Disagreement::ParentIsNotNearest),
        (|row| row.parent = Some(key("m")), Disagreement::ParentIsNotNearest),
        (|row| row.owner = Some(key("m")), Disagreement::OwnerIsNotParent),
        (|row| row.owner = None, Disagreement::OwnerIsNotParent),
        (|row| row.spawned_by = Some(key("other")), Disagreement::SpawnedByAStranger),
    ];
    for (breaks, why) in broken {
        let mut parent = good.clone();
        breaks(&mut parent);
        assert_eq!(
            below(&parent, asked("x")),
            Err(Refused::ParentDisagrees { parent: key("p"), why }),
            "{why}"
        );
    }
    assert!(below(&good, asked("x")).is_ok());
}

#[test]
fn a_parent_that_is_closing_or_closed_gets_no_more_children() {
    for &state in SessionState::ALL {
        let mut main = root("agent:a:main");
        main.state = state;
        assert_eq!(below(&main, asked("x")).is_ok(), state.is_open(), "{state}");
    }
}

#[test]
fn depth_and_children_have_limits() {
    let limits = SpawnLimits { depth: 2, children: 3 };
    let (main, known) = (root("m"), |children| Known { taken: None, children });
    let sub = spawn(Some(&main), asked("s"), known(2), limits).unwrap();
    let full = spawn(Some(&main), asked("s"), known(3), limits);
    assert_eq!(full, Err(Refused::TooManyChildren { parent: key("m"), limit: 3 }));
    let leaf = spawn(Some(&sub), asked("l"), known(0), limits).unwrap();
    let deep = spawn(Some(&leaf), asked("d"), known(0), limits);
    assert_eq!(deep, Err(Refused::TooDeep { parent: key("l"), limit: 2 }));
    assert!(spawn(None, asked("n"), known(99), limits).is_ok(), "the limits are of what is below a session");
}

#[test]
fn a_session_spawns_only_below_itself() {
    let main = root("agent:a:main");
    let sub = child(&main, "agent:b:sub");
    let by = |who: &SessionRow| SpawnRequest { by: Some(who.key.clone()), ..asked("x") };
    let row = below(&sub, by(&main)).unwrap();
    assert_eq!((row.spawned_by, row.parent), (Some(main.key.clone()), Some(sub.key.clone())));
    assert_eq!(below(&main, by(&sub)), Err(Refused::NotBelow { by: sub.key.clone() }), "not above");
    assert_eq!(below(&root("agent:c:main"), by(&sub)), Err(Refused::NotBelow { by: sub.key.clone() }));
    let nowhere = spawn(None, by(&sub), Known::default(), SpawnLimits::default());
    assert_eq!(nowhere, Err(Refused::NotBelow { by: sub.key }), "not beside all others");
}

#[test]
fn what_an_operator_spawns_below_a_session_is_still_that_sessions() {
    let main = root("agent:a:main");
    let row = below(&main, asked("x")).unwrap();
    assert_eq!((row.spawned_by, row.owner), (None, Some(main.key)));
}
