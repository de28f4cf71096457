//! Visibility of sessions (I11): list, history, status and send give the same answer, by the words of the design.

use super::*;
use crate::fixture::client;
use tenure_core::problem::Code;

/// The rows: the requester itself, one of the same agent, one of another agent, one of another agent that it spawned,
/// and one that its child spawned.
type Seen = [bool; 5];

const YES: bool = true;
const NO: bool = false;

/// Visibility, whether the requester is sandboxed, and what it sees with agent-to-agent access off and on. Written down
/// here, and computed from nothing.
#[rustfmt::skip]
const MATRIX: [(&str, bool, Seen, Seen); 8] = [
    ("self",  NO,  [YES, NO,  NO, NO,  NO],  [YES, NO,  NO,  NO,  NO]),
    ("self",  YES, [YES, NO,  NO, NO,  NO],  [YES, NO,  NO,  NO,  NO]),
    ("tree",  NO,  [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
    ("tree",  YES, [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
    // A row that its child spawned belongs to the child, which is another agent's.
    ("agent", NO,  [YES, YES, NO, YES, NO],  [YES, YES, NO,  YES, NO]),
    ("agent", YES, [YES, NO,  NO, YES, NO],  [YES, NO,  NO,  YES, NO]),
    ("all",   NO,  [YES, YES, NO, YES, YES], [YES, YES, YES, YES, YES]),
    ("all",   YES, [YES, NO,  NO, YES, YES], [YES, NO,  NO,  YES, YES]),
];

/// A daemon that launches nothing: turns wait for a place for ever.
async fn agents(agents_reach_each_other: bool) -> TestAgents {
    TestAgents::with(|settings| {
        settings.runs.max = Some(0);
        settings.sessions.queue = 1000;
        settings.sessions.visibility = tenure_core::session::Visibility::All;
        settings.sessions.agent_to_agent.enabled = agents_reach_each_other;
    })
    .await
}

/// Makes the rows of one line of the matrix.
async fn family(agents: &TestAgents, line: &str, sandbox: bool) -> [String; 5] {
    let name = |agent: &str, what: &str| format!("agent:{agent}:{what}-{line}");
    let keys =
        [name("a", "main"), name("a", "other"), name("b", "main"), name("b", "child"), name("b", "below")];
    let above = [None, None, None, Some(&keys[0]), Some(&keys[3])];
    for (key, above) in keys.iter().zip(above) {
        let sandbox = sandbox && *key == keys[0];
        let mut spawn = json!({"action": "spawn", "sessionKey": key, "backend": "exec", "sandbox": sandbox});
        if let Some(above) = above {
            spawn["as"] = json!(above);
        }
        agents.ask(spawn).await.expect("spawned");
    }
    keys
}

fn with(mut body: Value, who: &Value) -> Value {
    for (name, value) in who.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

/// Every key that is listed, page by page.
async fn listed(agents: &TestAgents, who: &Value, limit: u64) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), None::<String>);
    loop {
        let list = with(json!({"action": "list", "limit": limit, "after": after}), who);
        let reply = agents.ask(list).await.expect("a list");
        let page = reply.sessions.expect("sessions");
        assert!(!page.is_empty() || reply.next.is_none(), "an empty page is the last");
        keys.extend(page.into_iter().map(|session| session.row.key.to_string()));
        after = reply.next;
        if after.is_none() {
            keys.sort();
            return keys;
        }
    }
}

/// Checks one line of the matrix, and returns how many answers it compared.
async fn check(agents: &TestAgents, who: &Value, keys: &[String; 5], expected: Seen) -> usize {
    let shown = listed(agents, who, 500).await;
    assert_eq!(shown, listed(agents, who, 1).await, "{who}: page by page it is the same");
    let mut compared = 0;
    for (key, expected) in keys.iter().zip(expected) {
        assert_eq!(shown.contains(key), expected, "list of {key} for {who}");
        // The requester of wait, cancel or close has to see the session, too.
        let always = ["history", "status", "send"];
        let more = ["wait", "cancel", "close", "entries"].into_iter().filter(|_| !expected);
        for action in always.into_iter().chain(more) {
            let mut body = with(json!({"action": action, "sessionKey": key}), who);
            if action == "send" {
                body["text"] = json!("true");
            }
            let answer = agents.ask(body).await;
            compared += 1;
            if expected {
                answer.unwrap_or_else(|refusal| panic!("{action} of {key} for {who}: {refusal:?}"));
                continue;
            }
            let refusal = answer.expect_err("it is not seen");
            assert_eq!(refusal.code, Code::Forbidden, "{action} of {key} for {who}");
            assert!(refusal.detail.contains("; have "), "it says what to do: {}", refusal.detail);
            assert!(!refusal.detail.contains(key.as_str()), "it tells nothing of {key}: {}", refusal.detail);
        }
        let turns = agents.status_of(key).await.turns;
        assert_eq!(turns > 0, expected, "a refused message begins nothing");
    }
    compared
}

async fn matrix(agents_reach_each_other: bool) {
    let agents = agents(agents_reach_each_other).await;
    let mut compared = 0;
    for (number, (visibility, sandboxed, off, on)) in MATRIX.into_iter().enumerate() {
        let expected = if agents_reach_each_other { on } else { off };
        let keys = family(&agents, &format!("{number}"), NO).await;
        let mut who = json!({"as": keys[0], "visibility": visibility});
        if sandboxed {
            who["sandboxed"] = json!(true);
        }
        compared += check(&agents, &who, &keys, expected).await;
        // A session that is recorded as sandboxed is so whatever it says.
        let says = if sandboxed { vec![json!(null), json!(false)] } else { Vec::new() };
        for (said, says) in says.into_iter().enumerate() {
            let keys = family(&agents, &format!("{number}-{said}"), YES).await;
            let who = json!({"as": keys[0], "visibility": visibility, "sandboxed": says});
            compared += check(&agents, &who, &keys, expected).await;
        }
    }
    assert!(compared >= (8 + 4 * 2) * 5 * 3, "every cell was compared");
    assert!(!agents.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn list_history_status_and_send_agree_while_agents_may_not_reach_each_other() {
    matrix(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn list_history_status_and_send_agree_while_agents_may_reach_each_other() {
    matrix(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_every_session() {
    let agents = agents(false).await;
    let keys = family(&agents, "0", YES).await;
    let mut all = keys.to_vec();
    all.sort();
    assert_eq!(listed(&agents, &json!({}), 500).await, all);
    for key in &keys {
        for action in ["history", "status"] {
            agents.ask(json!({"action": action, "sessionKey": key})).await.expect("an answer");
        }
        assert_eq!(agents.send(key, "true").await.1, "started");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_sees_no_more_than_the_settings_say_and_cannot_act_as_another() {
    let agents = TestAgents::with(|settings| {
        settings.sessions.visibility = tenure_core::session::Visibility::Tree;
    })
    .await;
    agents.spawn_shell("agent:a:main").await;
    let bound = client("agent:a:main");
    for visibility in ["agent", "all"] {
        let asked = json!({"action": "list", "visibility": visibility});
        assert_eq!(agents.ask_as(&bound, asked.clone()).await.expect_err("it is more").code, Code::Forbidden);
        let acting = with(asked, &json!({"as": "agent:a:main"}));
        agents.ask(acting).await.expect("somebody outside who acts as it may");
    }
    let other = json!({"action": "list", "as": "agent:b:main"});
    assert_eq!(agents.ask_as(&bound, other).await.expect_err("it is another").code, Code::Forbidden);
    let asked = json!({"action": "list", "visibility": "self"});
    assert_eq!(agents.ask_as(&bound, asked).await.expect("less").sessions.map(|all| all.len()), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn to_see_a_session_is_not_to_end_it() {
    let agents = agents(false).await;
    let keys = ["agent:a:root", "agent:a:child", "agent:a:sister"];
    agents.spawn_shell(keys[0]).await;
    for key in &keys[1..] {
        let spawn = json!({"action": "spawn", "sessionKey": key, "backend": "exec", "parent": keys[0]});
        agents.ask(spawn).await.expect("spawned");
    }
    for visibility in ["agent", "all"] {
        let who = json!({"as": keys[1], "visibility": visibility});
        for key in [keys[0], keys[2]] {
            agents.ask(with(json!({"action": "status", "sessionKey": key}), &who)).await.expect("it is seen");
            for action in ["close", "cancel"] {
                let asked = with(json!({"action": action, "sessionKey": key}), &who);
                assert_eq!(
                    agents.ask(asked).await.expect_err("not its own").code,
                    Code::Forbidden,
                    "{action} {key}"
                );
            }
        }
    }
    let close = json!({"action": "close", "sessionKey": keys[2], "as": keys[0]});
    agents.ask(close).await.expect("a parent ends its child");
}
