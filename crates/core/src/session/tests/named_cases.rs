//! Each sentence of the visibility contract, as a test with its name.

use super::*;
use Visibility::{Agent, All, SelfOnly, Tree};

fn off() -> AgentToAgent {
    AgentToAgent::default()
}

fn main() -> SessionRow {
    root("agent:a:main")
}

fn requester() -> Requester {
    Requester::of(&main(), false)
}

fn sandboxed() -> Requester {
    Requester::of(&main(), true)
}

#[test]
fn self_shows_only_the_requester_session() {
    let child = child(&main(), "agent:a:sub");
    assert!(sees(&main(), &requester(), SelfOnly, &off()));
    assert_eq!(can_see(&child, &requester(), SelfOnly, &off()), Access::Deny(Reason::NotSelf));
}

#[test]
fn the_requester_always_sees_itself_sandboxed_or_not_with_or_without_an_agent() {
    for row in [main(), root("cli:1")] {
        for &visibility in Visibility::ALL {
            for shut_in in [false, true] {
                assert!(sees(&row, &Requester::of(&row, shut_in), visibility, &off()), "{visibility}");
            }
        }
    }
}

#[test]
fn tree_shows_what_is_owned_by_or_spawned_from_the_requester_by_any_one_field() {
    let me = || Some(key("agent:a:main"));
    let fields: [fn(&mut SessionRow, Option<SessionKey>); 4] = [
        |row, me| row.owner = me,
        |row, me| row.spawned_by = me,
        |row, me| row.parent = me,
        |row, me| row.lineage = [key("agent:x:1")].into_iter().chain(me).collect(),
    ];
    for (n, field) in fields.into_iter().enumerate() {
        let mut row = root("agent:b:1");
        assert!(!sees(&row, &requester(), Tree, &off()));
        field(&mut row, me());
        for visibility in [Tree, All] {
            assert!(sees(&row, &requester(), visibility, &off()), "field {n}, {visibility}");
        }
        assert_eq!(sees(&row, &requester(), Agent, &off()), n == 0, "agent goes by the owner alone");
    }
}

#[test]
fn tree_shows_every_generation() {
    let child_row = child(&main(), "agent:b:1");
    let grandchild = child(&child_row, "agent:c:2");
    assert!(sees(&grandchild, &requester(), Tree, &off()));
    assert!(!sees(&main(), &Requester::of(&grandchild, false), Tree, &off()), "and nothing above");
    let sibling = child(&main(), "agent:b:3");
    assert!(!sees(&sibling, &Requester::of(&child_row, false), Tree, &off()), "nor beside");
}

#[test]
fn tree_does_not_show_a_same_agent_session_that_nobody_spawned() {
    let other = root("agent:a:other");
    assert_eq!(can_see(&other, &requester(), Tree, &off()), Access::Deny(Reason::NotInTree));
}

#[test]
fn all_shows_all_same_agent_rows() {
    assert!(sees(&root("agent:a:other"), &requester(), All, &off()));
}

#[test]
fn all_shows_a2a_allowed_cross_agent_rows_and_no_others() {
    let row = root("agent:b:main");
    for (a2a, expected) in [
        (a2a(true, &["a->b"]), Access::Allow),
        (a2a(true, &["x->y", "*->b*"]), Access::Allow),
        (a2a(true, &["b->a"]), Access::Deny(Reason::AgentToAgentDenied)),
        (a2a(true, &[]), Access::Deny(Reason::AgentToAgentDenied)),
        (a2a(false, &["a->b"]), Access::Deny(Reason::AgentToAgentOff)),
    ] {
        assert_eq!(can_see(&row, &requester(), All, &a2a), expected, "{a2a:?}");
    }
}

#[test]
fn all_shows_requester_owned_spawned_cross_agent_rows_even_when_a2a_is_disabled() {
    let row = child(&main(), "agent:codex:acp:1");
    for a2a in [off(), a2a(true, &[])] {
        assert!(sees(&row, &requester(), All, &a2a), "{a2a:?}");
    }
}

#[test]
fn all_must_not_hide_an_owned_child_that_tree_would_show() {
    let grandchild = child(&child(&main(), "agent:b:1"), "agent:c:1");
    assert!(sees(&grandchild, &requester(), Tree, &off()) && sees(&grandchild, &requester(), All, &off()));
}

#[test]
fn agent_shows_the_same_agent_only_whatever_a2a_allows() {
    assert!(sees(&root("agent:a:other"), &requester(), Agent, &off()));
    let all = a2a(true, &["*->*"]);
    let denied = can_see(&root("agent:b:main"), &requester(), Agent, &all);
    assert_eq!(denied, Access::Deny(Reason::OtherAgent));
}

#[test]
fn agent_shows_another_agents_row_if_the_owner_says_that_it_is_the_requesters() {
    let owned = child(&main(), "agent:b:1");
    assert!(sees(&owned, &requester(), Agent, &off()));
    let owned_by_the_child = child(&owned, "agent:c:1");
    let denied = can_see(&owned_by_the_child, &requester(), Agent, &off());
    assert_eq!(denied, Access::Deny(Reason::OtherAgent));
}

#[test]
fn a_sandboxed_requester_is_clamped_to_tree() {
    let (same, own) = (root("agent:a:other"), child(&main(), "agent:b:1"));
    let everybody = a2a(true, &["*->*"]);
    for visibility in [Tree, Agent, All] {
        assert_eq!(can_see(&same, &sandboxed(), visibility, &everybody), Access::Deny(Reason::Sandboxed));
        assert!(sees(&own, &sandboxed(), visibility, &everybody), "{visibility}");
    }
}

#[test]
fn the_sandbox_does_not_widen_self_to_tree() {
    let own = child(&main(), "agent:a:sub");
    assert_eq!(can_see(&own, &sandboxed(), SelfOnly, &off()), Access::Deny(Reason::NotSelf));
}

#[test]
fn a_sandboxed_requester_must_pass_its_setting_too() {
    let grandchild = child(&child(&main(), "agent:b:1"), "agent:c:1");
    assert!(sees(&grandchild, &sandboxed(), Tree, &off()));
    assert_eq!(can_see(&grandchild, &sandboxed(), Agent, &off()), Access::Deny(Reason::OtherAgent));
}

#[test]
fn a_child_is_the_requesters_because_the_row_says_so_not_because_of_its_key() {
    let lookalike = root("agent:a:main:sub:1");
    assert_eq!(can_see(&lookalike, &requester(), Tree, &off()), Access::Deny(Reason::NotInTree));
    let mut foreign = root("agent:a:1");
    foreign.agent = Some(agent("b"));
    assert_eq!(can_see(&foreign, &requester(), Agent, &off()), Access::Deny(Reason::OtherAgent));
}

#[test]
fn sessions_without_an_agent_are_of_no_agent_not_of_the_same() {
    let (one, two) = (root("cli:1"), root("cli:2"));
    let everybody = a2a(true, &["*->*"]);
    for visibility in [Agent, All] {
        let denied = Access::Deny(Reason::NoAgent);
        assert_eq!(can_see(&two, &Requester::of(&one, false), visibility, &everybody), denied);
        assert_eq!(can_see(&two, &requester(), visibility, &everybody), denied);
        assert_eq!(can_see(&main(), &Requester::of(&one, false), visibility, &everybody), denied);
    }
    let own = child(&one, "cli:3");
    assert!(sees(&own, &Requester::of(&one, false), All, &off()));
}

#[test]
fn a_requester_without_a_row_is_of_the_agent_that_its_key_names() {
    let requester = Requester::without_row(key("agent:a:new"), false);
    assert!(sees(&main(), &requester, Agent, &off()));
    assert!(!sees(&root("agent:b:main"), &requester, Agent, &off()));
}

#[test]
fn a_closed_session_is_seen_like_an_open_one() {
    let mut row = child(&main(), "agent:b:1");
    row.state = SessionState::Closed;
    assert!(sees(&row, &requester(), Tree, &off()));
}

#[test]
fn a_list_is_narrowed_to_few_lookups() {
    let count = |requester: &Requester, visibility, a2a: &AgentToAgent| {
        narrow(requester, visibility, a2a).any_of.len()
    };
    assert_eq!(count(&requester(), SelfOnly, &off()), 1);
    assert_eq!(count(&requester(), Tree, &off()), 5);
    assert_eq!(count(&requester(), Agent, &off()), 3);
    assert_eq!(count(&requester(), All, &off()), 6);
    assert_eq!(count(&sandboxed(), All, &a2a(true, &["*->*"])), 5);
    let wide = a2a(true, &["a->b", "a->b*", "*->b1", "a->a", "a->b*", "x->*"]);
    assert_eq!(narrow(&requester(), All, &wide).any_of[5..].len(), 2, "b* and a");
    assert_eq!(count(&requester(), All, &a2a(true, &["a->b", "*->*", "a->c"])), 6, "all agents at once");
}
