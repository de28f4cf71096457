//! Answers: exactly one counts, even if the daemon dies or the approver disconnects.

use super::fixture::PolicyFixture;
use serde_json::json;
use tenure_it::eventually;

#[test]
fn exactly_one_of_two_simultaneous_answers_counts() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let mut allowed = 0;
    for round in 0..12 {
        let id = fixture.asks(&format!("tool {round}"));
        let answers = ["allow-once", "deny", "allow-once", "deny"];
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let answering: Vec<_> =
                answers.iter().map(|answer| scope.spawn(|| fixture.answer(&id, answer))).collect();
            answering.into_iter().map(|one| one.join().expect("an answer").head.status).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
        assert_eq!(fixture.events_of(&id, "approval-answered").len(), 1);
        let stands = statuses.iter().position(|status| *status == 200).expect("one");
        if answers[stands] == "allow-once" {
            allowed += 1;
            fixture.output(&id);
        } else {
            fixture.poll(&id, 0).refused(403, "denied");
        }
    }
    assert_eq!(fixture.notes().len(), allowed);
}

#[test]
fn a_question_survives_the_daemon_and_an_allowed_command_runs_in_its_own_directory() {
    let mut fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let (once, always, never) =
        (fixture.asks("tool once"), fixture.asks("tool always"), fixture.asks("tool never"));
    let own = fixture.asks_as(&json!({"command": "tool own; echo $((1+1))", "sessionKey": "agent:a:main"}));
    fixture.crash();
    assert_eq!(fixture.questions().len(), 4);
    assert_eq!(fixture.asks("tool once"), once, "it is still the same question");
    assert_eq!(fixture.poll(&once, 0).is(200).json()["status"], "approval-pending");
    let _ = fixture.answer(&once, "allow-once").is(200);
    assert_eq!(fixture.output(&once).trim(), format!("tool in {}", fixture.work().display()));
    let _ = fixture.answer(&always, "allow-always").is(200);
    fixture.output(&always);
    fixture.runs("tool always");
    let _ = fixture.answer(&never, "deny").is(200);
    let run = fixture.answer(&own, "allow-once").is(200).json();
    assert_eq!(run["sessionKey"], "agent:a:main");
    let run = fixture.api.wait(&own);
    assert_eq!((&run["sessionId"], &run["cwd"]), (&json!("agent:a:main"), &json!(fixture.work())));
    assert_eq!(fixture.notes(), ["tool: once", "tool: always", "tool: always", "tool: own"]);
    // An answered question is not pending, after another crash either.
    fixture.crash();
    fixture.answer(&never, "allow-once").refused(409, "wrong-state");
    fixture.answer(&once, "allow-once").refused(409, "wrong-state");
    assert_eq!(fixture.notes().len(), 4);
}

#[test]
fn unrecorded_variables_after_a_restart_are_reported_with_a_remedy() {
    let mut fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let request = json!({"command": "tool", "env": {"COLOUR": "h1dden", "SHAPE": "x"}});
    let id = fixture.asks_as(&request);
    fixture.crash();
    for answer in ["allow-once", "allow-always"] {
        let why = fixture.answer(&id, answer).refused(409, "wrong-state");
        assert!(why.contains("COLOUR, SHAPE") && why.contains("deny") && why.contains("again"), "{why}");
        assert!(!why.contains("h1dden"), "{why}");
    }
    assert_eq!(fixture.questions().len(), 1, "it is still unanswered");
    assert_ne!(fixture.asks_as(&request), id, "with its values it is another question");
    let _ = fixture.answer(&id, "deny").is(200);
    assert!(fixture.notes().is_empty());
    let db = std::fs::read(fixture.served.install.state().join("tenure.db")).expect("a registry");
    let wal = std::fs::read(fixture.served.install.state().join("tenure.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"h1dden");
    assert!(!holds(&db) && !holds(&wal), "a value was recorded");
}

/// There is no capacity for the run yet, so it starts long after its approver has hung up.
#[test]
fn an_allowed_command_runs_even_if_its_approver_does_not_wait() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    let first = fixture.api.start(&json!({"command": ["sleep", "1000"]}));
    let mut person = fixture.api.connect();
    person.request("POST", &format!("/v1/approvals/{id}/allow-once"), &[], b"{}");
    eventually("the answer is recorded", || fixture.events_of(&id, "approval-answered").first().map(drop));
    drop(person);
    // The daemon has noticed the hang-up.
    let _ = fixture.api.get("/v1/health").is(200);
    assert!(fixture.notes().is_empty());
    let _ = fixture.api.post(&format!("/v1/runs/{first}/cancel"), &json!({"now": true})).is(202);
    assert!(fixture.output(&id).starts_with("tool in "));
    assert_eq!(fixture.notes(), ["tool:"]);
}

#[test]
fn a_requester_can_withdraw_its_question() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let kill = |session: &str| {
        fixture.api.post("/v1/process", &json!({"action": "kill", "runId": id, "sessionKey": session}))
    };
    kill("agent:b:main").refused(404, "no-such-run");
    assert_eq!(fixture.questions().len(), 1);
    let _ = kill("agent:a:main").is(200);
    fixture.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(fixture.notes().is_empty());
}

#[test]
fn a_question_is_found_by_its_id_prefix_and_an_unknown_decision_is_refused() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    for nonsense in ["zz", "%20", "0000dead0000dead0000dead"] {
        fixture.answer(nonsense, "allow-once").refused(404, "no-such-run");
    }
    let _ = fixture.answer(&id[..10], "allow-once").is(200);
    fixture.output(&id);
    assert_eq!(fixture.notes().len(), 1);
}
