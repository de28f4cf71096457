//! The sessions that end with a session, and those that do not.

use super::random::{Random, forest, scribbled};
use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn words(keys: &[SessionKey]) -> Vec<&str> {
    keys.iter().map(SessionKey::as_str).collect()
}

fn left(closing: &Closing) -> Vec<(&str, Disagreement)> {
    closing.left.iter().map(|it| (it.key.as_str(), it.why)).collect()
}

/// m above s1 and s2, s1 above l; and n, which is unrelated.
fn family() -> Vec<SessionRow> {
    let m = root("m");
    let (s1, s2) = (child(&m, "s1"), child(&m, "s2"));
    let l = child(&s1, "l");
    vec![m, s1, s2, l, root("n")]
}

#[test]
fn a_sessions_children_end_before_it_and_nothing_else_ends() {
    let closing = close_order(&family(), &key("m"));
    assert_eq!((words(&closing.order), left(&closing)), (vec!["l", "s1", "s2", "m"], vec![]));
    assert_eq!(words(&close_order(&family(), &key("s1")).order), ["l", "s1"]);
    assert_eq!(words(&close_order(&family(), &key("n")).order), ["n"]);
    assert_eq!(close_order(&family(), &key("unknown")), Closing::default());
}

#[test]
fn what_is_closed_already_is_passed_over_but_not_what_is_below_it() {
    let mut rows = family();
    rows[1].state = SessionState::Closed;
    rows[2].state = SessionState::Closing;
    assert_eq!(
        words(&close_order(&rows, &key("m")).order),
        ["l", "s2", "m"],
        "a crash in the middle goes on"
    );
    rows[0].state = SessionState::Closed;
    assert_eq!(words(&close_order(&rows, &key("m")).order), ["l", "s2"]);
}

/// Each of the breaks makes `l` doubtful, which would otherwise end with `m`.
#[test]
fn a_row_whose_fields_disagree_is_left_alone_and_named() {
    let breaks: [Break; 7] = [
        (|row| row.owner = Some(key("n")), Disagreement::OwnerIsNotParent),
        (|row| row.owner = None, Disagreement::OwnerIsNotParent),
        (|row| row.parent = Some(key("s2")), Disagreement::ParentIsNotNearest),
        (|row| row.parent = None, Disagreement::ParentIsNotNearest),
        (|row| row.spawned_by = Some(key("n")), Disagreement::SpawnedByAStranger),
        (|row| row.lineage.push(key("n")), Disagreement::LineageDiffers),
        (|row| row.lineage.push(key("l")), Disagreement::OwnAncestor),
    ];
    for (breaks, why) in breaks {
        let mut rows = family();
        breaks(&mut rows[3]);
        let closing = close_order(&rows, &key("m"));
        assert_eq!(words(&closing.order), ["s1", "s2", "m"], "{why}");
        assert_eq!(left(&closing), [("l", why)]);
    }
}

#[test]
fn what_is_below_one_that_is_left_alone_is_left_alone_too() {
    let mut rows = family();
    rows[1].owner = Some(key("n"));
    let closing = close_order(&rows, &key("m"));
    assert_eq!(words(&closing.order), ["s2", "m"]);
    let expected = [("l", Disagreement::ParentNotBelow), ("s1", Disagreement::OwnerIsNotParent)];
    assert_eq!(left(&closing), expected);
    rows.remove(1);
    let closing = close_order(&rows, &key("m"));
    assert_eq!(
        (words(&closing.order), left(&closing)),
        (vec!["s2", "m"], vec![("l", Disagreement::ParentMissing)])
    );
}

#[test]
fn what_another_installation_made_is_left_alone_with_all_that_is_below_it() {
    let mut rows = family();
    rows[1].instance = InstanceId::from_random([8; 12]);
    let closing = close_order(&rows, &key("m"));
    assert_eq!(words(&closing.order), ["s2", "m"]);
    let expected = [("l", Disagreement::ParentNotBelow), ("s1", Disagreement::OtherInstance)];
    assert_eq!(left(&closing), expected, "l is ours, but what it belongs to is not");
    rows[3].instance = InstanceId::from_random([8; 12]);
    assert_eq!(words(&close_order(&rows, &key("s1")).order), ["l", "s1"], "theirs ends with theirs");
    assert_eq!(close_order(&rows, &key("m")).left.len(), 2);
    rows[1].lineage.push(key("n"));
    let closing = close_order(&rows, &key("m"));
    assert!(left(&closing).contains(&("s1", Disagreement::LineageDiffers)), "what is doubtful comes first");
}

#[test]
fn an_old_row_that_knows_only_who_spawned_it_is_not_ended_with_that_one() {
    let mut rows = family();
    rows[4].spawned_by = Some(key("m"));
    let closing = close_order(&rows, &key("m"));
    assert_eq!(left(&closing), [("n", Disagreement::SpawnedByAStranger)]);
    assert_eq!(words(&close_order(&rows, &key("n")).order), ["n"], "it can be closed by its own name");
}

#[test]
fn a_row_that_only_claims_to_be_below_takes_nobody_along() {
    let mut rows = family();
    // n claims to be below l, but l does not have the ancestors that n names.
    (rows[4].parent, rows[4].owner, rows[4].lineage) = (Some(key("l")), Some(key("l")), vec![key("l")]);
    let closing = close_order(&rows, &key("m"));
    assert_eq!(words(&closing.order), ["l", "s1", "s2", "m"]);
    assert_eq!(left(&closing), [("n", Disagreement::LineageDiffers)]);
}

#[test]
fn cyclic_parents_end_nothing_but_the_one_that_was_named() {
    let mut rows = family();
    (rows[0].parent, rows[0].owner, rows[0].lineage) =
        (Some(key("l")), Some(key("l")), vec![key("l"), key("s1")]);
    let closing = close_order(&rows, &key("m"));
    assert_eq!(words(&closing.order), ["m"]);
    assert_eq!(closing.left.len(), 3, "{:?}", closing.left);
}

#[test]
fn a_row_that_is_given_twice_is_ended_once() {
    let rows: Vec<_> = family().into_iter().chain(family()).collect();
    assert_eq!(words(&close_order(&rows, &key("m")).order), ["l", "s1", "s2", "m"]);
}

const WORLDS: u64 = 400;

#[test]
fn in_a_sound_world_exactly_the_descendants_end_children_first() {
    for seed in 0..WORLDS {
        let rows = forest(&mut Random::new(seed));
        for top in &rows {
            let closing = close_order(&rows, &top.key);
            assert_eq!(closing.left, [], "seed {seed}");
            let place: BTreeMap<_, _> = closing.order.iter().zip(0..).collect();
            for row in &rows {
                let is_below = row.key == top.key || row.lineage.contains(&top.key);
                assert_eq!(place.contains_key(&row.key), is_below, "seed {seed}: {row:?}");
                if let (true, Some(parent)) = (row.key != top.key && is_below, &row.parent) {
                    assert!(place[&row.key] < place[parent], "seed {seed}: {} before {parent}", row.key);
                }
            }
        }
    }
}

#[test]
fn in_a_scribbled_world_only_what_every_row_up_to_the_top_agrees_on_ends() {
    let mut ends_and_left = (0, 0);
    for seed in 0..WORLDS {
        let mut random = Random::new(seed);
        let sound = forest(&mut random);
        let rows = scribbled(&mut random, sound);
        let by_key: BTreeMap<_, _> = rows.iter().map(|row| (&row.key, row)).collect();
        for top in &rows {
            let closing = close_order(&rows, &top.key);
            let ended: BTreeSet<_> = closing.order.iter().collect();
            assert_eq!(
                (closing.order.len(), closing.order.last()),
                (ended.len(), Some(&top.key)),
                "seed {seed}"
            );
            for row in rows.iter().filter(|row| row.key != top.key) {
                let proven = row.parent.as_ref().is_some_and(|parent| {
                    ended.contains(parent) && row.agrees_with_parent(by_key[parent]).is_ok()
                });
                assert_eq!(ended.contains(&row.key), proven, "closed under descent, seed {seed}: {row:?}");
                let claims = row.came_from(&top.key) || ended.iter().any(|key| row.came_from(key));
                let named = closing.left.iter().any(|it| it.key == row.key);
                assert_eq!(named, claims && !proven, "seed {seed}: {row:?}");
                ends_and_left = (ends_and_left.0 + usize::from(proven), ends_and_left.1 + usize::from(named));
            }
        }
    }
    assert!(ends_and_left.0 > 500 && ends_and_left.1 > 500, "the worlds show both: {ends_and_left:?}");
}
