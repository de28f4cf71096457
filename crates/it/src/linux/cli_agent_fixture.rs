//! Sessions and turns with a scripted agent over the daemon's socket, and the starts that the agent records.

use crate::api::{Answer, Api, text};
use crate::daemon_fixture::DaemonFixture;
use crate::eventually;
use crate::install::{Install, scripted};
use serde_json::{Value, json};
use std::ops::Deref;

/// An installation with an agent `fake`, which carries out its prompt.
#[derive(Debug)]
pub struct CliAgentFixture {
    fixture: DaemonFixture,
    /// Its daemon.
    pub api: Api,
}

impl CliAgentFixture {
    /// Starts a daemon.
    #[track_caller]
    pub fn new() -> Self {
        Self::with("", "")
    }

    /// Adds settings to the agent's table and to the configuration.
    #[track_caller]
    pub fn with(of_agent: &str, more: &str) -> Self {
        Self::of(Install::new().with_daemon(), of_agent, more)
    }

    /// [`Self::with`] in this installation.
    #[track_caller]
    pub fn of(install: Install, of_agent: &str, more: &str) -> Self {
        let agent_fixture = Self::without_daemon(install, of_agent, more);
        agent_fixture.start_daemon();
        agent_fixture
    }

    /// Prepares the installation without a daemon, and without autostart.
    pub fn without_daemon(install: Install, of_agent: &str, more: &str) -> Self {
        let config = format!(
            "{more}\n[agents.fake]\ncommand = '{}'\nfresh = ['fresh', ['--model', '{{model}}']]\n\
             resume = ['resume', '{{session}}']\nprompt = 'stdin'\nenv-pass = ['ACTOR_WITNESS', 'PASSED_*']\n\
             output = 'json-lines'\n{of_agent}\n[agents.fake.read]\nsession = 'id where type=begin'\n\
             message = 'text where type=message'\nfinal = 'text where type=final'\nerror = 'text where type=error'\n",
            scripted().display()
        );
        std::fs::write(install.config(), config).expect("a configuration");
        let api = Api::Local(install.state().join("daemon.sock"));
        Self { fixture: DaemonFixture::of(install), api }
    }

    /// Sends a sessions request and returns any response.
    #[track_caller]
    pub fn ask(&self, action: &str, key: &str, more: &Value) -> Answer {
        self.api.post("/v1/sessions", &request(action, key, more))
    }

    /// Sends a sessions request, which must succeed.
    #[track_caller]
    pub fn expect_ok(&self, action: &str, key: &str, more: &Value) -> Value {
        let answer = self.ask(action, key, more);
        assert!(matches!(answer.head.status, 200 | 201), "{action} {key}: {}", answer.text());
        answer.json()
    }

    /// Sends a sessions request without waiting for the response.
    #[track_caller]
    pub fn begin_asking(&self, action: &str, key: &str, more: &Value) -> crate::api::Wire {
        let mut wire = self.api.connect();
        wire.request("POST", "/v1/sessions", &[], request(action, key, more).to_string().as_bytes());
        wire
    }

    /// Spawns a session of the agent in the test's directory.
    #[track_caller]
    pub fn spawn(&self, key: &str) {
        self.spawn_with(key, json!({"agent": "fake"}));
    }

    /// Spawns a session with backend `exec`.
    #[track_caller]
    pub fn spawn_exec(&self, key: &str) {
        self.spawn_with(key, json!({"backend": "exec"}));
    }

    /// [`Self::spawn`] with more fields.
    #[track_caller]
    pub fn spawn_with(&self, key: &str, mut more: Value) -> Value {
        more["cwd"] = self.dir().to_str().expect("UTF-8").into();
        self.expect_ok("spawn", key, &more)
    }

    /// Sends a message; returns the reply's `sent`.
    #[track_caller]
    pub fn send(&self, key: &str, words: &str) -> Value {
        self.expect_ok("send", key, &json!({"text": words}))["sent"].clone()
    }

    /// Waits for the end of a turn.
    #[track_caller]
    pub fn end_of(&self, key: &str, turn: &Value) -> Value {
        eventually(&format!("the end of turn {turn} of {key}"), || {
            let asked = json!({"turnId": turn, "timeoutMs": 30_000});
            let turn = self.expect_ok("wait", key, &asked)["turn"].clone();
            (turn.is_object() && turn["state"] != "running").then_some(turn)
        })
    }

    /// Sends a message and waits for the end of its turn.
    #[track_caller]
    pub fn turn(&self, key: &str, words: &str) -> Value {
        let sent = self.send(key, words);
        self.end_of(key, &sent["turnId"])
    }

    /// Sends a message and returns the agent's answer, which must exist.
    #[track_caller]
    pub fn answer(&self, key: &str, words: &str) -> Value {
        answer_of(&self.turn(key, words))
    }

    /// The turns, the oldest first.
    #[track_caller]
    pub fn history(&self, key: &str) -> Vec<Value> {
        let reply = self.expect_ok("history", key, &json!({"limit": 500}));
        assert_eq!(reply["next"], Value::Null, "all on one page");
        reply["turns"].as_array().expect("turns").clone()
    }

    /// The status of a session.
    #[track_caller]
    pub fn status(&self, key: &str) -> Value {
        self.expect_ok("status", key, &json!({}))["session"].clone()
    }

    /// Waits until a session is in this state.
    #[track_caller]
    pub fn wait_state(&self, key: &str, state: &str) {
        eventually(&format!("{key} is {state}"), || (self.status(key)["state"] == state).then_some(()));
    }

    /// Waits until the agent of the current turn has said `words`; returns its run.
    #[track_caller]
    pub fn wait_agent_text(&self, key: &str, words: &str) -> String {
        let run = eventually(&format!("a run of {key}"), || {
            let status = self.status(key);
            let run = text(status["liveRuns"].as_array()?.first()?);
            (self.show(&run)["state"] == "running").then_some(run)
        });
        self.wait_for_output(&run, words);
        run
    }

    /// The starts that the agent recorded.
    pub fn starts(&self) -> Vec<Value> {
        let noted = std::fs::read_to_string(self.dir().join("starts")).unwrap_or_default();
        noted.lines().map(|line| serde_json::from_str(line).expect("a start")).collect()
    }

    /// Waits until the agent was started this many times.
    #[track_caller]
    pub fn wait_starts(&self, count: usize) {
        eventually(&format!("{count} starts"), || (self.starts().len() == count).then_some(()));
    }

    /// Creates the file that an `!await` waits for.
    pub fn release(&self, name: &str) {
        std::fs::write(self.dir().join(name), "").expect("a file");
    }

    /// The last standard input of the agent.
    pub fn prompt(&self) -> Vec<u8> {
        std::fs::read(self.dir().join("prompt")).unwrap_or_default()
    }

    /// The termination of a turn's run.
    #[track_caller]
    pub fn termination(&self, turn: &Value) -> Value {
        self.show(&text(&turn["runId"]))["termination"].clone()
    }

    /// Checks the records after every run has ended, and asserts that no process is left.
    #[track_caller]
    pub fn finish(self) {
        self.fixture.finish();
    }
}

impl Default for CliAgentFixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for CliAgentFixture {
    type Target = DaemonFixture;

    fn deref(&self) -> &DaemonFixture {
        &self.fixture
    }
}

fn request(action: &str, key: &str, more: &Value) -> Value {
    let mut request = json!({"action": action, "sessionKey": key});
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

/// The agent's answer in a turn, which must exist.
#[track_caller]
pub fn answer_of(turn: &Value) -> Value {
    assert_eq!((&turn["state"], &turn["error"]), (&"done".into(), &Value::Null), "{turn}");
    serde_json::from_str(&text(&turn["text"])).expect("its answer")
}
