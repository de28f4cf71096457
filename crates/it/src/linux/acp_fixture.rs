//! Sessions with a scripted ACP agent over the daemon's socket: the messages that it recorded itself, and the session's
//! history.

use crate::api::text;
use crate::cli_agent_fixture::CliAgentFixture;
use crate::eventually;
use crate::held_process::HeldProcess;
use crate::install::{Install, scripted_acp};
use serde_json::{Value, json};
use std::ops::Deref;

/// The session of most tests.
pub const KEY: &str = "agent:helper:main";

/// An installation with an agent `helper` that has an adapter and no command.
#[derive(Debug)]
pub struct AcpFixture {
    fixture: CliAgentFixture,
}

impl AcpFixture {
    /// Starts a daemon, with these flags for the adapter.
    #[track_caller]
    pub fn new(flags: &[&str]) -> Self {
        Self::with(flags, "", "")
    }

    /// Adds settings to the adapter's table and to the configuration.
    #[track_caller]
    pub fn with(flags: &[&str], of_adapter: &str, more: &str) -> Self {
        let acp = Self::without_daemon(Install::new(), flags, of_adapter, more);
        acp.start_daemon();
        acp
    }

    /// For tests that kill the daemon: the agent loads its conversation, may do everything, and has a short
    /// grace.
    #[track_caller]
    pub fn to_crash() -> Self {
        Self::with(&["--load"], "permissions = 'approve-all'", "[run]\ngrace = '200ms'")
    }

    /// Prepares the installation without a daemon, and without autostart.
    pub fn without_daemon(install: Install, flags: &[&str], of_adapter: &str, more: &str) -> Self {
        let flags = flags.iter().fold(String::new(), |list, flag| list + &format!("'{flag}', "));
        let more = format!(
            "{more}\n[agents.helper.acp]\ncommand = '{}'\nargs = [{flags}]\nenv-pass = ['ACTOR_WITNESS', 'PASSED_*']\n{of_adapter}\n",
            scripted_acp().display()
        );
        Self { fixture: CliAgentFixture::without_daemon(install, "", &more) }
    }

    /// Spawns a session of the agent in the test's directory.
    #[track_caller]
    pub fn open(&self, key: &str) {
        let _ = self.open_with(key, json!({}));
    }

    /// [`Self::open`] with more fields.
    #[track_caller]
    pub fn open_with(&self, key: &str, mut more: Value) -> Value {
        (more["agent"], more["backend"]) = ("helper".into(), "acp".into());
        self.spawn_with(key, more)
    }

    /// Runs a turn that must end with `end-turn`.
    #[track_caller]
    pub fn turn_ok(&self, key: &str, words: &str) -> Value {
        let turn = self.turn(key, words);
        let how = (&turn["state"], &turn["stop"], &turn["error"]);
        assert_eq!(how, (&"done".into(), &"end-turn".into(), &Value::Null), "{turn}\n{}", self.log());
        turn
    }

    /// The agent's description of itself and its process.
    #[track_caller]
    pub fn describe_itself(&self, key: &str) -> Value {
        description(&self.turn_ok(key, "hello"))
    }

    /// The history of a session, the oldest entry first.
    #[track_caller]
    pub fn entries(&self, key: &str) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), Value::Null);
        loop {
            let mut asked = json!({"limit": 500});
            if after.is_string() {
                asked["after"] = after;
            }
            let reply = self.expect_ok("entries", key, &asked);
            all.extend(reply["entries"].as_array().expect("entries").iter().cloned());
            after = reply["next"].clone();
            if after.is_null() {
                return all;
            }
        }
    }

    /// The bodies of a session's entries of this kind.
    #[track_caller]
    pub fn bodies(&self, key: &str, kind: &str) -> Vec<Value> {
        let of_kind = self.entries(key).into_iter().filter(|entry| entry["kind"] == kind);
        of_kind.map(|entry| entry["body"].clone()).collect()
    }

    /// Everything that the agent said in a session, joined.
    #[track_caller]
    pub fn agent_text(&self, key: &str) -> String {
        self.bodies(key, "agent").iter().filter_map(|body| body["text"].as_str()).collect()
    }

    /// Waits until the agent has said `words`.
    #[track_caller]
    pub fn wait_text(&self, key: &str, words: &str) {
        eventually(&format!("{words:?} of {key}\n{}", self.log()), || {
            self.agent_text(key).contains(words).then_some(())
        });
    }

    /// The adapter in the status of a session, which must have one.
    #[track_caller]
    pub fn adapter(&self, key: &str) -> Value {
        let status = self.status(key);
        assert!(status["adapter"].is_object(), "{status}");
        status["adapter"].clone()
    }

    /// The live process of the adapter's start number `start`.
    #[track_caller]
    pub fn process(&self, start: usize) -> HeldProcess {
        let pid = self.pid(start);
        HeldProcess::hold(pid).unwrap_or_else(|| panic!("pid {pid} is gone"))
    }

    /// Waits until the process of a start is gone.
    #[track_caller]
    pub fn process_is_gone(&self, start: usize) {
        if let Some(process) = HeldProcess::hold(self.pid(start)) {
            process.wait_dead(crate::WAIT_LIMIT);
        }
    }

    /// The pid of a start.
    #[track_caller]
    pub fn pid(&self, start: usize) -> i32 {
        i32::try_from(self.starts()[start]["pid"].as_i64().expect("a pid")).expect("a pid")
    }

    /// Asserts that no start found the process of an earlier one alive.
    #[track_caller]
    pub fn assert_never_two(&self) {
        for start in self.starts() {
            assert_eq!(start["alive"], json!([]), "an earlier adapter lived: {start}");
        }
    }

    /// The lines of one of the agent's records.
    pub fn notes(&self, file: &str) -> Vec<Value> {
        let noted = std::fs::read_to_string(self.dir().join(file)).unwrap_or_default();
        noted.lines().map(|line| serde_json::from_str(line).expect("a note")).collect()
    }

    /// Every message that the agent got, in order.
    pub fn received(&self) -> Vec<Value> {
        let heard = self.notes("heard").into_iter().map(|note| note["message"].clone());
        heard.filter(Value::is_object).collect()
    }

    /// The methods of the requests and notifications that the agent got.
    pub fn methods(&self) -> Vec<String> {
        self.received().iter().filter_map(|message| Some(message["method"].as_str()?.to_owned())).collect()
    }

    /// Number of times that a method was called.
    pub fn times(&self, method: &str) -> usize {
        self.methods().iter().filter(|heard| *heard == method).count()
    }

    /// The answers that the agent recorded under a name.
    pub fn answers(&self, name: &str) -> Vec<Value> {
        let noted = self.notes("answers").into_iter().filter(|note| note["name"] == name);
        noted.map(|note| note["answer"].clone()).collect()
    }

    /// Waits until a file exists.
    #[track_caller]
    pub fn wait_file(&self, name: &str) {
        eventually(&format!("a file {name}\n{}", self.log()), || {
            self.dir().join(name).exists().then_some(())
        });
    }

    /// The pending questions.
    #[track_caller]
    pub fn questions(&self) -> Vec<Value> {
        self.api.get("/v1/approvals").is(200).json()["approvals"].as_array().expect("approvals").clone()
    }

    /// Waits for the only question.
    #[track_caller]
    pub fn question(&self) -> Value {
        eventually(&format!("a question\n{}", self.log()), || self.questions().into_iter().next())
    }

    /// Answers a question with an option.
    #[track_caller]
    pub fn choose(&self, question: &Value, option: &str) -> Value {
        let path = format!("/v1/approvals/{}/choose", text(&question["id"]));
        self.api.post(&path, &json!({"option": option})).is(200).json()
    }

    /// Asserts that no message reached the agent twice, and none was answered twice: each id was used once in
    /// each direction.
    #[track_caller]
    pub fn assert_nothing_twice(&self) {
        let mut seen = std::collections::HashSet::new();
        for note in self.notes("heard") {
            let message = &note["message"];
            let is_request = message["method"].is_string();
            if message["id"].is_null() {
                continue;
            }
            let what = (note["pid"].to_string(), is_request, message["id"].to_string());
            assert!(seen.insert(what), "a message arrived twice: {note}");
        }
    }

    /// Closes a session.
    #[track_caller]
    pub fn close(&self, key: &str) -> Value {
        self.expect_ok("close", key, &json!({}))["closed"].clone()
    }

    /// Closes every session, checks the records, and asserts that no process is left.
    #[track_caller]
    pub fn finish(self) {
        let sessions = self.api.post("/v1/sessions", &json!({"action": "list", "limit": 200})).is(200).json();
        for session in sessions["sessions"].as_array().expect("sessions") {
            if session["state"] != "closed" {
                let closed = self.close(&text(&session["key"]));
                assert_eq!(closed["unconfirmed"], json!([]), "{closed}");
            }
        }
        self.assert_nothing_twice();
        self.fixture.finish();
    }
}

impl Deref for AcpFixture {
    type Target = CliAgentFixture;

    fn deref(&self) -> &CliAgentFixture {
        &self.fixture
    }
}

/// The description that the agent sent in a turn.
#[track_caller]
pub fn description(turn: &Value) -> Value {
    serde_json::from_str(&text(&turn["text"])).unwrap_or_else(|why| panic!("{why}: {turn}"))
}

/// The numbers up to this one, in the format of the agent's `count`.
pub fn counted(to: u64) -> String {
    (1..=to).fold(String::new(), |said, number| said + &format!("{number} "))
}
