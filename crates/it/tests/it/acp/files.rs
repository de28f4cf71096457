//! Files and commands of an ACP agent: files below the session's directory only, commands as runs of the session.

use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::text;
use tenure_it::eventually;

fn answer(acp: &AcpFixture, name: &str) -> Value {
    let answers = acp.answers(name);
    assert_eq!(answers.len(), 1, "{name}: {answers:?}");
    answers[0].clone()
}

#[test]
fn files_below_the_sessions_directory_are_read_and_written() {
    let acp = AcpFixture::new(&[]);
    std::fs::create_dir(acp.dir().join("below")).expect("a directory");
    std::fs::write(acp.dir().join("below/lines"), "one\ntwo\nthree\nfour\n").expect("a file");
    symlink("lines", acp.dir().join("below/same")).expect("a link");
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let _ = acp.turn_ok(
        KEY,
        "!read below/lines\n!read below/lines 2 2\n!read below/same\n!read missing\n!write below/new words here\n\
         !write fresh/deep/new other\n!read below/new",
    );
    assert_eq!(answer(&acp, "read below/same")["result"]["content"], "one\ntwo\nthree\nfour\n");
    let parts = acp.answers("read below/lines");
    assert_eq!(parts[0]["result"]["content"], "one\ntwo\nthree\nfour\n", "{parts:?}");
    assert_eq!(text(&parts[1]["result"]["content"]).trim_end(), "two\nthree", "{parts:?}");
    assert!(answer(&acp, "read missing")["error"]["code"].is_i64());
    assert_eq!(answer(&acp, "read below/new")["result"]["content"], "words here");
    assert_eq!(std::fs::read_to_string(acp.dir().join("below/new")).expect("a file"), "words here");
    acp.finish();
}

#[test]
fn no_file_outside_the_sessions_directory_is_read_or_written() {
    let outside = tempfile::tempdir().expect("a directory");
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "the secret").expect("a file");
    let acp = AcpFixture::new(&[]);
    symlink(outside.path(), acp.dir().join("way-out")).expect("a link");
    symlink(&secret, acp.dir().join("link-out")).expect("a link");
    symlink(outside.path().join("dangling"), acp.dir().join("dangling-out")).expect("a link");
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let name = outside.path().file_name().expect("a name").to_str().expect("UTF-8");
    let ways = [
        secret.display().to_string(),
        format!("../{name}/secret"),
        "way-out/secret".to_owned(),
        "link-out".to_owned(),
        format!("below/../../{name}/secret"),
        "/proc/self/root/etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
    ];
    let reads = ways.iter().fold(String::new(), |lines, way| lines + &format!("!read {way}\n"));
    let writes =
        ways.iter().take(5).fold(String::new(), |lines, way| lines + &format!("!write {way} broken\n"));
    let _ = acp.turn_ok(
        KEY,
        &format!(
            "{reads}{writes}!write way-out/new broken\n!write dangling-out broken\n!write way-out/a/b broken"
        ),
    );
    let answers = acp.notes("answers");
    assert_eq!(answers.len(), ways.len() + 5 + 3, "{answers:?}");
    for noted in &answers {
        assert!(noted["answer"]["error"]["message"].is_string(), "{noted}");
        assert!(!noted.to_string().contains("the secret"), "{noted}");
    }
    assert_eq!(std::fs::read_to_string(&secret).expect("a file"), "the secret");
    assert_eq!(std::fs::read_dir(outside.path()).expect("a directory").count(), 1, "nothing new is there");
    acp.finish();
}

#[test]
fn odd_files_are_answered_with_an_error_and_the_agent_continues() {
    let acp = AcpFixture::new(&[]);
    std::fs::write(acp.dir().join("bytes"), b"\xff\xfe\x00").expect("a file");
    std::fs::write(acp.dir().join("big"), "x".repeat(64 << 20)).expect("a file");
    std::fs::create_dir(acp.dir().join("folder")).expect("a directory");
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    // The FIFO is the witness of the test: an open for reading would block.
    let _ = acp.turn_ok(KEY, "!read bytes\n!read big\n!read folder\n!write folder x\n!read witness\n!read .");
    for name in ["read big", "read folder", "write folder", "read witness", "read ."] {
        assert!(answer(&acp, name)["error"].is_object(), "{name}: {}", answer(&acp, name));
    }
    let _ = acp.describe_itself(KEY);
    acp.finish();
}

#[test]
fn file_and_terminal_requests_follow_the_permission_policy() {
    for (policy, reads, writes) in
        [("approve-all", true, true), ("approve-reads", true, false), ("deny-all", false, false)]
    {
        let acp = AcpFixture::new(&[]);
        std::fs::write(acp.dir().join("there"), "words").expect("a file");
        acp.open_with(KEY, json!({"permissions": policy}));
        let _ = acp.turn_ok(KEY, "!read there\n!write new words\n!terminal touch ran");
        let is_done = |name: &str| answer(&acp, name)["error"].is_null();
        assert_eq!((is_done("read there"), is_done("write new")), (reads, writes), "{policy}");
        assert_eq!(is_done("terminal"), writes, "{policy}");
        assert_eq!(acp.dir().join("new").exists(), writes, "{policy}");
        if !writes {
            assert!(!acp.dir().join("ran").exists(), "{policy}");
        }
        let told = acp.bodies(KEY, "permission");
        let refused = [reads, writes, writes].iter().filter(|allowed| !**allowed).count();
        assert_eq!(told.len(), refused, "a refusal is in the history: {told:?}");
        assert!(told.iter().all(|entry| entry["by"] == policy), "{told:?}");
        acp.finish();
    }
}

#[test]
fn a_write_waits_for_approval() {
    let acp = AcpFixture::new(&[]);
    std::fs::write(acp.dir().join("there"), "words").expect("a file");
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(KEY, "!read there\n!write yes words\n!write no words");
    let _ = acp
        .api
        .post(&format!("/v1/approvals/{}/allow-once", text(&acp.question()["id"])), &json!({}))
        .is(200);
    acp.wait_file("yes");
    let _ = acp.api.post(&format!("/v1/approvals/{}/deny", text(&acp.question()["id"])), &json!({})).is(200);
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!(answer(&acp, "read there")["result"]["content"], "words");
    assert!(answer(&acp, "write no")["error"].is_object() && !acp.dir().join("no").exists());
    acp.finish();
}

#[test]
fn a_terminal_is_a_run_of_the_session() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let sent = acp.send(
        KEY,
        "!terminal echo begun; exec sleep 1000\n!output\n!touch made\n!await go\n!kill\n!exited\n!output\n!release\n\
         !output\n!terminal echo out; echo err >&2; exit 3\n!exited\n!output\n!release",
    );
    acp.wait_file("made");
    let live = acp.status(KEY)["liveRuns"].as_array().expect("runs").clone();
    assert_eq!(live.len(), 2, "the adapter and the terminal: {live:?}");
    let adapter = acp.adapter(KEY)["runId"].clone();
    let terminal = text(live.iter().find(|run| **run != adapter).expect("a terminal"));
    assert_eq!(acp.show(&terminal)["sessionId"], KEY);
    acp.wait_for_output(&terminal, "begun");
    acp.release("go");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    let outputs = acp.answers("output");
    assert!(outputs[0]["result"]["exitStatus"].is_null(), "{outputs:?}");
    assert_eq!(text(&outputs[1]["result"]["output"]).trim(), "begun", "{outputs:?}");
    assert!(outputs[1]["result"]["exitStatus"].is_object(), "{outputs:?}");
    assert!(outputs[2]["error"].is_object(), "a released terminal is unknown: {outputs:?}");
    let ended = acp.answers("exited");
    assert_eq!(ended[0]["result"]["signal"], "SIGTERM", "{ended:?}");
    assert_eq!((&ended[1]["result"]["exitCode"], &ended[1]["result"]["signal"]), (&3.into(), &Value::Null));
    let both = text(&outputs[3]["result"]["output"]);
    assert!(both.contains("out") && both.contains("err"), "{both}");
    assert_eq!(outputs[3]["result"]["exitStatus"]["exitCode"], 3, "{outputs:?}");
    acp.finish();
}

#[test]
fn a_released_terminal_is_stopped_and_a_kept_one_ends_with_the_session() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let actor = acp.actor();
    let tree = format!("exec '{actor}' --pids pids ignore-term tree");
    let _ = acp.turn_ok(KEY, &format!("!terminal {tree}\n!release\n!terminal {tree}\n!output"));
    eventually("one live terminal", || {
        (acp.status(KEY)["liveRuns"].as_array().expect("runs").len() == 2).then_some(())
    });
    let closed = acp.close(KEY);
    assert_eq!(closed["unconfirmed"], json!([]), "{closed}");
    acp.wait_nobody(tenure_it::WAIT_LIMIT);
    acp.finish();
}

#[test]
fn terminal_output_is_cut_at_the_limit_on_a_character_boundary() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let line = "i=0; while [ $i -lt 9000 ]; do echo 'äöü line'; i=$((i+1)); done; echo last";
    let _ = acp.turn_ok(KEY, &format!("!terminal {line}\n!exited\n!output\n!release"));
    let result = answer(&acp, "output")["result"].clone();
    let output = text(&result["output"]);
    assert!(output.len() <= 1 << 16 && output.len() > 60_000, "{}", output.len());
    assert_eq!(result["truncated"], true);
    assert!(output.trim_end().ends_with("last") && !output.contains('\u{fffd}'), "the newest is kept");
    acp.finish();
}

#[test]
fn an_unknown_method_is_refused_with_a_protocol_error() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let _ = acp.turn_ok(KEY, "!private _helper/secret_handshake\n!unasked\n!say on it goes");
    let refused = answer(&acp, "_helper/secret_handshake");
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    acp.finish();
}

/// Script line that requests a terminal with these parameters.
fn create(params: &Value) -> String {
    format!("!send terminal/create {params}")
}

#[test]
fn a_terminal_question_shows_directory_variables_and_quoted_arguments() {
    let acp = AcpFixture::new(&[]);
    std::fs::create_dir(acp.dir().join("else where")).expect("a directory");
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let cwd = acp.dir().join("else where");
    let params = json!({"command": "sh", "args": ["-c", "touch \"$MADE\"", "a b"], "cwd": cwd,
        "env": [{"name": "MADE", "value": "it\u{202e}"}]});
    let sent = acp.send(KEY, &create(&params));
    let question = acp.question();
    let line = "sh -c 'touch \"$MADE\"' 'a b'";
    assert_eq!(question["command"], format!("run {line}"), "{question}");
    assert_eq!(question["cwd"], json!(cwd), "{question}");
    assert_eq!((&question["env"]["MADE"], &question["envNames"]), (&"it\u{202e}".into(), &json!(["MADE"])));
    let list = String::from_utf8(acp.tenure(&["approvals"]).stdout).expect("UTF-8");
    for part in [line, "with MADE=it\\u{202e}", &format!("in {}", cwd.display())] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let _ = acp.choose(&question, "allow");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    eventually("the command ran", || cwd.join("it\u{202e}").exists().then_some(()));
    let all = acp.api.get("/v1/approvals?all=true").is(200).json();
    assert!(all["approvals"][0]["env"].is_null(), "values are recorded: {all}");
    acp.finish();
}

#[test]
fn a_terminal_gets_only_variables_that_exec_allows() {
    for permissions in ["ask", "approve-all"] {
        let acp = AcpFixture::new(&[]);
        acp.open_with(KEY, json!({"permissions": permissions}));
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "TENURE_STATE"] {
            let params =
                json!({"command": "touch", "args": ["ran"], "env": [{"name": name, "value": "/evil"}]});
            let _ = acp.turn_ok(KEY, &create(&params));
            let answers = acp.answers("terminal/create");
            let said = text(&answers.last().expect("an answer")["error"]["message"]);
            assert!(said.contains(name), "{said}");
        }
        assert!(acp.questions().is_empty() && !acp.dir().join("ran").exists(), "{permissions}");
        acp.finish();
    }
}

#[test]
fn a_terminal_command_with_control_characters_is_refused_without_a_question() {
    let acp = AcpFixture::new(&[]);
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let params = json!({"command": "sh", "args": ["-c", "ls\u{1b}]0; touch ran; echo \u{7}"]});
    let _ = acp.turn_ok(KEY, &create(&params));
    let said = text(&answer(&acp, "terminal/create")["error"]["message"]);
    assert!(said.contains("control character \\x1b"), "{said}");
    assert!(!acp.dir().join("ran").exists());
    acp.finish();
}

#[test]
fn a_file_written_for_an_agent_gets_the_users_mode() {
    use std::os::unix::fs::PermissionsExt;
    let acp = AcpFixture::new(&[]);
    let mode =
        |name: &str| std::fs::metadata(acp.dir().join(name)).expect("a file").permissions().mode() & 0o777;
    // The test makes these with the same umask as its daemon.
    std::fs::write(acp.dir().join("usual"), "").expect("a file");
    std::fs::create_dir(acp.dir().join("usual-dir")).expect("a directory");
    std::fs::write(acp.dir().join("script"), "").expect("a file");
    let script = std::fs::Permissions::from_mode(0o750);
    std::fs::set_permissions(acp.dir().join("script"), script).expect("a mode");
    acp.open_with(KEY, json!({"permissions": "approve-all"}));
    let _ = acp.turn_ok(KEY, "!write new words\n!write deep/er/new words\n!write script words");
    for (name, usual) in
        [("new", "usual"), ("deep/er/new", "usual"), ("deep", "usual-dir"), ("deep/er", "usual-dir")]
    {
        assert_eq!(mode(name), mode(usual), "{name}: {:o}", mode(name));
    }
    assert_eq!(mode("script"), 0o750, "an existing file keeps its mode");
    acp.finish();
}
