//! An agent that uses the tools `exec` and `process` over the daemon's socket, with or without a session.

use crate::api::{Answer, Api, Wire, text};
use crate::daemon_fixture::DaemonFixture;
use crate::eventually;
use crate::install::Install;
use serde_json::{Value, json};

/// A caller of the tools.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The daemon.
    pub api: Api,
    session: Option<String>,
}

impl Agent {
    /// An installation with a daemon, and an agent without a session.
    #[track_caller]
    pub fn new() -> (Install, Self) {
        let install = Install::new().with_daemon();
        let agent = Self::of(&install);
        (install, agent)
    }

    /// A caller without a session, as an operator's gateway is.
    pub fn of(install: &Install) -> Self {
        Self { api: Api::of(install), session: None }
    }

    /// The same caller in a session.
    #[must_use]
    pub fn acting_as(&self, session: &str) -> Self {
        Self { api: self.api.clone(), session: Some(session.to_owned()) }
    }

    fn signed(&self, mut request: Value) -> Value {
        if let Some(session) = &self.session {
            request["sessionKey"] = session.as_str().into();
        }
        request
    }

    /// Calls `exec` and returns any response.
    #[track_caller]
    pub fn ask_exec(&self, request: &Value) -> Answer {
        self.api.post("/v1/exec", &self.signed(request.clone()))
    }

    /// Calls `exec`, which must succeed.
    #[track_caller]
    pub fn exec(&self, request: &Value) -> Value {
        self.ask_exec(request).is(200).json()
    }

    /// Runs a command line to its end.
    #[track_caller]
    pub fn run(&self, command: &str) -> Value {
        self.exec(&json!({"command": command, "yieldMs": 60_000}))
    }

    /// Calls `exec` without waiting for the response.
    #[track_caller]
    pub fn begin_exec(&self, request: Value) -> Wire {
        self.begin("/v1/exec", request)
    }

    /// Starts a command line in the background; returns its run.
    #[track_caller]
    pub fn start(&self, command: &str) -> String {
        self.start_with(json!({"command": command}))
    }

    /// [`Self::start`] with more fields.
    #[track_caller]
    pub fn start_with(&self, mut request: Value) -> String {
        request["background"] = true.into();
        let reply = self.exec(&request);
        assert_eq!(reply["status"], "running", "{reply}");
        text(&reply["runId"])
    }

    /// Calls `process` and returns any response.
    #[track_caller]
    pub fn ask_process(&self, request: &Value) -> Answer {
        self.api.post("/v1/process", &self.signed(request.clone()))
    }

    /// Calls `process` about a run and returns any response.
    #[track_caller]
    pub fn ask(&self, action: &str, run: &str, more: &Value) -> Answer {
        self.ask_process(&self.about(action, run, more))
    }

    fn about(&self, action: &str, run: &str, more: &Value) -> Value {
        let mut request = json!({"action": action, "runId": run});
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        self.signed(request)
    }

    /// Calls `process`, which must succeed.
    #[track_caller]
    pub fn process(&self, action: &str, run: &str, more: &Value) -> Value {
        self.ask(action, run, more).is(200).json()
    }

    /// Calls `process` without waiting for the response.
    #[track_caller]
    pub fn begin_process(&self, action: &str, run: &str, more: &Value) -> Wire {
        self.begin("/v1/process", self.about(action, run, more))
    }

    fn begin(&self, path: &str, request: Value) -> Wire {
        let mut wire = self.api.connect();
        wire.request("POST", path, &[], self.signed(request).to_string().as_bytes());
        wire
    }

    /// Polls once.
    #[track_caller]
    pub fn poll(&self, run: &str) -> Value {
        self.process("poll", run, &json!({"timeoutMs": 30_000}))
    }

    /// Polls until the run has ended; returns all unread output, and the last reply.
    #[track_caller]
    pub fn poll_to_the_end(&self, run: &str) -> (String, Value) {
        let mut read = String::new();
        let last = eventually("the end by polling", || {
            let reply = self.poll(run);
            read += reply["output"].as_str().expect("a text");
            (reply["status"] != "running").then_some(reply)
        });
        (read, last)
    }

    /// Polls until this text was read; returns all unread output.
    #[track_caller]
    pub fn poll_until(&self, run: &str, wanted: &str) -> String {
        let mut read = String::new();
        while !read.contains(wanted) {
            let reply = self.poll(run);
            assert_eq!(reply["status"], "running", "it ended before {wanted:?}: {reply}");
            read += reply["output"].as_str().expect("a text");
        }
        read
    }

    /// Waits until this text is in the run's log, which marks nothing as read.
    #[track_caller]
    pub fn wait_for(&self, run: &str, wanted: &str) {
        eventually(&format!("{wanted:?} of {run}"), || {
            let reply = self.process("log", run, &json!({}));
            reply["output"].as_str().expect("a text").contains(wanted).then_some(())
        });
    }

    /// The complete log from this line on, page by page.
    #[track_caller]
    pub fn log_from(&self, run: &str, line: u64) -> String {
        let (mut whole, mut next) = (String::new(), Some(line));
        while let Some(line) = next {
            let page = self.process("log", run, &json!({"offset": line}));
            assert_eq!(page["firstLine"], line, "{}", page["message"]);
            whole += page["output"].as_str().expect("a text");
            next = page["nextLine"].as_u64();
        }
        whole
    }

    /// The runs in the agent's list.
    #[track_caller]
    pub fn list(&self) -> Vec<Value> {
        let reply = self.ask_process(&json!({"action": "list", "limit": 200})).is(200).json();
        reply["runs"].as_array().expect("runs").clone()
    }

    /// Waits for the only run.
    #[track_caller]
    pub fn only_run(&self) -> String {
        eventually("a run", || self.list().first().map(|run| text(&run["runId"])))
    }
}

/// An installation whose runs have a short grace.
pub fn short_grace_install() -> Install {
    Install::new().with_env("TENURE_RUN_GRACE", "200ms")
}

/// An agent at a daemon of its own.
pub fn start_agent(install: Install) -> (DaemonFixture, Agent) {
    let fixture = DaemonFixture::of(install);
    fixture.start_daemon();
    let agent = Agent::of(&fixture);
    (fixture, agent)
}

/// An agent at a daemon with [`short_grace_install`] settings.
pub fn daemon() -> (DaemonFixture, Agent) {
    start_agent(short_grace_install())
}
