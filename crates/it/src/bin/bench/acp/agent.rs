//! The measured agent: it sends one message and ends the turn at once. It is this program, executed again.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Speaks the protocol until its input ends.
pub(crate) fn speak() -> io::Result<()> {
    let (input, mut output) = (io::stdin().lock(), io::stdout().lock());
    for line in input.lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        if asked["id"].is_null() {
            continue;
        }
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}),
            Some("session/new") => json!({"sessionId": "one"}),
            Some("session/prompt") => {
                let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}});
                let params = json!({"sessionId": "one", "update": update});
                writeln!(
                    output,
                    "{}",
                    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
                )?;
                json!({"stopReason": "end_turn"})
            }
            _ => json!({}),
        };
        writeln!(output, "{}", json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))?;
        output.flush()?;
    }
    Ok(())
}

/// The agent on a plain pipe; it ends with its input.
pub(crate) struct PipedAgent {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    #[expect(dead_code, reason = "it is held as long as it is spoken to")]
    child: Child,
}

impl PipedAgent {
    #[expect(clippy::disallowed_methods, reason = "the raw way to start an agent")]
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        let mut child = command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let mut piped = Self { input, output: BufReader::new(output), id: 0, child };
        for method in ["initialize", "session/new"] {
            piped.ask(method, &json!({}))?;
        }
        Ok(piped)
    }

    /// Sends a prompt and waits for its response.
    pub(crate) fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.ask("session/prompt", &json!({"sessionId": "one", "prompt": [{"type": "text", "text": text}]}))
    }

    fn ask(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}")?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let said: Value = serde_json::from_str(&line)?;
            if said["id"] == self.id {
                return Ok(());
            }
        }
    }
}
