//! The session visibility matrix of the ACP lifecycle plan, complete.

use super::*;
use Access::{Allow, Deny};
use Reason::{AgentToAgentOff, NotInTree, NotSelf, OtherAgent, Sandboxed};
use Visibility::{Agent, All, SelfOnly, Tree};

/// The visibility, the requester's sandbox, and agent-to-agent access; then the access to a row of the same agent,
/// of another agent, and of another agent that the requester spawned.
type Line = (Visibility, bool, bool, [Access; 3]);

const IN: bool = true;
const OUT: bool = false;
const ON: bool = true;
const OFF: bool = false;

#[rustfmt::skip]
const MATRIX: [Line; 16] = [
    (SelfOnly, OUT, OFF, [Deny(NotSelf),   Deny(NotSelf),         Deny(NotSelf)]),
    (SelfOnly, OUT, ON,  [Deny(NotSelf),   Deny(NotSelf),         Deny(NotSelf)]),
    (SelfOnly, IN,  OFF, [Deny(Sandboxed), Deny(Sandboxed),       Deny(NotSelf)]),
    (SelfOnly, IN,  ON,  [Deny(Sandboxed), Deny(Sandboxed),       Deny(NotSelf)]),
    (Tree,     OUT, OFF, [Deny(NotInTree), Deny(NotInTree),       Allow]),
    (Tree,     OUT, ON,  [Deny(NotInTree), Deny(NotInTree),       Allow]),
    (Tree,     IN,  OFF, [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
    (Tree,     IN,  ON,  [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
    (Agent,    OUT, OFF, [Allow,           Deny(OtherAgent),      Allow]),
    (Agent,    OUT, ON,  [Allow,           Deny(OtherAgent),      Allow]),
    (Agent,    IN,  OFF, [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
    (Agent,    IN,  ON,  [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
    (All,      OUT, OFF, [Allow,           Deny(AgentToAgentOff), Allow]),
    (All,      OUT, ON,  [Allow,           Allow,                 Allow]),
    (All,      IN,  OFF, [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
    (All,      IN,  ON,  [Deny(Sandboxed), Deny(Sandboxed),       Allow]),
];

/// Returns the outcome of list, history, send or status: each asks the one decision and puts a refusal in its own
/// words.
fn outcome(action: Action, access: Access) -> Result<(), String> {
    match access {
        Allow => Ok(()),
        Deny(reason) => Err(reason.sentence(action)),
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
                assert_eq!(got, outcome(action, expected), "{about}");
                cells += 1;
            }
            let found = narrow(&requester, visibility, &a2a).finds(row);
            assert!(found || !expected.is_allowed(), "narrowing lost {}", row.key);
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
