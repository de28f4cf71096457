//! The session visibility matrix of the ACP lifecycle plan, complete.

use super::*;
use Reason::{AgentToAgentOff, NotInTree, NotSelf, OtherAgent, Sandboxed};
use Visibility::{Agent, All, SelfOnly, Tree};

/// Sees it.
const SEES: Option<Reason> = None;

const fn not(reason: Reason) -> Option<Reason> {
    Some(reason)
}

/// What is set, whether the requester is sandboxed, whether agents may reach each other; then what becomes of a row of
/// the same agent, of a row of another agent, and of a row of another agent that the requester spawned.
type Line = (Visibility, bool, bool, [Option<Reason>; 3]);

const IN: bool = true;
const OUT: bool = false;
const ON: bool = true;
const OFF: bool = false;

#[rustfmt::skip]
const MATRIX: [Line; 16] = [
    (SelfOnly, OUT, OFF, [not(NotSelf),   not(NotSelf),         not(NotSelf)]),
    (SelfOnly, OUT, ON,  [not(NotSelf),   not(NotSelf),         not(NotSelf)]),
    (SelfOnly, IN,  OFF, [not(Sandboxed), not(Sandboxed),       not(NotSelf)]),
    (SelfOnly, IN,  ON,  [not(Sandboxed), not(Sandboxed),       not(NotSelf)]),
    (Tree,     OUT, OFF, [not(NotInTree), not(NotInTree),       SEES]),
    (Tree,     OUT, ON,  [not(NotInTree), not(NotInTree),       SEES]),
    (Tree,     IN,  OFF, [not(Sandboxed), not(Sandboxed),       SEES]),
    (Tree,     IN,  ON,  [not(Sandboxed), not(Sandboxed),       SEES]),
    (Agent,    OUT, OFF, [SEES,           not(OtherAgent),      SEES]),
    (Agent,    OUT, ON,  [SEES,           not(OtherAgent),      SEES]),
    (Agent,    IN,  OFF, [not(Sandboxed), not(Sandboxed),       SEES]),
    (Agent,    IN,  ON,  [not(Sandboxed), not(Sandboxed),       SEES]),
    (All,      OUT, OFF, [SEES,           not(AgentToAgentOff), SEES]),
    (All,      OUT, ON,  [SEES,           SEES,                 SEES]),
    (All,      IN,  OFF, [not(Sandboxed), not(Sandboxed),       SEES]),
    (All,      IN,  ON,  [not(Sandboxed), not(Sandboxed),       SEES]),
];

/// What list, history, send and status come to: each asks the one decision and puts a refusal in its own words.
fn outcome(action: Action, access: Access) -> Result<(), String> {
    match access {
        Access::Allow => Ok(()),
        Access::Deny(reason) => Err(reason.sentence(action)),
    }
}

#[test]
fn the_whole_matrix_is_as_written() {
    let main = root("agent:a:main");
    let rows = [root("agent:a:other"), root("agent:b:main"), child(&main, "agent:b:acp:1")];
    let mut cells = 0;
    for (visibility, sandboxed, on, expected) in MATRIX {
        let requester = Requester::of(&main, sandboxed);
        let a2a = AgentToAgent { enabled: on, ..AgentToAgent::default() };
        for (row, expected) in rows.iter().zip(expected) {
            for &action in Action::ALL {
                let about = format!("{visibility}, sandboxed {sandboxed}, a2a {on}, {}, {action}", row.key);
                let got = outcome(action, can_see(row, &requester, visibility, &a2a));
                assert_eq!(got, expected.map_or(Ok(()), |reason| Err(reason.sentence(action))), "{about}");
                cells += 1;
            }
            let found = narrow(&requester, visibility, &a2a).finds(row);
            assert!(found || expected.is_some(), "narrowing lost {}", row.key);
        }
    }
    assert_eq!(cells, Visibility::ALL.len() * 2 * 2 * rows.len() * Action::ALL.len());
}

#[test]
fn no_line_of_the_matrix_is_missing_or_there_twice() {
    let mut lines: Vec<_> =
        MATRIX.iter().map(|(visibility, sandbox, on, _)| (*visibility, *sandbox, *on)).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), Visibility::ALL.len() * 2 * 2);
}

#[test]
fn every_reason_says_what_was_refused_and_what_to_do_and_no_two_say_the_same() {
    let reasons = [
        Sandboxed,
        NotSelf,
        NotInTree,
        OtherAgent,
        Reason::NoAgent,
        AgentToAgentOff,
        Reason::AgentToAgentDenied,
    ];
    let mut said = std::collections::BTreeSet::new();
    for reason in reasons {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        for (&action, verb) in Action::ALL.iter().zip(["listed", "history", "sent", "status"]) {
            let sentence = reason.sentence(action);
            assert!(sentence.contains(verb) && sentence.contains("; have "), "{sentence}");
            said.insert(sentence);
        }
    }
    assert_eq!(said.len(), reasons.len() * Action::ALL.len());
}
