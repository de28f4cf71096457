//! A run of an agent: its input, its terminal, its end, by `exec` and `process` alone.

use crate::agent::Agent;
use crate::api::{Answer, text};
use crate::screen::lines_of;
use crate::{WAIT_LIMIT, eventually};
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

    /// Starts a background command.
    #[track_caller]
    pub fn begin_run(&self, request: Value) -> ToolRun {
        ToolRun { agent: self.clone(), id: self.start_with(request) }
    }
}

impl ToolRun {
    /// Calls `process` about this run and returns any response.
    #[track_caller]
    pub fn asks(&self, action: &str, rest: &Value) -> Answer {
        self.agent.ask(action, &self.id, rest)
    }

    /// Calls `process` about this run, which must succeed.
    #[track_caller]
    pub fn expect_ok(&self, action: &str, rest: &Value) -> Value {
        self.agent.process(action, &self.id, rest)
    }

    /// Writes to its input.
    #[track_caller]
    pub fn write(&self, data: &str) {
        let reply = self.expect_ok("write", &json!({"data": data}));
        assert_eq!(reply["bytesWritten"], data.len(), "{reply}");
    }

    /// Presses keys.
    #[track_caller]
    pub fn keys(&self, keys: &[&str]) {
        self.expect_ok("send-keys", &json!({"keys": keys}));
    }

    /// Types a line, and presses Enter.
    #[track_caller]
    pub fn types(&self, line: &str) {
        self.expect_ok("send-keys", &json!({"literal": line, "keys": ["Enter"]}));
    }

    /// Its terminal's screen.
    #[track_caller]
    pub fn screen(&self) -> Value {
        self.expect_ok("screen", &json!({}))["screen"].clone()
    }

    /// Waits until its screen satisfies `wanted`.
    #[track_caller]
    pub fn wait_for_screen(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let deadline = Instant::now() + WAIT_LIMIT;
        while Instant::now() < deadline {
            last = self.screen();
            if wanted(&last) {
                return last;
            }
        }
        panic!("no {what} on the screen: {last:#}");
    }

    /// Waits until a line of its screen equals `line`.
    #[track_caller]
    pub fn wait_for_line(&self, line: &str) -> Value {
        self.wait_for_screen(line, |screen| lines_of(screen).iter().any(|found| found == line))
    }

    /// Waits until the line with the cursor equals `prompt`.
    #[track_caller]
    pub fn wait_for_prompt(&self, prompt: &str) -> Value {
        self.wait_for_screen(prompt, |screen| {
            let row = screen["cursor"]["row"].as_u64().and_then(|row| usize::try_from(row).ok());
            row.and_then(|row| lines_of(screen).get(row).cloned()).as_deref() == Some(prompt)
        })
    }

    /// Its entry in `list`.
    #[track_caller]
    pub fn listed(&self) -> Value {
        let runs = self.agent.list();
        runs.into_iter().find(|run| run["runId"] == self.id.as_str()).expect("it is listed")
    }

    /// Waits until `list` shows this value of `waitingForInput`.
    #[track_caller]
    pub fn wait_until_waiting_is(&self, expected: &Value) {
        let mut last = Value::Null;
        eventually(&format!("waitingForInput {expected}"), || {
            last = self.listed();
            assert_eq!(last["status"], "running", "{last}");
            (last["waitingForInput"] == *expected).then_some(())
        });
    }

    /// Its complete output from `log`.
    #[track_caller]
    pub fn log(&self) -> String {
        text(&self.expect_ok("log", &json!({"offset": 0}))["output"])
    }

    /// Waits until its log contains this.
    #[track_caller]
    pub fn wait_for_log(&self, wanted: &str) {
        self.agent.wait_for(&self.id, wanted);
    }

    /// Waits for its end; returns the last poll.
    #[track_caller]
    pub fn end(&self) -> Value {
        self.agent.poll_to_the_end(&self.id).1
    }

    /// Waits until it has exited by itself with this code.
    #[track_caller]
    pub fn exits(&self, code: i32) {
        let end = self.end();
        assert_eq!((&end["status"], &end["exitCode"]), (&"completed".into(), &code.into()), "{end}");
    }

    /// Kills its whole tree.
    #[track_caller]
    pub fn kill(&self) -> Value {
        let reply = self.expect_ok("kill", &json!({}));
        assert_ne!(reply["status"], "running", "{reply}");
        reply
    }
}
