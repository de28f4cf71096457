//! A client of `tenure mcp`: a program that speaks MCP over the standard streams of its child.

use crate::eventually;
use crate::install::{Install, tenure};
use crate::started::Started;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// A client of `tenure mcp`.
#[derive(Debug)]
pub struct Client {
    bridge: Started,
    next: u64,
}

impl Client {
    /// One who starts `tenure mcp` with these flags.
    #[track_caller]
    pub fn of(install: &Install, flags: &[&str]) -> Self {
        Self::through(install.command(&[&["mcp"], flags].concat()))
    }

    /// One whose `tenure mcp` is a process of a session's run.
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
        let mut client = Self { bridge: Started::new(command), next: 0 };
        let who = json!({"name": "it", "version": "0"});
        client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}),
        );
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Says something that is not answered.
    pub fn say(&mut self, message: &Value) {
        self.bridge.write(format!("{message}\n").as_bytes());
    }

    /// Writes a line, whatever it is; returns the next line that comes.
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

    /// The answer to a request. Nothing but JSON-RPC comes before it.
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

    /// Asks and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns what it says.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Starts a command that goes on until it is ended; returns its run.
    #[track_caller]
    pub fn start(&mut self) -> String {
        let reply = self.call("exec", &json!({"command": "sleep 1000", "background": true}));
        reply["runId"].as_str().expect("a run").to_owned()
    }

    /// Calls a tool that refuses; returns why.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    /// The process that it talks to.
    pub fn pid(&self) -> i32 {
        self.bridge.pid()
    }

    /// Leaves, and is let go.
    #[track_caller]
    pub fn leave(mut self) {
        self.bridge.close_input();
        assert_eq!(self.bridge.code(), 0, "{}", self.bridge.err());
    }
}
