//! An agent that has nothing but its tools: `POST /v1/exec` and `POST /v1/process`, on the daemon's socket.

use crate::api::{Answer, Api, text};
use crate::install::Install;
use crate::shown::lines_of;
use crate::{PATIENCE, eventually};
use serde_json::{Value, json};
use std::time::Instant;

/// The tools of one installation's daemon.
#[derive(Debug, Clone)]
pub struct Tools {
    /// Where they are.
    pub api: Api,
}

/// A run that was started with `exec`, and is handled with `process`.
#[derive(Debug, Clone)]
pub struct ToolRun {
    tools: Tools,
    /// Its id.
    pub id: String,
}

impl Tools {
    /// An installation with a daemon, and its tools.
    #[track_caller]
    pub fn new() -> (Install, Self) {
        let install = Install::new().with_daemon();
        let api = Api::of(&install);
        (install, Self { api })
    }

    /// Asks `exec`, whatever it answers.
    #[track_caller]
    pub fn try_exec(&self, request: &Value) -> Answer {
        self.api.post("/v1/exec", request)
    }

    /// Asks `process`, whatever it answers.
    #[track_caller]
    pub fn try_process(&self, request: &Value) -> Answer {
        self.api.post("/v1/process", request)
    }

    /// Runs a command line to its end.
    #[track_caller]
    pub fn exec(&self, command: &str) -> Value {
        let reply = self.try_exec(&json!({"command": command, "yieldMs": 60_000})).is(200).json();
        assert_eq!(reply["status"], "completed", "{reply}");
        reply
    }

    /// Starts a command line on pipes.
    #[track_caller]
    pub fn on_pipes(&self, command: &str) -> ToolRun {
        self.start(&json!({"command": command, "background": true}))
    }

    /// Starts a command line in a terminal.
    #[track_caller]
    pub fn in_terminal(&self, command: &str) -> ToolRun {
        self.start(&json!({"command": command, "background": true, "pty": true}))
    }

    /// Starts what goes on in the background.
    #[track_caller]
    pub fn start(&self, request: &Value) -> ToolRun {
        let reply = self.try_exec(request).is(200).json();
        assert_eq!(reply["status"], "running", "{reply}");
        assert_eq!(reply["warnings"], json!([]), "{reply}");
        ToolRun { tools: self.clone(), id: text(&reply["runId"]) }
    }
}

impl ToolRun {
    /// Asks `process` about this run, whatever it answers.
    #[track_caller]
    pub fn asks(&self, action: &str, rest: &Value) -> Answer {
        let mut request = json!({"action": action, "runId": self.id});
        for (name, value) in rest.as_object().expect("fields") {
            request[name] = value.clone();
        }
        self.tools.try_process(&request)
    }

    /// Does something with this run.
    #[track_caller]
    pub fn does(&self, action: &str, rest: &Value) -> Value {
        self.asks(action, rest).is(200).json()
    }

    /// Writes to its input.
    #[track_caller]
    pub fn write(&self, data: &str) {
        let reply = self.does("write", &json!({"data": data}));
        assert_eq!(reply["bytesWritten"], data.len(), "{reply}");
    }

    /// Presses keys.
    #[track_caller]
    pub fn keys(&self, keys: &[&str]) {
        self.does("send-keys", &json!({"keys": keys}));
    }

    /// Types a line, and presses Enter.
    #[track_caller]
    pub fn types(&self, line: &str) {
        self.does("send-keys", &json!({"literal": line, "keys": ["Enter"]}));
    }

    /// What its terminal shows.
    #[track_caller]
    pub fn screen(&self) -> Value {
        self.does("screen", &json!({}))["screen"].clone()
    }

    /// Waits until its terminal shows something.
    #[track_caller]
    pub fn wait_for_screen(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            last = self.screen();
            if wanted(&last) {
                return last;
            }
        }
        panic!("no {what} on the screen: {last:#}");
    }

    /// Waits until a line of its terminal is this.
    #[track_caller]
    pub fn wait_for_line(&self, line: &str) -> Value {
        self.wait_for_screen(line, |screen| lines_of(screen).iter().any(|found| found == line))
    }

    /// Waits until the last line that is not empty, where the cursor is, is this.
    #[track_caller]
    pub fn wait_for_prompt(&self, prompt: &str) -> Value {
        self.wait_for_screen(prompt, |screen| {
            let row = screen["cursor"]["row"].as_u64().and_then(|row| usize::try_from(row).ok());
            row.and_then(|row| lines_of(screen).get(row).cloned()).as_deref() == Some(prompt)
        })
    }

    /// How `list` shows it.
    #[track_caller]
    pub fn listed(&self) -> Value {
        let listed = self.tools.try_process(&json!({"action": "list"})).is(200).json();
        let runs = listed["runs"].as_array().expect("runs");
        runs.iter().find(|run| run["runId"] == self.id.as_str()).expect("it is listed").clone()
    }

    /// Waits until `list` says this of its waiting for input.
    #[track_caller]
    pub fn wait_until_waiting_is(&self, expected: &Value) {
        let mut last = Value::Null;
        eventually(&format!("waitingForInput {expected}"), || {
            last = self.listed();
            assert_eq!(last["status"], "running", "{last}");
            (last["waitingForInput"] == *expected).then_some(())
        });
    }

    /// Its whole output as `log` gives it.
    #[track_caller]
    pub fn log(&self) -> String {
        text(&self.does("log", &json!({"offset": 0}))["output"])
    }

    /// Waits until its log holds this.
    #[track_caller]
    pub fn wait_for_log(&self, wanted: &str) {
        eventually(&format!("{wanted:?} in the log"), || self.log().contains(wanted).then_some(()));
    }

    /// Waits for its end; returns the last poll.
    #[track_caller]
    pub fn end(&self) -> Value {
        eventually("the end of the run", || {
            let polled = self.does("poll", &json!({"timeoutMs": 10_000}));
            (polled["status"] != "running").then_some(polled)
        })
    }

    /// Waits until it has exited by itself, with this code.
    #[track_caller]
    pub fn exits(&self, code: i32) {
        let end = self.end();
        assert_eq!((&end["status"], &end["exitCode"]), (&"completed".into(), &code.into()), "{end}");
    }

    /// Ends it, whole.
    #[track_caller]
    pub fn kill(&self) -> Value {
        let reply = self.does("kill", &json!({}));
        assert_ne!(reply["status"], "running", "{reply}");
        reply
    }
}
