//! The question to a person: its content, its number, and its lifetime.

use super::fixture::PolicyFixture;
use serde_json::json;
use std::collections::BTreeSet;
use tenure_it::api::text;
use tenure_it::eventually;

#[test]
fn a_question_names_command_and_directory_and_its_id_becomes_the_runs() {
    let fixture = PolicyFixture::asking();
    let tool = fixture.program("tool", "tool");
    let id = fixture.asks_as(&json!({"command": "tool 'a b' | tool", "env": {"COLOUR": "secret"}}));
    let question = &fixture.questions()[0];
    assert_eq!((&question["id"], &question["state"]), (&json!(id), &json!("pending")));
    assert_eq!(question["command"], "tool 'a b' | tool");
    assert_eq!(question["cwd"], fixture.work().to_str().expect("UTF-8"));
    assert_eq!(question["programs"], json!([tool, tool]));
    assert_eq!(question["envNames"], json!(["COLOUR"]));
    assert!(question["why"].as_str().is_some_and(|why| why.contains("no entry")), "{question}");
    assert_eq!(question["onceOnly"], json!(null));
    assert_eq!(question["env"], json!({"COLOUR": "secret"}));
    let answered = fixture.answer(&id, "allow-once").is(200).json();
    assert_eq!(answered["state"], "allowed-once");
    assert!(!answered.to_string().contains("secret"), "{answered}");
    assert!(answered["answeredBy"].as_str().is_some_and(|by| by.contains("uid")), "{answered}");
    fixture.output(&id);
    let run = fixture.api.get(&format!("/v1/runs/{id}")).is(200).json();
    assert_eq!((&run["runId"], &run["backendId"]), (&json!(id), &json!("exec")));
    assert_eq!(fixture.events_of(&id, "approval-asked").len(), 1);
    assert_eq!(fixture.events_of(&id, "approval-answered").len(), 1);
}

#[test]
fn a_command_allowed_once_runs_once() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let first = fixture.asks("tool a");
    let _ = fixture.answer(&first, "allow-once").is(200);
    assert!(fixture.output(&first).starts_with("tool in "));
    let second = fixture.asks("tool a");
    assert_ne!(first, second);
    assert_eq!(fixture.notes(), ["tool: a"]);
    assert_eq!(fixture.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
}

#[test]
fn an_always_allowed_command_runs_again_only_with_the_same_directory_and_arguments() {
    let fixture = PolicyFixture::asking();
    let tool = fixture.program("tool", "tool");
    let first = fixture.asks("tool a 'b c'");
    let _ = fixture.answer(&first, "allow-always").is(200);
    fixture.output(&first);
    fixture.runs("tool a 'b c'");
    fixture.runs("tool   \"a\" b\\ c # the same words");
    assert_eq!(fixture.notes(), ["tool: a b c"; 3]);
    for request in [
        json!({"command": "tool a b c"}),
        json!({"command": "tool a"}),
        json!({"command": "tool a 'b c' d"}),
        json!({"command": format!("{} a 'b c'", tool.display())}),
        json!({"command": "tool a 'b c'", "workdir": fixture.bin()}),
        json!({"command": "tool a 'b c' | tool"}),
    ] {
        let id = fixture.asks_as(&request);
        let _ = fixture.answer(&id, "deny").is(200);
    }
    assert_eq!(fixture.notes().len(), 3);
    let entry = &fixture.api.get("/v1/allowlist").is(200).json()["entries"][0];
    assert_eq!((&entry["uses"], &entry["entry"]["program"]), (&json!(2), &json!(tool)), "{entry}");
    let _ = fixture.api.delete(&format!("/v1/allowlist/{}", entry["id"])).is(204);
    let _ = fixture.asks("tool a 'b c'");
}

#[test]
fn an_allowlist_entry_of_one_agent_does_not_apply_to_another() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let a = json!({"command": "tool", "sessionKey": "agent:a:main"});
    let id = fixture.asks_as(&a);
    let _ = fixture.answer(&id, "allow-always").is(200);
    eventually("its end", || {
        let poll = json!({"action": "poll", "runId": id, "sessionKey": "agent:a:main"});
        (fixture.api.post("/v1/process", &poll).is(200).json()["status"] == "completed").then_some(())
    });
    assert_eq!(fixture.exec_as(&a).is(200).json()["status"], "completed");
    let _ = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:b:main"}));
    let _ = fixture.asks("tool");
}

#[test]
fn a_denied_command_never_runs_and_a_poll_says_so() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    let waits = fixture.poll(&id, 0).is(200).json();
    assert_eq!(waits["status"], "approval-pending", "{waits}");
    let (api, polled) = (fixture.api.clone(), id.clone());
    let polling = std::thread::spawn(move || {
        api.post("/v1/process", &json!({"action": "poll", "runId": polled, "timeoutMs": 30_000}))
    });
    let _ = fixture.answer(&id, "deny").is(200);
    let why = polling.join().expect("an answer").refused(403, "denied");
    assert!(why.contains(&id) && why.contains("denied"), "{why}");
    fixture.poll(&id, 0).refused(403, "denied");
    fixture.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(fixture.notes().is_empty());
}

#[test]
fn a_poll_waits_for_the_question_and_then_the_run() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks("tool && sleep 0.3 && tool");
    let (api, polled) = (fixture.api.clone(), id.clone());
    let polling = std::thread::spawn(move || {
        api.post("/v1/process", &json!({"action": "poll", "runId": polled, "timeoutMs": 30_000}))
    });
    let _ = fixture.answer(&id, "allow-once").is(200);
    let polled = polling.join().expect("an answer").is(200).json();
    assert!(text(&polled["output"]).starts_with("tool in "), "{polled}");
    assert_eq!(polled["runId"], json!(id));
    fixture.output(&id);
    assert_eq!(fixture.notes().len(), 2);
}

#[test]
fn a_pending_question_is_not_asked_twice() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let request = json!({"command": "tool a"});
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let ask = || text(&fixture.exec_as(&request).is(200).json()["runId"]);
        let asking: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
    let others = [
        json!({"command": "tool b"}),
        json!({"command": "tool a", "workdir": fixture.bin()}),
        json!({"command": "tool a", "sessionKey": "agent:a:main"}),
        json!({"command": "tool a", "env": {"X": "1"}}),
        json!({"command": "tool a", "env": {"X": "2"}}),
        json!({"command": "tool a", "pty": true}),
    ];
    let more: BTreeSet<String> = others.iter().map(|request| fixture.asks_as(request)).collect();
    assert_eq!(more.len(), others.len());
    assert_eq!(fixture.questions().len(), 1 + others.len());
}

#[test]
fn at_most_two_hundred_questions_are_pending_across_callers_and_daemons() {
    let mut fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let ask = |from: usize| {
        let asking = |number| fixture.exec(&format!("tool {number}")).head.status;
        (from..from + 15).map(asking).collect::<Vec<_>>()
    };
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..14).map(|part| scope.spawn(move || ask(part * 15))).collect();
        asking.into_iter().flat_map(|one| one.join().expect("answers")).collect()
    });
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 200);
    assert_eq!(answers.len(), 210);
    assert_eq!(fixture.questions().len(), 200);
    fixture.crash();
    let why = fixture.exec("tool more").refused(429, "too-many-runs");
    assert!(why.contains("200") && why.contains("answered"), "{why}");
    let first = text(&fixture.questions()[0]["id"]);
    let _ = fixture.answer(&first, "deny").is(200);
    let _ = fixture.asks("tool more");
}

#[test]
fn a_secret_in_a_command_is_shown_to_the_approver_and_hidden_afterwards() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "8s")]);
    fixture.program("tool", "tool");
    let line = "tool --password=h1dden";
    let (denied, expired) = (fixture.asks(line), fixture.asks(&format!("{line} again")));
    assert!(fixture.questions().iter().all(|question| text(&question["command"]).contains("h1dden")));
    let _ = fixture.answer(&denied, "deny").is(200);
    eventually("the other is closed", || fixture.questions().is_empty().then_some(()));
    let all = fixture.api.get("/v1/approvals?all=true").is(200).text();
    assert!(all.contains(&denied) && all.contains(&expired) && !all.contains("h1dden"), "{all}");
}

#[test]
fn the_owner_learns_of_its_question_even_if_another_daemon_closes_it() {
    let mut fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "300ms")]);
    fixture.program("tool", "tool");
    let id = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    fixture.crash();
    eventually("it is closed", || fixture.questions().is_empty().then_some(()));
    let told = fixture.events_of(&id, "approval-expired");
    assert_eq!((told.len(), &told[0]["sessionId"]), (1, &json!("agent:a:main")), "{told:?}");
}

#[test]
fn an_unanswered_question_expires_and_is_reported() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "300ms")]);
    fixture.program("tool", "tool");
    let id = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let poll = json!({"action": "poll", "runId": id, "timeoutMs": 30_000, "sessionKey": "agent:a:main"});
    let why = fixture.api.post("/v1/process", &poll).refused(403, "denied");
    assert!(why.contains("in time") && why.contains("again"), "{why}");
    for answer in ["allow-once", "allow-always", "deny"] {
        let why = fixture.answer(&id, answer).refused(409, "wrong-state");
        assert!(why.contains("expired"), "{why}");
    }
    let told = fixture.events_of(&id, "approval-expired");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["sessionId"], "agent:a:main", "{told:?}");
    assert!(fixture.questions().is_empty());
    assert!(fixture.notes().is_empty());
    assert_eq!(fixture.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
}

#[test]
fn a_question_shows_the_exact_line_and_refuses_hidden_characters() {
    let fixture = PolicyFixture::asking();
    fixture.program("ls", "listed");
    for hidden in
        ["ls -la\u{1b}]0; touch pwned; echo \u{7}", "ls\r; touch pwned", "ls\u{9b}8m; touch pwned", "ls\u{8}"]
    {
        let why = fixture.exec(hidden).refused(422, "invalid");
        assert!(why.contains("control character"), "{why}");
    }
    assert!(fixture.questions().is_empty());
    // Format characters are not control characters, so they are allowed and shown.
    let line = "ls -la\u{202e}\u{200b}\n\ttouch 'a\\n'";
    let id = fixture.asks(line);
    assert_eq!(fixture.questions()[0]["command"], line, "JSON contains it unchanged");
    let shown = String::from_utf8(fixture.served.install.tenure(&["approvals"]).stdout).expect("UTF-8");
    assert!(shown.contains("│ ls -la\\u{202e}\\u{200b}\n"), "{shown}");
    assert!(shown.contains("│ \\ttouch 'a\\\\n'\n"), "{shown}");
    assert!(shown.contains(&format!("in {}", fixture.work().display())), "{shown}");
    let _ = fixture.answer(&id, "deny").is(200);
    // Padding does not hide the end of a line.
    let _ = fixture.asks(&format!("ls {}; touch pwned", " ".repeat(10_000)));
    let shown = String::from_utf8(fixture.served.install.tenure(&["approvals"]).stdout).expect("UTF-8");
    assert!(shown.contains("; touch pwned") && shown.contains("… (10016 bytes) …"), "{shown}");
    assert!(shown.contains("tenure approvals show"), "{shown}");
    assert!(!fixture.work().join("pwned").exists());
    let listing = PolicyFixture::listing();
    assert!(listing.exec("ls\u{1b}c").refused(422, "invalid").contains("\\x1b"));
}
