//! Conversations with an agent of our own, over the daemon's socket: sessions, their turns, and what the agent notes of
//! its starts.

use crate::api::{Answer, Api, text};
use crate::eventually;
use crate::home::Home;
use crate::install::{Install, scripted};
use serde_json::{Value, json};
use std::ops::Deref;

/// An installation with an agent `fake`, which does what its prompt says.
#[derive(Debug)]
pub struct Talks {
    home: Home,
    /// Its daemon.
    pub api: Api,
}

impl Talks {
    /// With a daemon.
    #[track_caller]
    pub fn new() -> Self {
        Self::with("", "")
    }

    /// With more in the table of the agent, and more in the configuration.
    #[track_caller]
    pub fn with(of_agent: &str, more: &str) -> Self {
        Self::of(Install::new().with_daemon(), of_agent, more)
    }

    /// The same in this installation.
    #[track_caller]
    pub fn of(install: Install, of_agent: &str, more: &str) -> Self {
        let talks = Self::without_daemon(install, of_agent, more);
        talks.begin();
        talks
    }

    /// With no daemon yet, and none that starts by itself.
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
        Self { home: Home::of(install), api }
    }

    /// Asks for something to be done with sessions, whatever is answered.
    #[track_caller]
    pub fn ask(&self, action: &str, key: &str, more: &Value) -> Answer {
        self.api.post("/v1/sessions", &request(action, key, more))
    }

    /// The same, and it is done.
    #[track_caller]
    pub fn does(&self, action: &str, key: &str, more: &Value) -> Value {
        let answer = self.ask(action, key, more);
        assert!(matches!(answer.head.status, 200 | 201), "{action} {key}: {}", answer.text());
        answer.json()
    }

    /// Asks, and does not wait for the answer.
    #[track_caller]
    pub fn begin_asking(&self, action: &str, key: &str, more: &Value) -> crate::api::Wire {
        let mut wire = self.api.connect();
        wire.request("POST", "/v1/sessions", &[], request(action, key, more).to_string().as_bytes());
        wire
    }

    /// Makes a session of the agent that works where the test's files are.
    #[track_caller]
    pub fn spawn(&self, key: &str) {
        self.spawn_with(key, json!({"agent": "fake"}));
    }

    /// Makes a session of commands.
    #[track_caller]
    pub fn spawn_exec(&self, key: &str) {
        self.spawn_with(key, json!({"backend": "exec"}));
    }

    /// The same with more.
    #[track_caller]
    pub fn spawn_with(&self, key: &str, mut more: Value) -> Value {
        more["cwd"] = self.dir().to_str().expect("UTF-8").into();
        self.does("spawn", key, &more)
    }

    /// Sends something; returns what became of it.
    #[track_caller]
    pub fn send(&self, key: &str, words: &str) -> Value {
        self.does("send", key, &json!({"text": words}))["sent"].clone()
    }

    /// Waits for the end of a turn.
    #[track_caller]
    pub fn end_of(&self, key: &str, turn: &Value) -> Value {
        eventually(&format!("the end of turn {turn} of {key}"), || {
            let asked = json!({"turnId": turn, "timeoutMs": 30_000});
            let turn = self.does("wait", key, &asked)["turn"].clone();
            (turn.is_object() && turn["state"] != "running").then_some(turn)
        })
    }

    /// Sends something and waits for what comes of it.
    #[track_caller]
    pub fn turn(&self, key: &str, words: &str) -> Value {
        let sent = self.send(key, words);
        self.end_of(key, &sent["turnId"])
    }

    /// The same with what the agent answered, which it did.
    #[track_caller]
    pub fn answer(&self, key: &str, words: &str) -> Value {
        answered(&self.turn(key, words))
    }

    /// The turns, the oldest first.
    #[track_caller]
    pub fn history(&self, key: &str) -> Vec<Value> {
        let reply = self.does("history", key, &json!({"limit": 500}));
        assert_eq!(reply["next"], Value::Null, "all on one page");
        reply["turns"].as_array().expect("turns").clone()
    }

    /// How a session is.
    #[track_caller]
    pub fn status(&self, key: &str) -> Value {
        self.does("status", key, &json!({}))["session"].clone()
    }

    /// Waits until a session is in this state.
    #[track_caller]
    pub fn wait_state(&self, key: &str, state: &str) {
        eventually(&format!("{key} is {state}"), || (self.status(key)["state"] == state).then_some(()));
    }

    /// Waits until the agent of the turn under way has said something; returns its run.
    #[track_caller]
    pub fn wait_said(&self, key: &str, words: &str) -> String {
        let run = eventually(&format!("a run of {key}"), || {
            let status = self.status(key);
            let run = text(status["liveRuns"].as_array()?.first()?);
            (self.show(&run)["state"] == "running").then_some(run)
        });
        self.wait_for_output(&run, words);
        run
    }

    /// Each start of the agent, as it noted it.
    pub fn starts(&self) -> Vec<Value> {
        let noted = std::fs::read_to_string(self.dir().join("starts")).unwrap_or_default();
        noted.lines().map(|line| serde_json::from_str(line).expect("a start")).collect()
    }

    /// Waits until the agent has been started so often.
    #[track_caller]
    pub fn wait_starts(&self, count: usize) {
        eventually(&format!("{count} starts"), || (self.starts().len() == count).then_some(()));
    }

    /// Lets whoever awaits this go on.
    pub fn let_go(&self, name: &str) {
        std::fs::write(self.dir().join(name), "").expect("a file");
    }

    /// What the agent got last on its standard input.
    pub fn prompt(&self) -> Vec<u8> {
        std::fs::read(self.dir().join("prompt")).unwrap_or_default()
    }

    /// How a run ended.
    #[track_caller]
    pub fn termination(&self, turn: &Value) -> Value {
        self.show(&text(&turn["runId"]))["termination"].clone()
    }

    /// Every run has ended: checks the records, and finds nothing left of anybody.
    #[track_caller]
    pub fn finish(self) {
        self.home.finish();
    }
}

impl Default for Talks {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Talks {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

fn request(action: &str, key: &str, more: &Value) -> Value {
    let mut request = json!({"action": action, "sessionKey": key});
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

/// What the agent said in a turn that it answered.
#[track_caller]
pub fn answered(turn: &Value) -> Value {
    assert_eq!((&turn["state"], &turn["error"]), (&"done".into(), &Value::Null), "{turn}");
    serde_json::from_str(&text(&turn["text"])).expect("its answer")
}
