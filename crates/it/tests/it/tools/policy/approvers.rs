//! Approvers: a person outside of any run, and no other client.

use super::fixture::PolicyFixture;
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::eventually;

/// Sends `$ARGV[1] $ARGV[2]` to the daemon at `$ARGV[0]`, and prints the response.
const ASK: &str = r#"use IO::Socket::UNIX; my ($at, $verb, $path, $body) = @ARGV;
my $s = IO::Socket::UNIX->new(Peer => $at) or die; my $l = length $body;
print $s "$verb $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: $l\r\n\r\n$body";
$s->flush; print while <$s>;"#;

/// The same by a child that connects, sends, and exits before the daemon identifies it; the parent reads the
/// response.
const ASK_AND_GO: &str = r#"use Socket; my ($at, $path, $sent) = @ARGV;
socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; my $pid = fork;
if (!$pid) { connect($s, pack_sockaddr_un($at)) or die;
  syswrite($s, "POST $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"); exit 0 }
waitpid($pid, 0); open(my $f, '>', $sent) or die; close $f; print while <$s>;"#;

/// Sends a request from inside a run, of a session or of none.
#[track_caller]
fn from_inside(
    fixture: &PolicyFixture,
    session: Option<&str>,
    verb: &str,
    path: &str,
    body: &Value,
) -> String {
    let socket = fixture.served.install.state().join("daemon.sock");
    let mut run = json!({"command": ["perl", "-e", ASK, socket, verb, path, body.to_string()]});
    if let Some(session) = session {
        run["session"] = session.into();
    }
    let id = fixture.api.start(&run);
    fixture.api.wait(&id);
    fixture.api.get(&format!("/v1/runs/{id}/output")).is(200).text()
}

#[test]
fn no_process_of_a_run_can_answer_or_change_the_allowlist() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let entry = fixture.allow("other", None);
    let own = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let nobodys = fixture.asks("tool");
    for session in [Some("agent:a:main"), Some("agent:b:main"), None] {
        for id in [&own, &nobodys] {
            for answer in ["allow-once", "allow-always", "deny"] {
                let said = from_inside(
                    &fixture,
                    session,
                    "POST",
                    &format!("/v1/approvals/{id}/{answer}"),
                    &json!({}),
                );
                assert!(
                    said.starts_with("HTTP/1.1 403") && said.contains("only an operator can"),
                    "{session:?}: {said}"
                );
            }
        }
        let said = from_inside(&fixture, session, "POST", "/v1/allowlist", &json!({"program": "tool"}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        let said = from_inside(&fixture, session, "DELETE", &format!("/v1/allowlist/{entry}"), &json!({}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    }
    assert_eq!(fixture.questions().len(), 2);
    let listed = fixture.api.get("/v1/allowlist").is(200).json();
    assert_eq!(listed["entries"].as_array().map(Vec::len), Some(1), "{listed}");
    assert!(fixture.notes().is_empty());
}

#[test]
fn a_client_that_exits_before_identification_is_no_approver() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    let socket = fixture.served.install.state().join("daemon.sock");
    let (go, sent) = (fixture.work().join("go"), fixture.work().join("sent"));
    let script =
        "echo ready; while [ ! -e \"$4\" ]; do sleep 0.02; done; exec perl -e \"$0\" \"$1\" \"$2\" \"$3\"";
    let path = format!("/v1/approvals/{id}/allow-once");
    let run = fixture.api.start(&json!({"command": ["sh", "-c", script, ASK_AND_GO, socket, path, sent, go],
        "session": "agent:a:main"}));
    fixture.served.install.wait_for_output(&run, "ready");
    let daemon = fixture.served.process();
    daemon.stop();
    std::fs::write(&go, "").expect("write");
    eventually("it has sent its request and exited", || sent.exists().then_some(()));
    daemon.send(Signal::CONT);
    fixture.api.wait(&run);
    let said = fixture.api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    assert!(said.contains("HTTP/1.1 403"), "{said}");
    assert_eq!(fixture.questions().len(), 1);
    assert!(fixture.notes().is_empty());
}

#[test]
fn only_its_own_session_sees_a_question() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let own = fixture.asks_as(&json!({"command": "tool own", "sessionKey": "agent:a:main"}));
    let other = fixture.asks_as(&json!({"command": "tool other", "sessionKey": "agent:b:main"}));
    let nobodys = fixture.asks("tool nobodys");
    let session = Some("agent:a:main");
    let listed = from_inside(&fixture, session, "GET", "/v1/approvals?all=true", &json!({}));
    assert!(listed.contains(&own) && !listed.contains(&other) && !listed.contains(&nobodys), "{listed}");
    let listed = from_inside(&fixture, session, "POST", "/v1/process", &json!({"action": "list"}));
    assert!(listed.contains(&own) && !listed.contains(&other) && !listed.contains(&nobodys), "{listed}");
    for id in [&other, &nobodys] {
        for action in ["poll", "kill", "remove", "log", "clear"] {
            let request = json!({"action": action, "runId": id});
            let said = from_inside(&fixture, session, "POST", "/v1/process", &request);
            assert!(said.starts_with("HTTP/1.1 404"), "{action}: {said}");
            let acting = json!({"action": action, "runId": id, "sessionKey": "agent:a:main"});
            fixture.api.post("/v1/process", &acting).refused(404, "no-such-run");
        }
    }
    let events = json!({"command": [tenure_it::install::tenure(), "events", "--since", "0", "--json"],
        "session": session, "env": {"TENURE_NO_AUTOSTART": "1"}});
    let run = fixture.api.start(&events);
    fixture.api.wait(&run);
    let events = fixture.api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    assert!(events.contains("tool own"), "{events}");
    assert!(!events.contains("tool other") && !events.contains("tool nobodys"), "{events}");
    assert_eq!(fixture.questions().len(), 3);
}

/// A client without a session can withdraw questions without a session, and no others.
#[test]
fn a_process_of_a_run_without_a_session_cannot_withdraw_a_sessions_question() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let theirs = fixture.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let nobodys = fixture.asks("tool");
    let kill = |id: &str| {
        from_inside(&fixture, None, "POST", "/v1/process", &json!({"action": "kill", "runId": id}))
    };
    let said = kill(&theirs);
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert_eq!(fixture.questions().len(), 2);
    let said = kill(&nobodys);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(fixture.questions().len(), 1);
}

#[test]
fn nested_exec_calls_are_judged_like_any_other() {
    let fixture = PolicyFixture::listing();
    fixture.program("tool", "tool");
    fixture.program("listed", "listed");
    fixture.allow("listed", None);
    for session in [Some("agent:a:main"), None] {
        let said = from_inside(&fixture, session, "POST", "/v1/exec", &json!({"command": "tool"}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        let said = from_inside(&fixture, session, "POST", "/v1/exec", &json!({"command": "listed"}));
        assert!(said.contains("\"completed\""), "{said}");
    }
    assert_eq!(fixture.notes(), ["listed:", "listed:"]);
}
