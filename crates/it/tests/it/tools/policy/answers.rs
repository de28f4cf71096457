//! Answers: exactly one stands, also across the death of the daemon and the leaving of whoever answered.

use super::desk::Desk;
use serde_json::json;
use tenure_it::eventually;

#[test]
fn of_two_answers_at_once_exactly_one_stands() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let mut allowed = 0;
    for round in 0..12 {
        let id = desk.asks(&format!("tool {round}"));
        let answers = ["allow-once", "deny", "allow-once", "deny"];
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let answering: Vec<_> =
                answers.iter().map(|answer| scope.spawn(|| desk.answer(&id, answer))).collect();
            answering.into_iter().map(|one| one.join().expect("an answer").head.status).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
        assert_eq!(desk.told(&id, "approval-answered").len(), 1);
        let stands = statuses.iter().position(|status| *status == 200).expect("one");
        if answers[stands] == "allow-once" {
            allowed += 1;
            desk.output(&id);
        } else {
            desk.poll(&id, 0).refused(403, "denied");
        }
    }
    assert_eq!(desk.notes().len(), allowed);
}

#[test]
fn a_question_outlives_the_daemon_and_what_is_allowed_then_runs_where_it_was_asked_for() {
    let mut desk = Desk::asking();
    desk.program("tool", "tool");
    let (once, always, never) = (desk.asks("tool once"), desk.asks("tool always"), desk.asks("tool never"));
    let own = desk.asks_as(&json!({"command": "tool own; echo $((1+1))", "sessionKey": "agent:a:main"}));
    desk.crash();
    assert_eq!(desk.questions().len(), 4);
    assert_eq!(desk.asks("tool once"), once, "it is still the same question");
    assert_eq!(desk.poll(&once, 0).is(200).json()["status"], "approval-pending");
    let _ = desk.answer(&once, "allow-once").is(200);
    assert_eq!(desk.output(&once).trim(), format!("tool in {}", desk.work().display()));
    let _ = desk.answer(&always, "allow-always").is(200);
    desk.output(&always);
    desk.runs("tool always");
    let _ = desk.answer(&never, "deny").is(200);
    let run = desk.answer(&own, "allow-once").is(200).json();
    assert_eq!(run["sessionKey"], "agent:a:main");
    let run = desk.api.wait(&own);
    assert_eq!((&run["sessionId"], &run["cwd"]), (&json!("agent:a:main"), &json!(desk.work())));
    assert_eq!(desk.notes(), ["tool: once", "tool: always", "tool: always", "tool: own"]);
    // An answer is no question any more, after another death either.
    desk.crash();
    desk.answer(&never, "allow-once").refused(409, "wrong-state");
    desk.answer(&once, "allow-once").refused(409, "wrong-state");
    assert_eq!(desk.notes().len(), 4);
}

#[test]
fn values_of_variables_are_not_recorded_so_after_a_restart_it_is_said_what_to_do() {
    let mut desk = Desk::asking();
    desk.program("tool", "tool");
    let request = json!({"command": "tool", "env": {"COLOUR": "h1dden", "SHAPE": "x"}});
    let id = desk.asks_as(&request);
    desk.crash();
    for answer in ["allow-once", "allow-always"] {
        let why = desk.answer(&id, answer).refused(409, "wrong-state");
        assert!(why.contains("COLOUR, SHAPE") && why.contains("deny") && why.contains("again"), "{why}");
        assert!(!why.contains("h1dden"), "{why}");
    }
    assert_eq!(desk.questions().len(), 1, "it is not answered by that");
    assert_ne!(desk.asks_as(&request), id, "with its values it is another question");
    let _ = desk.answer(&id, "deny").is(200);
    assert!(desk.notes().is_empty());
    let db = std::fs::read(desk.served.install.state().join("tenure.db")).expect("a registry");
    let wal = std::fs::read(desk.served.install.state().join("tenure.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"h1dden");
    assert!(!holds(&db) && !holds(&wal), "a value was recorded");
}

/// There is no place for the run yet, so it starts long after whoever answered has hung up.
#[test]
fn what_a_person_allowed_runs_though_they_did_not_wait_for_it() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    let first = desk.api.start(&json!({"command": ["sleep", "1000"]}));
    let mut person = desk.api.connect();
    person.request("POST", &format!("/v1/approvals/{id}/allow-once"), &[], b"{}");
    eventually("that the answer is recorded", || desk.told(&id, "approval-answered").first().map(drop));
    drop(person);
    // The daemon has seen that they are gone.
    let _ = desk.api.get("/v1/health").is(200);
    assert!(desk.notes().is_empty());
    let _ = desk.api.post(&format!("/v1/runs/{first}/cancel"), &json!({"now": true})).is(202);
    assert!(desk.output(&id).starts_with("tool in "));
    assert_eq!(desk.notes(), ["tool:"]);
}

#[test]
fn who_asked_can_withdraw_it() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let kill = |session: &str| {
        desk.api.post("/v1/process", &json!({"action": "kill", "runId": id, "sessionKey": session}))
    };
    kill("agent:b:main").refused(404, "no-such-run");
    assert_eq!(desk.questions().len(), 1);
    let _ = kill("agent:a:main").is(200);
    desk.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(desk.notes().is_empty());
}

#[test]
fn a_question_is_found_by_the_beginning_of_its_id_and_a_word_that_is_none_is_refused() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    for nonsense in ["zz", "%20", "0000dead0000dead0000dead"] {
        desk.answer(nonsense, "allow-once").refused(404, "no-such-run");
    }
    let _ = desk.answer(&id[..10], "allow-once").is(200);
    desk.output(&id);
    assert_eq!(desk.notes().len(), 1);
}
