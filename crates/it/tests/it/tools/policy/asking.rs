//! The question to a person: what is asked, how often, and for how long.

use super::desk::Desk;
use serde_json::json;
use std::collections::BTreeSet;
use tenure_it::api::text;
use tenure_it::eventually;

#[test]
fn a_question_says_what_would_run_and_where_and_the_run_has_its_id() {
    let desk = Desk::asking();
    let tool = desk.program("tool", "tool");
    let id = desk.asks_as(&json!({"command": "tool 'a b' | tool", "env": {"COLOUR": "secret"}}));
    let question = &desk.questions()[0];
    assert_eq!((&question["id"], &question["state"]), (&json!(id), &json!("pending")));
    assert_eq!(question["command"], "tool 'a b' | tool");
    assert_eq!(question["cwd"], desk.work().to_str().expect("UTF-8"));
    assert_eq!(question["programs"], json!([tool, tool]));
    assert_eq!(question["envNames"], json!(["COLOUR"]));
    assert!(question["why"].as_str().is_some_and(|why| why.contains("no entry")), "{question}");
    assert_eq!(question["onceOnly"], json!(null));
    assert_eq!(question["env"], json!({"COLOUR": "secret"}));
    let answered = desk.answer(&id, "allow-once").is(200).json();
    assert_eq!(answered["state"], "allowed-once");
    assert!(!answered.to_string().contains("secret"), "{answered}");
    assert!(answered["answeredBy"].as_str().is_some_and(|by| by.contains("uid")), "{answered}");
    desk.output(&id);
    let run = desk.api.get(&format!("/v1/runs/{id}")).is(200).json();
    assert_eq!((&run["runId"], &run["backendId"]), (&json!(id), &json!("exec")));
    assert_eq!(desk.told(&id, "approval-asked").len(), 1);
    assert_eq!(desk.told(&id, "approval-answered").len(), 1);
}

#[test]
fn what_is_allowed_once_runs_once() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let first = desk.asks("tool a");
    let _ = desk.answer(&first, "allow-once").is(200);
    assert!(desk.output(&first).starts_with("tool in "));
    let second = desk.asks("tool a");
    assert_ne!(first, second);
    assert_eq!(desk.notes(), ["tool: a"]);
    assert_eq!(desk.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
}

#[test]
fn what_is_allowed_always_runs_again_in_the_same_directory_with_the_same_words_and_not_otherwise() {
    let desk = Desk::asking();
    let tool = desk.program("tool", "tool");
    let first = desk.asks("tool a 'b c'");
    let _ = desk.answer(&first, "allow-always").is(200);
    desk.output(&first);
    desk.runs("tool a 'b c'");
    desk.runs("tool   \"a\" b\\ c # the same words");
    assert_eq!(desk.notes(), ["tool: a b c"; 3]);
    for request in [
        json!({"command": "tool a b c"}),
        json!({"command": "tool a"}),
        json!({"command": "tool a 'b c' d"}),
        json!({"command": format!("{} a 'b c'", tool.display())}),
        json!({"command": "tool a 'b c'", "workdir": desk.bin()}),
        json!({"command": "tool a 'b c' | tool"}),
    ] {
        let id = desk.asks_as(&request);
        let _ = desk.answer(&id, "deny").is(200);
    }
    assert_eq!(desk.notes().len(), 3);
    let entry = &desk.api.get("/v1/allowlist").is(200).json()["entries"][0];
    assert_eq!((&entry["uses"], &entry["entry"]["program"]), (&json!(2), &json!(tool)), "{entry}");
    let _ = desk.api.delete(&format!("/v1/allowlist/{}", entry["id"])).is(204);
    let _ = desk.asks("tool a 'b c'");
}

#[test]
fn an_entry_that_one_agent_got_is_no_other_agents() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let a = json!({"command": "tool", "sessionKey": "agent:a:main"});
    let id = desk.asks_as(&a);
    let _ = desk.answer(&id, "allow-always").is(200);
    eventually("its end", || {
        let poll = json!({"action": "poll", "runId": id, "sessionKey": "agent:a:main"});
        (desk.api.post("/v1/process", &poll).is(200).json()["status"] == "completed").then_some(())
    });
    assert_eq!(desk.exec_as(&a).is(200).json()["status"], "completed");
    let _ = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:b:main"}));
    let _ = desk.asks("tool");
}

#[test]
fn what_is_denied_never_runs_and_a_poll_says_so() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    let waits = desk.poll(&id, 0).is(200).json();
    assert_eq!(waits["status"], "approval-pending", "{waits}");
    let (api, polled) = (desk.api.clone(), id.clone());
    let polling = std::thread::spawn(move || {
        api.post("/v1/process", &json!({"action": "poll", "runId": polled, "timeoutMs": 30_000}))
    });
    let _ = desk.answer(&id, "deny").is(200);
    let why = polling.join().expect("an answer").refused(403, "denied");
    assert!(why.contains(&id) && why.contains("denied"), "{why}");
    desk.poll(&id, 0).refused(403, "denied");
    desk.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(desk.notes().is_empty());
}

#[test]
fn a_poll_waits_through_the_question_and_the_run() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks("tool && sleep 0.3 && tool");
    let (api, polled) = (desk.api.clone(), id.clone());
    let polling = std::thread::spawn(move || {
        api.post("/v1/process", &json!({"action": "poll", "runId": polled, "timeoutMs": 30_000}))
    });
    let _ = desk.answer(&id, "allow-once").is(200);
    let polled = polling.join().expect("an answer").is(200).json();
    assert!(text(&polled["output"]).starts_with("tool in "), "{polled}");
    assert_eq!(polled["runId"], json!(id));
    desk.output(&id);
    assert_eq!(desk.notes().len(), 2);
}

#[test]
fn the_same_command_is_asked_about_once_while_it_waits() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let request = json!({"command": "tool a"});
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let ask = || text(&desk.exec_as(&request).is(200).json()["runId"]);
        let asking: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
    let others = [
        json!({"command": "tool b"}),
        json!({"command": "tool a", "workdir": desk.bin()}),
        json!({"command": "tool a", "sessionKey": "agent:a:main"}),
        json!({"command": "tool a", "env": {"X": "1"}}),
        json!({"command": "tool a", "env": {"X": "2"}}),
        json!({"command": "tool a", "pty": true}),
    ];
    let more: BTreeSet<String> = others.iter().map(|request| desk.asks_as(request)).collect();
    assert_eq!(more.len(), others.len());
    assert_eq!(desk.questions().len(), 1 + others.len());
}

#[test]
fn at_most_two_hundred_questions_wait_however_many_ask_and_whichever_daemon() {
    let mut desk = Desk::asking();
    desk.program("tool", "tool");
    let ask = |from: usize| {
        let asking = |number| desk.exec(&format!("tool {number}")).head.status;
        (from..from + 15).map(asking).collect::<Vec<_>>()
    };
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..14).map(|part| scope.spawn(move || ask(part * 15))).collect();
        asking.into_iter().flat_map(|one| one.join().expect("answers")).collect()
    });
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 200);
    assert_eq!(answers.len(), 210);
    assert_eq!(desk.questions().len(), 200);
    desk.crash();
    let why = desk.exec("tool more").refused(429, "too-many-runs");
    assert!(why.contains("200") && why.contains("answered"), "{why}");
    let first = text(&desk.questions()[0]["id"]);
    let _ = desk.answer(&first, "deny").is(200);
    let _ = desk.asks("tool more");
}

#[test]
fn a_secret_in_a_command_is_shown_to_whoever_decides_and_not_afterwards() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "8s")]);
    desk.program("tool", "tool");
    let line = "tool --password=h1dden";
    let (denied, expired) = (desk.asks(line), desk.asks(&format!("{line} again")));
    assert!(desk.questions().iter().all(|question| text(&question["command"]).contains("h1dden")));
    let _ = desk.answer(&denied, "deny").is(200);
    eventually("that the other is closed", || desk.questions().is_empty().then_some(()));
    let all = desk.api.get("/v1/approvals?all=true").is(200).text();
    assert!(all.contains(&denied) && all.contains(&expired) && !all.contains("h1dden"), "{all}");
}

#[test]
fn whose_question_it_was_is_told_though_another_daemon_closes_it() {
    let mut desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "300ms")]);
    desk.program("tool", "tool");
    let id = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    desk.crash();
    eventually("that it is closed", || desk.questions().is_empty().then_some(()));
    let told = desk.told(&id, "approval-expired");
    assert_eq!((told.len(), &told[0]["sessionId"]), (1, &json!("agent:a:main")), "{told:?}");
}

#[test]
fn a_question_that_nobody_answers_in_time_is_closed_and_that_is_told() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_EXEC_APPROVAL", "300ms")]);
    desk.program("tool", "tool");
    let id = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let poll = json!({"action": "poll", "runId": id, "timeoutMs": 30_000, "sessionKey": "agent:a:main"});
    let why = desk.api.post("/v1/process", &poll).refused(403, "denied");
    assert!(why.contains("in time") && why.contains("again"), "{why}");
    for answer in ["allow-once", "allow-always", "deny"] {
        let why = desk.answer(&id, answer).refused(409, "wrong-state");
        assert!(why.contains("expired"), "{why}");
    }
    let told = desk.told(&id, "approval-expired");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["sessionId"], "agent:a:main", "{told:?}");
    assert!(desk.questions().is_empty());
    assert!(desk.notes().is_empty());
    assert_eq!(desk.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
}

#[test]
fn a_person_is_asked_about_the_line_that_runs_and_about_nothing_that_hides() {
    let desk = Desk::asking();
    desk.program("ls", "listed");
    for hidden in
        ["ls -la\u{1b}]0; touch pwned; echo \u{7}", "ls\r; touch pwned", "ls\u{9b}8m; touch pwned", "ls\u{8}"]
    {
        let why = desk.exec(hidden).refused(422, "invalid");
        assert!(why.contains("control character"), "{why}");
    }
    assert!(desk.questions().is_empty());
    // Format characters are not control characters, so they are allowed and shown.
    let line = "ls -la\u{202e}\u{200b}\n\ttouch 'a\\n'";
    let id = desk.asks(line);
    assert_eq!(desk.questions()[0]["command"], line, "JSON has it as it is");
    let shown = String::from_utf8(desk.served.install.tenure(&["approvals"]).stdout).expect("UTF-8");
    assert!(shown.contains("│ ls -la\\u{202e}\\u{200b}\n"), "{shown}");
    assert!(shown.contains("│ \\ttouch 'a\\\\n'\n"), "{shown}");
    assert!(shown.contains(&format!("in {}", desk.work().display())), "{shown}");
    let _ = desk.answer(&id, "deny").is(200);
    // Padding does not hide the end of a line.
    let _ = desk.asks(&format!("ls {}; touch pwned", " ".repeat(10_000)));
    let shown = String::from_utf8(desk.served.install.tenure(&["approvals"]).stdout).expect("UTF-8");
    assert!(shown.contains("; touch pwned") && shown.contains("… (10016 bytes) …"), "{shown}");
    assert!(shown.contains("tenure approvals show"), "{shown}");
    assert!(!desk.work().join("pwned").exists());
    let listing = Desk::listing();
    assert!(listing.exec("ls\u{1b}c").refused(422, "invalid").contains("\\x1b"));
}
