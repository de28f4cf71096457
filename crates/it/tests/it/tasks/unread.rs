//! Whoever hangs up before its answer was written has not seen it: what the answer would have told still waits.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, Wire, text};
use tenure_it::conversation::Talks;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::mcp::Client;
use tenure_it::tasks::{all, becomes, notices, of_turn, show, stands};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

fn family() -> Talks {
    let talks = Talks::new();
    talks.spawn(PARENT);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    talks
}

/// Its end waits for its owner, who then gets it.
#[track_caller]
fn still_waits(talks: &Talks, task: &Value) {
    assert_eq!(notices(talks, task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    assert_eq!(show(&talks.api, &text(&task["taskId"]))["deliveryStatus"], "session_queued");
    let got = talks.does("history", PARENT, &json!({"as": PARENT}))["notices"].clone();
    assert_eq!((&got[0]["taskId"], got.as_array().map(Vec::len)), (&task["taskId"], Some(1)), "{got}");
}

/// Waits until somebody waits in a poll of this run.
#[track_caller]
fn polls(owner: &Agent, run: &str) {
    eventually("a poll that waits", || {
        let reply = owner.process("poll", run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
}

#[test]
fn an_owner_who_hung_up_on_its_poll_has_not_seen_the_end() {
    let talks = family();
    let owner = Agent::of(&talks).acting_as(PARENT);
    let run = owner.start("read line; exit 3");
    let waits = owner.begin_process("poll", &run, &json!({"timeoutMs": 60_000}));
    polls(&owner, &run);
    drop(waits);
    owner.process("write", &run, &json!({"eof": true}));
    still_waits(&talks, &becomes(&talks.api, &run, "failed"));
    talks.finish();
}

#[test]
fn an_owner_who_hung_up_on_its_wait_has_not_heard_the_answer() {
    let talks = family();
    let sent = talks.send(CHILD, "!await go");
    talks.wait_starts(1);
    let asked = json!({"turnId": sent["turnId"], "timeoutMs": 60_000, "as": PARENT});
    let waits = talks.begin_asking("wait", CHILD, &asked);
    // It is asked after, and answered before: so that one waits.
    let _ = talks.does("wait", CHILD, &json!({"turnId": sent["turnId"], "timeoutMs": 0}));
    drop(waits);
    talks.let_go("go");
    let _ = talks.end_of(CHILD, &sent["turnId"]);
    still_waits(&talks, &of_turn(&talks.api, &sent["turnId"]));
    talks.finish();
}

/// More than a socket takes from one side before the other has read.
#[test]
fn a_history_that_was_not_written_whole_has_handed_nothing_over() {
    let talks = Talks::new();
    talks.spawn_exec(PARENT);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    for _ in 0..12 {
        let _ = talks.turn(PARENT, "head -c 60000 /dev/zero | tr '\\0' x");
    }
    let turns = talks.does("history", PARENT, &json!({"maxBytes": 4 << 20}));
    assert!(turns.to_string().len() > 600_000, "{} bytes", turns.to_string().len());
    let _ = talks.answer(CHILD, "paint the fence");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
    let wire = talks.begin_asking("history", PARENT, &json!({"maxBytes": 4 << 20, "as": PARENT}));
    eventually("an answer that was begun", || (wire.unread() > 50_000).then_some(()));
    assert_eq!(notices(&talks, &task), [("terminal".to_owned(), "queued".to_owned())], "it is under way");
    drop(wire);
    still_waits(&talks, &task);
    eventually("that it is taken", || {
        (notices(&talks, &task) == [("terminal".to_owned(), "taken".to_owned())]).then_some(())
    });
    talks.finish();
}

#[test]
fn a_client_of_mcp_that_was_gone_before_its_answer_has_not_seen_the_end() {
    let talks = Talks::of(Install::new(), "", "[mcp]\non-leave = 'keep'\n");
    talks.spawn(PARENT);
    let owner = Agent::of(&talks).acting_as(PARENT);
    let run = owner.start("read line; exit 3");
    let mut client = Client::of(&talks, &["--session", PARENT]);
    let asked = json!({"action": "poll", "runId": run, "timeoutMs": 60_000});
    client.send("tools/call", &json!({"name": "process", "arguments": asked}));
    polls(&owner, &run);
    drop(client);
    owner.process("write", &run, &json!({"eof": true}));
    still_waits(&talks, &becomes(&talks.api, &run, "failed"));
    talks.finish();
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

    /// Calls a tool, and does not wait for the answer.
    fn call(&self, id: u64, tool: &str, arguments: &Value) -> Wire {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }
}

#[test]
fn a_client_of_mcp_over_http_that_hung_up_has_not_seen_the_end() {
    let talks = Talks::new();
    let client = OverHttp::new(&talks.api);
    let begun = client.call(1, "exec", &json!({"command": "read line; exit 3", "background": true})).answer();
    assert!(begun.text().contains("runId"), "{}", begun.text());
    let task = all(&talks.api).remove(0);
    let (run, key) = (text(&task["runId"]), text(&task["ownerSessionKey"]));
    let owner = Agent::of(&talks).acting_as(&key);
    let asked = json!({"action": "poll", "runId": run, "timeoutMs": 60_000});
    let wire = client.call(2, "process", &asked);
    polls(&owner, &run);
    drop(wire);
    owner.process("write", &run, &json!({"eof": true}));
    let task = becomes(&talks.api, &run, "failed");
    // Who still listens for the answer gets it all the same, and that is told apart from one that was written.
    assert_eq!(notices(&talks, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    let got = talks.does("history", &key, &json!({"as": key}))["notices"].clone();
    assert_eq!(got[0]["taskId"], task["taskId"], "{got}");
    talks.finish();
}
