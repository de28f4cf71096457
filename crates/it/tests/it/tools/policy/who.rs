//! Who may say what runs: a person from outside of any run, and nobody else.

use super::desk::Desk;
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::eventually;

/// Asks the daemon at `$ARGV[0]` for `$ARGV[1] $ARGV[2]`, and prints the answer.
const ASK: &str = r#"use IO::Socket::UNIX; my ($at, $verb, $path, $body) = @ARGV;
my $s = IO::Socket::UNIX->new(Peer => $at) or die; my $l = length $body;
print $s "$verb $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: $l\r\n\r\n$body";
$s->flush; print while <$s>;"#;

/// The same by a child that connects, asks, and is gone before the daemon looks; the parent reads the answer.
const ASK_AND_GO: &str = r#"use Socket; my ($at, $path, $sent) = @ARGV;
socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; my $pid = fork;
if (!$pid) { connect($s, pack_sockaddr_un($at)) or die;
  syswrite($s, "POST $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"); exit 0 }
waitpid($pid, 0); open(my $f, '>', $sent) or die; close $f; print while <$s>;"#;

/// Asks from inside of a run, of a session or of none.
#[track_caller]
fn from_inside(desk: &Desk, session: Option<&str>, verb: &str, path: &str, body: &Value) -> String {
    let socket = desk.served.install.state().join("daemon.sock");
    let mut run = json!({"command": ["perl", "-e", ASK, socket, verb, path, body.to_string()]});
    if let Some(session) = session {
        run["session"] = session.into();
    }
    let id = desk.api.start(&run);
    desk.api.wait(&id);
    desk.api.get(&format!("/v1/runs/{id}/output")).is(200).text()
}

#[test]
fn nothing_that_runs_under_us_can_answer_or_change_the_allowlist() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let entry = desk.allow("other", None);
    let own = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let nobodys = desk.asks("tool");
    for session in [Some("agent:a:main"), Some("agent:b:main"), None] {
        for id in [&own, &nobodys] {
            for answer in ["allow-once", "allow-always", "deny"] {
                let said =
                    from_inside(&desk, session, "POST", &format!("/v1/approvals/{id}/{answer}"), &json!({}));
                assert!(
                    said.starts_with("HTTP/1.1 403") && said.contains("a person can"),
                    "{session:?}: {said}"
                );
            }
        }
        let said = from_inside(&desk, session, "POST", "/v1/allowlist", &json!({"program": "tool"}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        let said = from_inside(&desk, session, "DELETE", &format!("/v1/allowlist/{entry}"), &json!({}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    }
    assert_eq!(desk.questions().len(), 2);
    let listed = desk.api.get("/v1/allowlist").is(200).json();
    assert_eq!(listed["entries"].as_array().map(Vec::len), Some(1), "{listed}");
    assert!(desk.notes().is_empty());
}

#[test]
fn one_who_is_gone_before_it_is_looked_at_is_taken_for_no_person() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    let socket = desk.served.install.state().join("daemon.sock");
    let (go, sent) = (desk.work().join("go"), desk.work().join("sent"));
    let script =
        "echo ready; while [ ! -e \"$4\" ]; do sleep 0.02; done; exec perl -e \"$0\" \"$1\" \"$2\" \"$3\"";
    let path = format!("/v1/approvals/{id}/allow-once");
    let run = desk.api.start(&json!({"command": ["sh", "-c", script, ASK_AND_GO, socket, path, sent, go],
        "session": "agent:a:main"}));
    desk.served.install.wait_for_output(&run, "ready");
    let daemon = desk.served.process();
    daemon.stop();
    std::fs::write(&go, "").expect("write");
    eventually("that it has asked and gone", || sent.exists().then_some(()));
    daemon.send(Signal::CONT);
    desk.api.wait(&run);
    let said = desk.api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    assert!(said.contains("HTTP/1.1 403"), "{said}");
    assert_eq!(desk.questions().len(), 1);
    assert!(desk.notes().is_empty());
}

#[test]
fn a_question_is_seen_by_its_session_and_by_no_other() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let own = desk.asks_as(&json!({"command": "tool own", "sessionKey": "agent:a:main"}));
    let other = desk.asks_as(&json!({"command": "tool other", "sessionKey": "agent:b:main"}));
    let nobodys = desk.asks("tool nobodys");
    let session = Some("agent:a:main");
    let listed = from_inside(&desk, session, "GET", "/v1/approvals?all=true", &json!({}));
    assert!(listed.contains(&own) && !listed.contains(&other) && !listed.contains(&nobodys), "{listed}");
    let listed = from_inside(&desk, session, "POST", "/v1/process", &json!({"action": "list"}));
    assert!(listed.contains(&own) && !listed.contains(&other) && !listed.contains(&nobodys), "{listed}");
    for id in [&other, &nobodys] {
        for action in ["poll", "kill", "remove", "log", "clear"] {
            let request = json!({"action": action, "runId": id});
            let said = from_inside(&desk, session, "POST", "/v1/process", &request);
            assert!(said.starts_with("HTTP/1.1 404"), "{action}: {said}");
            let acting = json!({"action": action, "runId": id, "sessionKey": "agent:a:main"});
            desk.api.post("/v1/process", &acting).refused(404, "no-such-run");
        }
    }
    let events = json!({"command": [tenure_it::install::tenure(), "events", "--since", "0", "--json"],
        "session": session, "env": {"TENURE_NO_AUTOSTART": "1"}});
    let run = desk.api.start(&events);
    desk.api.wait(&run);
    let events = desk.api.get(&format!("/v1/runs/{run}/output")).is(200).text();
    assert!(events.contains("tool own"), "{events}");
    assert!(!events.contains("tool other") && !events.contains("tool nobodys"), "{events}");
    assert_eq!(desk.questions().len(), 3);
}

/// Whoever belongs to no session can withdraw what belongs to none, and nothing else.
#[test]
fn a_process_of_a_run_without_a_session_withdraws_no_sessions_question() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let theirs = desk.asks_as(&json!({"command": "tool", "sessionKey": "agent:a:main"}));
    let nobodys = desk.asks("tool");
    let kill =
        |id: &str| from_inside(&desk, None, "POST", "/v1/process", &json!({"action": "kill", "runId": id}));
    let said = kill(&theirs);
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert_eq!(desk.questions().len(), 2);
    let said = kill(&nobodys);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(desk.questions().len(), 1);
}

#[test]
fn what_an_agent_execs_from_inside_is_judged_like_everything_else() {
    let desk = Desk::listing();
    desk.program("tool", "tool");
    desk.program("listed", "listed");
    desk.allow("listed", None);
    for session in [Some("agent:a:main"), None] {
        let said = from_inside(&desk, session, "POST", "/v1/exec", &json!({"command": "tool"}));
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        let said = from_inside(&desk, session, "POST", "/v1/exec", &json!({"command": "listed"}));
        assert!(said.contains("\"completed\""), "{said}");
    }
    assert_eq!(desk.notes(), ["listed:", "listed:"]);
}
