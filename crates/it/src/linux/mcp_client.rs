//! A client of `tenure mcp`: a program that speaks MCP over the standard streams of its child.

use crate::child_program::ChildProgram;
use crate::eventually;
use crate::install::{Install, tenure};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// A client of `tenure mcp`.
#[derive(Debug)]
pub struct Client {
    bridge: ChildProgram,
    next: u64,
}

impl Client {
    /// A client that starts `tenure mcp` with these flags.
    #[track_caller]
    pub fn of(install: &Install, flags: &[&str]) -> Self {
        Self::through(install.command(&[&["mcp"], flags].concat()))
    }

    /// A client whose `tenure mcp` is a process of a session's run.
    #[track_caller]
    pub fn inside(install: &Install, session: &str, flags: &[&str]) -> Self {
        let program = tenure().to_str().expect("a path in UTF-8");
        Self::through(
            install.command(&[&["run", "--session", session, "--", program, "mcp"], flags].concat()),
        )
    }

    #[track_caller]
    fn through(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        let mut client = Self { bridge: ChildProgram::new(command), next: 0 };
        let who = json!({"name": "it", "version": "0"});
        client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}),
        );
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Sends a notification.
    pub fn say(&mut self, message: &Value) {
        self.bridge.write(format!("{message}\n").as_bytes());
    }

    /// Writes any line; returns the next line.
    #[track_caller]
    pub fn line(&mut self, line: &str) -> Value {
        let before = self.bridge.out().lines().count();
        self.bridge.write(format!("{line}\n").as_bytes());
        eventually(&format!("an answer to {line}"), || {
            let out = self.bridge.out();
            let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
            whole.lines().nth(before).map(|line| serde_json::from_str(line).expect("a message"))
        })
    }

    /// Sends a request; returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Reads the response to a request. Only JSON-RPC may come before it.
    #[track_caller]
    pub fn answer(&self, id: u64) -> Value {
        eventually(&format!("an answer to {id}; {} {}", self.bridge.out(), self.bridge.err()), || {
            let out = self.bridge.out();
            let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let said = whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("a message"));
            said.inspect(|message| assert_eq!(message["jsonrpc"], "2.0"))
                .find(|message| message["id"] == id && message.get("method").is_none())
        })
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns its result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Starts a command that runs until it is ended; returns its run.
    #[track_caller]
    pub fn start(&mut self) -> String {
        let reply = self.call("exec", &json!({"command": "sleep 1000", "background": true}));
        reply["runId"].as_str().expect("a run").to_owned()
    }

    /// Calls a tool that must refuse; returns the reason.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    /// The pid of `tenure mcp`.
    pub fn pid(&self) -> i32 {
        self.bridge.pid()
    }

    /// Closes the streams, and waits for the exit.
    #[track_caller]
    pub fn leave(mut self) {
        self.bridge.close_input();
        assert_eq!(self.bridge.code(), 0, "{}", self.bridge.err());
    }
}
