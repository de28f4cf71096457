//! Properties of all rows, whoever wrote them.

use super::random::{Random, forest, policy, scribbled};
use super::*;
use Visibility::{Agent, All, SelfOnly, Tree};

const WORLDS: u64 = 400;

/// Checks every row with every requester and many policies, in sound worlds and in scribbled ones.
fn everywhere(mut check: impl FnMut(&SessionRow, &SessionRow, &AgentToAgent)) {
    for seed in 0..WORLDS {
        let mut random = Random::new(seed);
        let mut rows = forest(&mut random);
        if random.once_in(2) {
            rows = scribbled(&mut random, rows);
        }
        let a2a = policy(&mut random);
        for who in &rows {
            rows.iter().for_each(|row| check(row, who, &a2a));
        }
    }
}

/// The contract once more, written as sets and not as a decision.
fn by_the_contract(row: &SessionRow, who: &SessionRow, visibility: Visibility, a2a: &AgentToAgent) -> bool {
    let me = Some(&who.key);
    let itself = row.key == who.key;
    let tree = itself
        || row.owner.as_ref() == me
        || row.spawned_by.as_ref() == me
        || row.parent.as_ref() == me
        || row.lineage.iter().any(|above| Some(above) == me);
    let same_agent = row.agent.is_some() && row.agent == who.agent;
    let reaches = match (&who.agent, &row.agent) {
        (Some(from), Some(to)) => a2a.enabled && a2a.allows(from, to),
        _ => false,
    };
    match visibility {
        SelfOnly => itself,
        Tree => tree,
        Agent => itself || same_agent || row.owner.as_ref() == me,
        All => same_agent || reaches || tree,
    }
}

#[test]
fn the_decision_is_the_contract_for_every_row() {
    let mut seen = [0; 2];
    everywhere(|row, who, a2a| {
        for &visibility in Visibility::ALL {
            let open = by_the_contract(row, who, visibility, a2a);
            assert_eq!(sees(row, &Requester::of(who, false), visibility, a2a), open, "{row:?} {who:?}");
            let tree = by_the_contract(row, who, Tree, a2a);
            assert_eq!(
                sees(row, &Requester::of(who, true), visibility, a2a),
                open && tree,
                "{row:?} {who:?}"
            );
            seen[usize::from(open)] += 1;
        }
    });
    assert!(seen.iter().all(|&count| count > 10_000), "the worlds show both: {seen:?}");
}

#[test]
fn what_self_shows_tree_and_agent_show_and_what_they_show_all_shows() {
    everywhere(|row, who, a2a| {
        for shut_in in [false, true] {
            let requester = Requester::of(who, shut_in);
            let [itself, tree, agent, all] =
                [SelfOnly, Tree, Agent, All].map(|it| sees(row, &requester, it, a2a));
            assert!(!itself || (tree && agent), "self: {row:?} {who:?}");
            assert!(!tree || all, "tree: {row:?} {who:?}");
            assert!(!agent || all, "agent: {row:?} {who:?}");
        }
    });
}

#[test]
fn a_sandboxed_requester_sees_nothing_that_it_would_not_see_outside() {
    everywhere(|row, who, a2a| {
        for &visibility in Visibility::ALL {
            let inside = sees(row, &Requester::of(who, true), visibility, a2a);
            let outside = sees(row, &Requester::of(who, false), visibility, a2a);
            let tree = sees(row, &Requester::of(who, false), Tree, a2a);
            assert_eq!(inside, outside && tree, "{row:?} {who:?}");
        }
    });
}

#[test]
fn more_agent_to_agent_access_never_hides_a_row() {
    everywhere(|row, who, a2a| {
        let off = AgentToAgent { enabled: false, ..a2a.clone() };
        let everybody = AgentToAgent { enabled: true, ..AgentToAgent::default() };
        for &visibility in Visibility::ALL {
            let seen =
                [&off, a2a, &everybody].map(|it| sees(row, &Requester::of(who, false), visibility, it));
            assert!(seen.is_sorted(), "{visibility}: {seen:?}");
        }
    });
}

/// A list shows the rows that it finds and may see; the other actions look the row up by its key and ask the same
/// decision.
#[test]
fn a_row_that_list_shows_can_be_read_and_one_that_it_hides_cannot() {
    everywhere(|row, who, a2a| {
        for &visibility in Visibility::ALL {
            for shut_in in [false, true] {
                let requester = Requester::of(who, shut_in);
                let access = can_see(row, &requester, visibility, a2a).is_allowed();
                let listed = narrow(&requester, visibility, a2a).finds(row) && access;
                assert_eq!(
                    listed, access,
                    "narrowing lost a row: {visibility} {requester:?} {row:?} {a2a:?}"
                );
            }
        }
    });
}

#[test]
fn outside_of_the_sandbox_narrowing_finds_nothing_in_vain() {
    everywhere(|row, who, a2a| {
        for &visibility in Visibility::ALL {
            let requester = Requester::of(who, false);
            let found = narrow(&requester, visibility, a2a).finds(row);
            assert_eq!(found, sees(row, &requester, visibility, a2a), "{visibility} {row:?} {who:?} {a2a:?}");
        }
    });
}
