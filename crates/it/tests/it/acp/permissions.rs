//! Permissions of an ACP agent: by policy, or by a person's answer; every decision is in the history.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::text;
use tenure_it::eventually;
use tenure_it::mcp_client::Client;

/// The offered options: two of a kind, the second of which is chosen.
const OPTIONS: &str =
    "always:allow_always|once:allow_once|once-and-more:allow_once|no:reject_once|never:reject_always";

/// The answer that the agent got.
fn outcome(acp: &AcpFixture, title: &str) -> Value {
    let answers = acp.answers(title);
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0]["result"]["outcome"].clone()
}

fn chosen(option: &str) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

#[test]
fn each_policy_decides_by_the_kind_of_tool() {
    for (policy, reads, edits) in
        [("approve-all", "once", "once"), ("approve-reads", "once", "no"), ("deny-all", "no", "no")]
    {
        let acp = AcpFixture::new(&[]);
        acp.open_with(KEY, json!({"permissions": policy}));
        let _ = acp.turn_ok(KEY, &format!("!ask read look|{OPTIONS}\n!ask edit mend|{OPTIONS}"));
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
        assert!(acp.questions().is_empty(), "no question is asked");
        acp.finish();
    }
}

#[test]
fn without_a_configured_policy_only_reads_are_allowed() {
    let acp = AcpFixture::with(&[], "permissions = 'deny-all'", "");
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, &format!("!ask read look|{OPTIONS}"));
    assert_eq!(outcome(&acp, "look"), chosen("no"));
    acp.finish();
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, &format!("!ask read look|{OPTIONS}\n!ask execute do|{OPTIONS}"));
    assert_eq!((outcome(&acp, "look"), outcome(&acp, "do")), (chosen("once"), chosen("no")));
    acp.finish();
}

#[test]
fn an_option_is_chosen_by_id_among_two_of_a_kind() {
    let acp = AcpFixture::new(&[]);
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
    assert!(told[0]["by"].is_string() && told[0]["by"] != "ask", "the decider: {told:?}");
    // A second answer is refused.
    let again = acp.api.post(&path, &json!({"option": "no"}));
    assert!(again.head.status >= 400, "{}", again.text());
    acp.finish();
}

#[test]
fn allow_and_deny_choose_the_first_option_of_their_kind() {
    let acp = AcpFixture::new(&[]);
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
fn a_cancelled_turn_permits_nothing_and_closes_its_question() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let question = acp.question();
    let _ = acp.expect_ok("cancel", KEY, &json!({}));
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert_eq!((&turn["stop"], &turn["state"]), (&"cancelled".into(), &"cancelled".into()), "{turn}");
    assert_eq!(outcome(&acp, "mend"), json!({"outcome": "cancelled"}));
    assert_eq!(acp.bodies(KEY, "permission")[0]["outcome"], "cancelled");
    eventually("no question is pending", || acp.questions().is_empty().then_some(()));
    let path = format!("/v1/approvals/{}/choose", text(&question["id"]));
    let late = acp.api.post(&path, &json!({"option": "once"}));
    assert!(late.head.status >= 400, "{}", late.text());
    assert_eq!(acp.starts().len(), 1);
    let _ = acp.describe_itself(KEY);
    acp.finish();
}

#[test]
fn an_unanswered_question_expires_as_a_denial() {
    let acp = AcpFixture::with(&[], "", "[exec]\napproval = '300ms'");
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let _ = acp.turn_ok(KEY, &format!("!ask edit mend|{OPTIONS}"));
    assert_eq!(outcome(&acp, "mend"), chosen("no"));
    acp.finish();
}

#[test]
fn a_request_without_a_matching_option_is_answered_with_cancelled() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "deny-all"}));
    let _ = acp.turn_ok(KEY, "!ask edit forced|yes:allow_once\n!ask edit pointless");
    for title in ["forced", "pointless"] {
        assert_eq!(outcome(&acp, title), json!({"outcome": "cancelled"}));
    }
    acp.finish();
}

#[test]
fn an_agent_cannot_answer_its_own_question() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let tenure = tenure_it::install::tenure().display().to_string();
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}"));
    let id = text(&acp.question()["id"]);
    let other = "agent:helper:other";
    acp.open_with(other, json!({"permissions": "approve-all"}));
    let state = acp.state().display().to_string();
    let line = format!("TENURE_STATE='{state}' '{tenure}' approvals choose {id} once; echo code $?");
    let _ = acp.turn_ok(other, &format!("!terminal {line}\n!exited\n!output\n!release"));
    let output = text(&acp.answers("output")[0]["result"]["output"]);
    assert!(!output.contains("code 0"), "{output}");
    assert_eq!(acp.questions().len(), 1, "{output}");
    let _ = acp.choose(&acp.question(), "no");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "mend"), chosen("no"));
    acp.finish();
}

#[test]
fn only_the_spawner_of_an_agent_answers_its_questions() {
    let acp = AcpFixture::new(&[]);
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

/// Has the agent request permission for a tool call, and returns once a person is asked.
fn asks(acp: &AcpFixture, call: &Value, options: &Value) -> (Value, Value) {
    let sent = acp.send(
        KEY,
        &format!("!send session/request_permission {}", json!({"toolCall": call, "options": options})),
    );
    (sent, acp.question())
}

fn two_options() -> Value {
    json!([{"optionId": "yes", "name": "Reject", "kind": "allow_always"},
        {"optionId": "no", "name": "Allow\u{1b}[2K", "kind": "reject_once"}])
}

#[track_caller]
fn printed(acp: &AcpFixture, args: &[&str]) -> String {
    let said = acp.tenure(args);
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).expect("UTF-8")
}

#[test]
fn a_person_sees_the_command_whatever_the_title_says() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    for (input, command) in [
        (json!({"command": "touch X", "description": "List the files"}), "touch X"),
        (json!({"command": ["bash", "-lc", "touch X"]}), "bash -lc 'touch X'"),
        (json!({"cmd": "touch X"}), "touch X"),
    ] {
        let call =
            json!({"toolCallId": "t", "title": "List the files", "kind": "execute", "rawInput": input});
        let (sent, question) = asks(&acp, &call, &two_options());
        assert_eq!(question["details"]["command"], command, "{question}");
        assert_eq!(question["details"]["rawInput"], input.to_string(), "{question}");
        assert_eq!(question["command"], format!("List the files: {command}"), "{question}");
        let list = printed(&acp, &["approvals"]);
        assert!(list.contains(command) && list.contains(&format!("input: {input}")), "{list}");
        assert!(list.contains("yes (allow always): Reject"), "the kind of an option shows: {list}");
        assert!(list.contains("no (reject once): Allow\\x1b[2K"), "{list}");
        let told = acp.bodies(KEY, "permission").pop().expect("a permission");
        assert_eq!(told["details"]["command"], command, "{told}");
        let _ = acp.choose(&question, "no");
        assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    }
    acp.finish();
}

#[test]
fn a_request_that_names_only_its_tool_call_shows_the_details_of_that_call() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let update = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "List the files", "kind": "execute",
        "status": "pending", "rawInput": {"command": "touch X"}});
    let asked = json!({"toolCall": {"toolCallId": "t"}, "options": two_options()});
    let sent = acp.send(KEY, &format!("!update {update}\n!send session/request_permission {asked}"));
    let question = acp.question();
    assert_eq!(question["command"], "List the files: touch X", "{question}");
    let _ = acp.choose(&question, "no");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    acp.finish();
}

#[test]
fn a_person_sees_the_file_and_the_change_of_an_edit() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let call = json!({"toolCallId": "t", "title": "Tidy up", "kind": "edit", "locations": [{"path": "/work/other"}],
        "content": [{"type": "diff", "path": "/work/a.rs", "oldText": "one\ntwo\n", "newText": "one\n2\u{202e}\n"}]});
    let (sent, question) = asks(&acp, &call, &two_options());
    assert_eq!(question["details"]["paths"], json!(["/work/a.rs", "/work/other"]), "{question}");
    assert_eq!(question["details"]["diffs"][0]["path"], "/work/a.rs", "{question}");
    assert_eq!(question["details"]["diffs"][0]["diff"], "  one\n- two\n+ 2\u{202e}\n", "{question}");
    let list = printed(&acp, &["approvals"]);
    for part in ["file: /work/a.rs", "- two", "+ 2\\u{202e}", "file: /work/other"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let json = printed(&acp, &["approvals", "--json"]);
    assert!(json.contains("\\u202e") && !json.contains('\u{202e}'), "{json}");
    let _ = acp.choose(&question, "no");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    // The question about a file write shows the change, too.
    std::fs::write(acp.dir().join("there"), "old\n").expect("a file");
    let sent = acp.send(KEY, "!write there new");
    let question = acp.question();
    assert_eq!(question["details"]["diffs"][0]["diff"], "- old\n+ new\n", "{question}");
    let _ = acp.choose(&question, "reject");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    acp.finish();
}

#[test]
fn a_title_cannot_hide_text_with_control_characters_or_padding() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let title = format!("ls\u{1b}]0;hidden\u{7}\u{202e}{}; touch X", " ".repeat(5_000));
    let call = json!({"toolCallId": "t", "title": title, "kind": "execute"});
    let (sent, question) = asks(&acp, &call, &two_options());
    assert_eq!(question["command"], title, "JSON contains all of it");
    let id = text(&question["id"]);
    let list = printed(&acp, &["approvals"]);
    assert!(list.contains("ls\\x1b]0;hidden\\x07\\u{202e}"), "{list}");
    assert!(list.contains("… (50") && list.contains(" bytes) …") && list.contains("; touch X"), "{list}");
    assert!(list.contains(&format!("tenure approvals show {}", &id[..12])), "{list}");
    assert!(!list.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{list:?}");
    let whole = printed(&acp, &["approvals", "show", &id[..8]]);
    assert!(whole.contains(&" ".repeat(5_000)) && !whole.contains("bytes) …"), "{whole}");
    let _ = acp.choose(&question, "no");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    acp.finish();
}

/// Makes the client leave, and waits until its session is gone.
#[track_caller]
fn leave(client: Client, acp: &AcpFixture) {
    client.leave();
    eventually("the end of its session", || {
        let all = acp.api.get("/v1/sessions?limit=500").is(200).json();
        let keys = all["sessions"].as_array().expect("sessions").iter().map(|it| text(&it["key"]));
        let open: Vec<String> = keys.filter(|key| key.starts_with("mcp:")).collect();
        open.is_empty().then_some(())
    });
}

/// Asserts that a client with a session is refused, with these words in the refusal.
#[track_caller]
fn refused(client: &mut Client, request: &Value, words: &[&str]) {
    let why = client.refused("sessions", request);
    assert!(words.iter().all(|word| why.contains(word)), "{request}: {why}");
}

#[test]
fn a_session_permits_its_children_no_more_than_the_exec_policy() {
    for (mode, most) in [("ask", "ask"), ("allowlist", "ask"), ("deny", "deny-all")] {
        let acp = AcpFixture::with(&[], "", &format!("[exec]\nmode = '{mode}'\n"));
        let mut client = Client::of(&acp, &[]);
        let spawn = |permissions: &str| {
            json!({"action": "spawn", "agent": "helper", "backend": "acp", "permissions": permissions,
                "task": "!terminal touch pwned", "cwd": acp.dir()})
        };
        for more in ["approve-all", "approve-reads"] {
            refused(
                &mut client,
                &spawn(more),
                &["can grant at most", most, &format!("exec.mode is {mode}"), more],
            );
        }
        // Without a request for permissions, the default is lowered.
        let asked = json!({"action": "spawn", "agent": "helper", "backend": "acp"});
        let child = client.call("sessions", &asked)["session"].clone();
        assert_eq!(child["work"]["permissions"], most, "{mode}: {child}");
        // An operator is not limited, unless it acts as a session.
        let as_session =
            json!({"agent": "helper", "backend": "acp", "permissions": "approve-all", "as": "agent:x:main"});
        assert_eq!(acp.api.post("/v1/sessions", &as_session).head.status, 403);
        acp.open_with(KEY, json!({"permissions": "approve-all"}));
        assert!(!acp.dir().join("pwned").exists());
        leave(client, &acp);
        acp.finish();
    }
}

#[test]
fn a_session_permits_its_children_no_more_than_their_description_or_its_own_permissions() {
    let acp = AcpFixture::with(&[], "permissions = 'deny-all'", "");
    let mut client = Client::of(&acp, &[]);
    let spawn = json!({"action": "spawn", "agent": "helper", "backend": "acp", "permissions": "approve-all"});
    refused(&mut client, &spawn, &["at most deny-all", "agents.helper.acp.permissions is deny-all"]);
    leave(client, &acp);
    acp.finish();

    let acp = AcpFixture::new(&[]);
    acp.open_with("agent:helper:strict", json!({"permissions": "deny-all"}));
    // A client in the session's run gets a child session, and so do the sessions that it spawns.
    let mut client = Client::inside(&acp, "agent:helper:strict", &[]);
    refused(&mut client, &spawn, &["at most deny-all", "session agent:helper:strict was made with deny-all"]);
    let exec = json!({"action": "spawn", "backend": "exec", "permissions": "approve-all"});
    refused(&mut client, &exec, &["at most deny-all"]);
    let child = client.call("sessions", &json!({"action": "spawn", "backend": "exec"}))["session"].clone();
    let grandchild =
        json!({"agent": "helper", "backend": "acp", "permissions": "approve-all", "as": child["key"]});
    assert_eq!(acp.api.post("/v1/sessions", &grandchild).head.status, 403);
    leave(client, &acp);
    acp.finish();
}

#[test]
fn a_session_under_approval_cannot_approve_or_choose_an_unattended_mode() {
    let acp = AcpFixture::with(&[], "", "[exec]\nmode = 'ask'\n");
    let mut client = Client::of(&acp, &[]);
    let spawn = json!({"action": "spawn", "agent": "helper", "backend": "acp", "permissions": "ask",
        "cwd": acp.dir(), "task": "!terminal touch pwned"});
    let child = text(&client.call("sessions", &spawn)["session"]["key"]);
    let question = acp.question();
    let answer = |option: &str| json!({"action": "answer", "sessionKey": child, "question": question["id"], "option": option});
    refused(&mut client, &answer("allow"), &["at most ask", "only a person"]);
    for mode in ["bypassPermissions", "code"] {
        let set = json!({"action": "set-mode", "sessionKey": child, "agentMode": mode});
        refused(&mut client, &set, &["at most ask", mode]);
    }
    let _ = client.call("sessions", &answer("reject"));
    eventually("no question is pending", || acp.questions().is_empty().then_some(()));
    assert!(!acp.dir().join("pwned").exists());
    leave(client, &acp);
    acp.finish();
}

#[test]
fn a_session_cannot_start_an_agent_that_asks_nobody() {
    let acp = AcpFixture::with(
        &[],
        "",
        "[exec]\nmode = 'ask'\n[agents.wild]\ncommand = 'true'\nfresh = ['--yolo']\n\
        prompt = 'stdin'\noutput = 'text'\n[agents.wilder.acp]\ncommand = 'true'\nargs = ['-sdanger-full-access']\n",
    );
    let mut client = Client::of(&acp, &[]);
    let spawn = json!({"action": "spawn", "agent": "wild", "backend": "cli"});
    refused(&mut client, &spawn, &["at most ask", "--yolo"]);
    let spawn = json!({"action": "spawn", "agent": "wilder", "backend": "acp", "permissions": "ask"});
    refused(&mut client, &spawn, &["at most ask", "-sdanger-full-access"]);
    leave(client, &acp);
    let by_operator = json!({"agent": "wild", "backend": "cli"});
    let _ = acp.api.post("/v1/sessions", &by_operator).is(201);
    acp.finish();
}

#[test]
fn an_allowed_write_runs_unasked_and_a_different_one_is_asked_about() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let path = acp.dir().join("a");
    let call = json!({"toolCallId": "t", "title": "Write a", "kind": "edit",
        "content": [{"type": "diff", "path": path, "oldText": null, "newText": "shown"}]});
    let options = json!([{"optionId": "once", "name": "Allow", "kind": "allow_once"}]);
    let asked = format!("!send session/request_permission {}", json!({"toolCall": call, "options": options}));
    let sent = acp.send(KEY, &format!("{asked}\n!write a shown\n{asked}\n!write a other"));
    for command in ["Write a", "Write a"] {
        let question = acp.question();
        assert_eq!(question["command"], command, "{question}");
        let _ = acp.choose(&question, "once");
        eventually("it is answered", || {
            acp.questions().iter().all(|it| it["id"] != question["id"]).then_some(())
        });
    }
    let question = acp.question();
    assert_eq!(question["details"]["diffs"][0]["diff"], "- shown\n+ other\n", "{question}");
    let _ = acp.choose(&question, "reject");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "shown");
    acp.finish();
}

#[test]
fn a_file_changed_during_the_question_is_refused() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let call = |command: &str| json!({"toolCallId": "t", "title": "List", "rawInput": {"command": command}});
    let mut update = call("touch pwned");
    update["sessionUpdate"] = "tool_call_update".into();
    let options = json!([{"optionId": "once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Deny", "kind": "reject_once"}]);
    let asked = json!({"toolCall": call("ls"), "options": options});
    let sent = acp.send(KEY, &format!("!later go {update}\n!send session/request_permission {asked}"));
    let question = acp.question();
    assert_eq!(question["command"], "List: ls", "{question}");
    std::fs::write(acp.dir().join("go"), "").expect("a file");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(outcome(&acp, "session/request_permission"), chosen("no"));
    eventually("no question is pending", || acp.questions().is_empty().then_some(()));
    let told = acp.bodies(KEY, "permission");
    assert!(text(&told[0]["by"]).contains("changed it"), "{told:?}");
    acp.finish();
}

#[test]
fn a_command_runs_in_the_directory_shown_even_if_a_link_changed_since() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let [shown, other, link] = ["shown", "other", "link"].map(|name| acp.dir().join(name));
    for dir in [&shown, &other] {
        std::fs::create_dir(dir).expect("a directory");
    }
    std::os::unix::fs::symlink(&shown, &link).expect("a link");
    let create = json!({"command": "touch", "args": ["here"], "cwd": link});
    let sent = acp.send(KEY, &format!("!send terminal/create {create}"));
    let question = acp.question();
    assert_eq!(question["cwd"], json!(shown.canonicalize().expect("a path")), "{question}");
    std::fs::remove_file(&link).expect("rm");
    std::os::unix::fs::symlink(&other, &link).expect("a link");
    let _ = acp.choose(&question, "allow");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    eventually("the file", || shown.join("here").exists().then_some(()));
    assert!(!other.join("here").exists());
    acp.finish();
}
