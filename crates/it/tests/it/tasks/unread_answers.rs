//! A caller that hangs up before its answer was written has not seen it: the notices in that answer stay pending.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, Wire, text};
use tenure_it::cli_agent_fixture::CliAgentFixture;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::mcp_client::Client;
use tenure_it::tasks::{all, notices, of_turn, show, wait_field, wait_status};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

fn family() -> CliAgentFixture {
    let fixture = CliAgentFixture::new();
    fixture.spawn(PARENT);
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    fixture
}

/// Asserts that its notice still waits for the owner, who then gets it.
#[track_caller]
fn still_waits(fixture: &CliAgentFixture, task: &Value) {
    assert_eq!(notices(fixture, task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    assert_eq!(show(&fixture.api, &text(&task["taskId"]))["deliveryStatus"], "session_queued");
    let got = fixture.expect_ok("history", PARENT, &json!({"as": PARENT}))["notices"].clone();
    assert_eq!((&got[0]["taskId"], got.as_array().map(Vec::len)), (&task["taskId"], Some(1)), "{got}");
}

/// Waits until a poll of this run is pending.
#[track_caller]
fn polls(owner: &Agent, run: &str) {
    eventually("a pending poll", || {
        let reply = owner.process("poll", run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
}

#[test]
fn a_poll_whose_owner_hung_up_is_no_delivery() {
    let fixture = family();
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let run = owner.start("read line; exit 3");
    let waits = owner.begin_process("poll", &run, &json!({"timeoutMs": 60_000}));
    polls(&owner, &run);
    drop(waits);
    owner.process("write", &run, &json!({"eof": true}));
    still_waits(&fixture, &wait_status(&fixture.api, &run, "failed"));
    fixture.finish();
}

#[test]
fn a_wait_whose_owner_hung_up_is_no_delivery() {
    let fixture = family();
    let sent = fixture.send(CHILD, "!await go");
    fixture.wait_starts(1);
    let asked = json!({"turnId": sent["turnId"], "timeoutMs": 60_000, "as": PARENT});
    let waits = fixture.begin_asking("wait", CHILD, &asked);
    // This later request is answered, so the earlier one is waiting.
    let _ = fixture.expect_ok("wait", CHILD, &json!({"turnId": sent["turnId"], "timeoutMs": 0}));
    drop(waits);
    fixture.release("go");
    let _ = fixture.end_of(CHILD, &sent["turnId"]);
    still_waits(&fixture, &of_turn(&fixture.api, &sent["turnId"]));
    fixture.finish();
}

/// More than a socket takes from one side before the other has read.
#[test]
fn a_partly_written_history_is_no_delivery() {
    let fixture = CliAgentFixture::new();
    fixture.spawn_exec(PARENT);
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    for _ in 0..12 {
        let _ = fixture.turn(PARENT, "head -c 60000 /dev/zero | tr '\\0' x");
    }
    let turns = fixture.expect_ok("history", PARENT, &json!({"maxBytes": 4 << 20}));
    assert!(turns.to_string().len() > 600_000, "{} bytes", turns.to_string().len());
    let _ = fixture.answer(CHILD, "paint the fence");
    let task = wait_field(&fixture.api, CHILD, "deliveryStatus", "session_queued");
    let wire = fixture.begin_asking("history", PARENT, &json!({"maxBytes": 4 << 20, "as": PARENT}));
    eventually("an answer in progress", || (wire.unread() > 50_000).then_some(()));
    assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())], "it is running");
    drop(wire);
    still_waits(&fixture, &task);
    eventually("it is accepted", || {
        (notices(&fixture, &task) == [("terminal".to_owned(), "taken".to_owned())]).then_some(())
    });
    fixture.finish();
}

#[test]
fn an_mcp_answer_after_its_client_exited_is_no_delivery() {
    let fixture = CliAgentFixture::of(Install::new(), "", "[mcp]\non-leave = 'keep'\n");
    fixture.spawn(PARENT);
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let run = owner.start("read line; exit 3");
    let mut client = Client::of(&fixture, &["--session", PARENT]);
    let asked = json!({"action": "poll", "runId": run, "timeoutMs": 60_000});
    client.send("tools/call", &json!({"name": "process", "arguments": asked}));
    polls(&owner, &run);
    drop(client);
    owner.process("write", &run, &json!({"eof": true}));
    still_waits(&fixture, &wait_status(&fixture.api, &run, "failed"));
    fixture.finish();
}

/// A client of MCP over HTTP.
struct OverHttp<'a> {
    api: &'a Api,
    session: String,
}

const ACCEPTS: [(&str, &str); 2] =
    [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];

impl<'a> OverHttp<'a> {
    #[track_caller]
    fn new(api: &'a Api) -> Self {
        let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}});
        let answer = api.ask("POST", "/mcp", &ACCEPTS, begin.to_string().as_bytes()).is(200);
        let session = answer.head.header("mcp-session-id").expect("a session").to_owned();
        let client = Self { api, session };
        let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let _ = client.send(&said).answer().is(202);
        client
    }

    fn send(&self, message: &Value) -> Wire {
        let mut wire = self.api.connect();
        let named = [ACCEPTS[0], ACCEPTS[1], ("Mcp-Session-Id", &self.session)];
        wire.request("POST", "/mcp", &named, message.to_string().as_bytes());
        wire
    }

    /// Calls a tool without waiting for the answer.
    fn call(&self, id: u64, tool: &str, arguments: &Value) -> Wire {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }
}

#[test]
fn an_mcp_over_http_answer_after_a_hangup_is_no_delivery() {
    let fixture = CliAgentFixture::new();
    let client = OverHttp::new(&fixture.api);
    let begun = client.call(1, "exec", &json!({"command": "read line; exit 3", "background": true})).answer();
    assert!(begun.text().contains("runId"), "{}", begun.text());
    let task = all(&fixture.api).remove(0);
    let (run, key) = (text(&task["runId"]), text(&task["ownerSessionKey"]));
    let owner = Agent::of(&fixture).acting_as(&key);
    let asked = json!({"action": "poll", "runId": run, "timeoutMs": 60_000});
    let wire = client.call(2, "process", &asked);
    polls(&owner, &run);
    drop(wire);
    owner.process("write", &run, &json!({"eof": true}));
    let task = wait_status(&fixture.api, &run, "failed");
    // A client that still reads gets the answer, and that differs from a written one.
    assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    let got = fixture.expect_ok("history", &key, &json!({"as": key}))["notices"].clone();
    assert_eq!(got[0]["taskId"], task["taskId"], "{got}");
    fixture.finish();
}
