//! What an ACP agent may do that asks before: by policy, or as somebody says; every decision is in the history.

use serde_json::{Value, json};
use tenure_it::acp::{Acp, KEY};
use tenure_it::api::text;
use tenure_it::eventually;

/// What is offered: two of a kind, the second of which is meant.
const OPTIONS: &str =
    "always:allow_always|once:allow_once|once-and-more:allow_once|no:reject_once|never:reject_always";

/// What the agent was answered.
fn outcome(acp: &Acp, title: &str) -> Value {
    let answers = acp.answers(title);
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0]["result"]["outcome"].clone()
}

fn chosen(option: &str) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

#[test]
fn three_policies_decide_by_what_the_tool_does() {
    for (policy, reads, edits) in
        [("approve-all", "once", "once"), ("approve-reads", "once", "no"), ("deny-all", "no", "no")]
    {
        let acp = Acp::new(&[]);
        acp.open_with(KEY, json!({"permissions": policy}));
        let _ = acp.ended(KEY, &format!("!ask read look|{OPTIONS}\n!ask edit mend|{OPTIONS}"));
        assert_eq!(
            (outcome(&acp, "look"), outcome(&acp, "mend")),
            (chosen(reads), chosen(edits)),
            "{policy}"
        );
        let told = acp.bodies(KEY, "permission");
        assert_eq!(told.len(), 2, "{told:?}");
        for (entry, option) in told.iter().zip([reads, edits]) {
            assert_eq!((&entry["outcome"], &entry["by"]), (&option.into(), &policy.into()), "{entry}");
        }
        assert_eq!(told[1]["tool"], "mend", "{told:?}");
        let offered: Vec<String> = told[1]["options"]
            .as_array()
            .expect("options")
            .iter()
            .map(|option| text(&option["id"]))
            .collect();
        assert_eq!(offered, ["always", "once", "once-and-more", "no", "never"]);
        assert!(acp.questions().is_empty(), "nobody is asked");
        acp.finish();
    }
}

#[test]
fn the_default_is_described_and_reads_without_that() {
    let acp = Acp::with(&[], "permissions = 'deny-all'", "");
    acp.open(KEY);
    let _ = acp.ended(KEY, &format!("!ask read look|{OPTIONS}"));
    assert_eq!(outcome(&acp, "look"), chosen("no"));
    acp.finish();
    let acp = Acp::new(&[]);
    acp.open(KEY);
    let _ = acp.ended(KEY, &format!("!ask read look|{OPTIONS}\n!ask execute do|{OPTIONS}"));
    assert_eq!((outcome(&acp, "look"), outcome(&acp, "do")), (chosen("once"), chosen("no")));
    acp.finish();
}

#[test]
fn somebody_chooses_by_id_between_two_of_a_kind() {
    let acp = Acp::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let question = acp.question();
    assert_eq!((&question["command"], &question["sessionKey"]), (&"mend".into(), &KEY.into()), "{question}");
    let waiting = acp.bodies(KEY, "permission");
    assert_eq!(
        (&waiting[0]["question"], &waiting[0]["outcome"]),
        (&question["id"], &Value::Null),
        "{waiting:?}"
    );
    let path = format!("/v1/approvals/{}/choose", text(&question["id"]));
    let refused = acp.api.post(&path, &json!({"option": "perhaps"}));
    assert_eq!(refused.head.status, 422, "{}", refused.text());
    let answered = acp.choose(&question, "once-and-more");
    assert_eq!(answered["option"], "once-and-more", "{answered}");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "mend"), chosen("once-and-more"));
    let told = acp.bodies(KEY, "permission");
    assert_eq!((told.len(), &told[0]["outcome"]), (1, &"once-and-more".into()), "{told:?}");
    assert!(told[0]["by"].is_string() && told[0]["by"] != "ask", "who decided: {told:?}");
    // It is answered once.
    let again = acp.api.post(&path, &json!({"option": "no"}));
    assert!(again.head.status >= 400, "{}", again.text());
    acp.finish();
}

#[test]
fn the_words_for_commands_choose_the_first_option_of_their_kind() {
    let acp = Acp::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    for (word, expected) in [("allow-once", "once"), ("allow-always", "always"), ("deny", "no")] {
        let sent = acp.send(KEY, &format!("!ask edit {word}|{OPTIONS}"));
        let path = format!("/v1/approvals/{}/{word}", text(&acp.question()["id"]));
        let _ = acp.api.post(&path, &json!({})).is(200);
        assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
        assert_eq!(outcome(&acp, word), chosen(expected));
    }
    let sent = acp.send(KEY, "!ask edit little|once:allow_once|no:reject_once");
    let question = acp.question();
    let path = format!("/v1/approvals/{}/allow-always", text(&question["id"]));
    let refused = acp.api.post(&path, &json!({}));
    assert!((400..500).contains(&refused.head.status), "{}", refused.text());
    let said = acp.tenure(&["approvals", "choose", &text(&question["id"]), "no"]);
    assert!(said.status.success(), "{said:?}");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "little"), chosen("no"));
    acp.finish();
}

#[test]
fn a_cancelled_turn_permits_nothing_and_its_question_is_over() {
    let acp = Acp::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let question = acp.question();
    let _ = acp.does("cancel", KEY, &json!({}));
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert_eq!((&turn["stop"], &turn["state"]), (&"cancelled".into(), &"cancelled".into()), "{turn}");
    assert_eq!(outcome(&acp, "mend"), json!({"outcome": "cancelled"}));
    assert_eq!(acp.bodies(KEY, "permission")[0]["outcome"], "cancelled");
    eventually("no question waits", || acp.questions().is_empty().then_some(()));
    let path = format!("/v1/approvals/{}/choose", text(&question["id"]));
    let late = acp.api.post(&path, &json!({"option": "once"}));
    assert!(late.head.status >= 400, "{}", late.text());
    assert_eq!(acp.starts().len(), 1);
    let _ = acp.itself(KEY);
    acp.finish();
}

#[test]
fn a_question_that_nobody_answers_expires_as_a_no() {
    let acp = Acp::with(&[], "", "[exec]\napproval = '300ms'");
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let _ = acp.ended(KEY, &format!("!ask edit mend|{OPTIONS}"));
    assert_eq!(outcome(&acp, "mend"), chosen("no"));
    acp.finish();
}

#[test]
fn an_agent_that_offers_nothing_of_the_kind_is_answered_with_none() {
    let acp = Acp::new(&[]);
    acp.open_with(KEY, json!({"permissions": "deny-all"}));
    let _ = acp.ended(KEY, "!ask edit forced|yes:allow_once\n!ask edit pointless");
    for title in ["forced", "pointless"] {
        assert_eq!(outcome(&acp, title), json!({"outcome": "cancelled"}));
    }
    acp.finish();
}

#[test]
fn an_agent_cannot_answer_its_own_question() {
    let acp = Acp::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let tenure = tenure_it::install::tenure().display().to_string();
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let id = text(&acp.question()["id"]);
    let other = "agent:helper:other";
    acp.open_with(other, json!({"permissions": "approve-all"}));
    let state = acp.state().display().to_string();
    let line = format!("TENURE_STATE='{state}' '{tenure}' approvals choose {id} once; echo code $?");
    let _ = acp.ended(other, &format!("!terminal {line}\n!exited\n!output\n!release"));
    let output = text(&acp.answers("output")[0]["result"]["output"]);
    assert!(!output.contains("code 0"), "{output}");
    assert_eq!(acp.questions().len(), 1, "{output}");
    let _ = acp.choose(&acp.question(), "no");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "mend"), chosen("no"));
    acp.finish();
}

#[test]
fn whoever_spawned_an_agent_answers_what_it_asks_and_nobody_else_does() {
    let acp = Acp::new(&[]);
    let (parent, other) = ("agent:gateway:main", "agent:gateway:other");
    acp.open_with(KEY, json!({"permissions": "ask", "as": parent}));
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let id = text(&acp.question()["id"]);
    let answer = |who: &str, option: &str| {
        let body =
            json!({"action": "answer", "sessionKey": KEY, "question": id, "option": option, "as": who});
        acp.api.post("/v1/sessions", &body)
    };
    for who in [other, KEY] {
        let refused = answer(who, "once");
        assert_eq!(refused.head.status, 403, "{who}: {}", refused.text());
    }
    assert_eq!(answer(parent, "perhaps").head.status, 422);
    let asked = acp.status(KEY)["questions"].clone();
    assert_eq!((&asked[0]["id"], &asked[0]["command"]), (&id.as_str().into(), &"mend".into()), "{asked}");
    assert_eq!(answer(parent, "once-and-more").head.status, 200);
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "mend"), chosen("once-and-more"));
    acp.finish();
}
