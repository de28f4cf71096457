//! One run that an agent has: its input, its terminal, its end, by `exec` and `process` alone.

use crate::agent::Agent;
use crate::api::{Answer, text};
use crate::shown::lines_of;
use crate::{PATIENCE, eventually};
use serde_json::{Value, json};
use std::time::Instant;

/// A run that was started with `exec`, and is handled with `process`.
#[derive(Debug, Clone)]
pub struct ToolRun {
    agent: Agent,
    /// Its id.
    pub id: String,
}

impl Agent {
    /// Starts a command line on pipes.
    #[track_caller]
    pub fn on_pipes(&self, command: &str) -> ToolRun {
        self.begin_run(json!({"command": command}))
    }

    /// Starts a command line in a terminal.
    #[track_caller]
    pub fn in_terminal(&self, command: &str) -> ToolRun {
        self.begin_run(json!({"command": command, "pty": true}))
    }

    /// Starts what goes on in the background.
    #[track_caller]
    pub fn begin_run(&self, request: Value) -> ToolRun {
        ToolRun { agent: self.clone(), id: self.start_with(request) }
    }
}

impl ToolRun {
    /// Asks `process` about this run, whatever it answers.
    #[track_caller]
    pub fn asks(&self, action: &str, rest: &Value) -> Answer {
        self.agent.ask(action, &self.id, rest)
    }

    /// Does something with this run.
    #[track_caller]
    pub fn does(&self, action: &str, rest: &Value) -> Value {
        self.agent.process(action, &self.id, rest)
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
        let runs = self.agent.list();
        runs.into_iter().find(|run| run["runId"] == self.id.as_str()).expect("it is listed")
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
        self.agent.wait_for(&self.id, wanted);
    }

    /// Waits for its end; returns the last poll.
    #[track_caller]
    pub fn end(&self) -> Value {
        self.agent.poll_to_the_end(&self.id).1
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
