//! The verbs of a prompt's lines.

use crate::turn::{LineOutcome, Turn, chunk};
use crate::{children, wire};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tenure_it::eventually;
use tenure_it::install::actor;

impl Turn {
    /// Carries out a line.
    pub(crate) fn run_line(&mut self, verb: &str, rest: &str) -> LineOutcome {
        match verb {
            "tell" => self.describe_itself(),
            "say" => self.send_text(rest),
            "pieces" | "count" | "chatter" | "huge" | "picture" => self.stream(verb, rest),
            "thought" => self.send_update(&chunk("agent_thought_chunk", rest)),
            "tool" | "tool-text" | "tool-diff" | "tool-end" => self.tool(verb, rest),
            "plan" | "usage" | "mode" | "title" => self.state(verb, rest),
            "ask" => self.request_permission(rest),
            "update" => self.send_update(&serde_json::from_str(rest).expect("an update")),
            "send" => self.send_request(rest),
            "later" => self.send_later(rest),
            "read" | "write" => self.file(verb, rest),
            "write-huge" => {
                let (path, size) = rest.split_once(' ').expect("a path and a size");
                self.file("write", &format!("{path} {}", "x".repeat(size.parse().expect("a size"))));
            }
            "terminal" | "output" | "exited" | "kill" | "release" => self.command(verb, rest),
            "private" => drop(self.agent.ask(rest, rest, &json!({"sessionId": self.session}))),
            "await" => self.wait_for_file(rest),
            "touch" => std::fs::write(rest, "").expect("a file"),
            "env" => {
                let env: Value = std::env::vars().map(|(name, value)| (name, Value::from(value))).collect();
                wire::note("env", &env);
            }
            "child" => children::start(rest),
            "stderr" => eprintln!("{rest}"),
            "become" => panic!("no actor: {}", Command::new(actor()).args(rest.split(' ')).exec()),
            _ => return self.odd(verb, rest),
        }
        LineOutcome::GoOn
    }

    /// Verbs that end or answer the turn in unusual ways.
    fn odd(&mut self, verb: &str, rest: &str) -> LineOutcome {
        match verb {
            "hang" => self.wait_for_cancel(),
            // Ignores the prompt and any cancel.
            "deaf" => return LineOutcome::Silence,
            // Ignores a cancel until there is a file of this name, then answers as if there was none.
            "late" => {
                eventually("the late start", || Path::new(rest).exists().then_some(()));
                return LineOutcome::Stop("end_turn".to_owned());
            }
            "twice" => self.twice = true,
            // Answers before its work is done.
            "answered" => self.answer(&LineOutcome::Stop("end_turn".to_owned())),
            "text-id" => self.id = self.id.to_string().into(),
            "stop" => return LineOutcome::Stop(rest.to_owned()),
            "error" => {
                let (code, words) = rest.split_once(' ').expect("a code and words");
                return LineOutcome::Fail(code.parse().expect("a code"), words.to_owned());
            }
            "junk" => wire::print(
                b"Warning: \xff\xfe\x00\n{\"jsonrpc\": \"2.0\", \"id\n[1, 2]\n\n\"text\"\n\x1b[31m{}\n{\"id\": null}\n",
            ),
            // A response without a request, and an unknown notification.
            "unasked" => {
                wire::answer(&json!(99_999), &json!({"stopReason": "refusal"}));
                wire::say(&json!({"jsonrpc": "2.0", "method": "private/notice", "params": {"any": 1}}));
            }
            "exit" | "half" => {
                let (code, words) = rest.split_once(' ').unwrap_or((rest, ""));
                if verb == "half" {
                    wire::print(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sess"#);
                }
                eprintln!("{words}");
                self.agent.exit(code.parse().expect("a code"));
                return LineOutcome::Silence;
            }
            _ => panic!("no verb {verb}"),
        }
        LineOutcome::GoOn
    }

    /// Messages of more than one piece, or of an unusual size.
    fn stream(&self, verb: &str, rest: &str) {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "pieces" => {
                let letters: Vec<char> = more.chars().collect();
                let count: usize = first.parse().expect("a count");
                for piece in letters.chunks(letters.len().div_ceil(count).max(1)) {
                    self.send_text(&piece.iter().collect::<String>());
                }
            }
            // Numbers, one a piece, with a short pause between them.
            "count" => {
                let (from, to): (u64, u64) =
                    (first.parse().expect("a number"), more.parse().expect("a number"));
                for number in (from..=to).take_while(|_| !self.agent.is_cancelled()) {
                    self.send_text(&format!("{number} "));
                    std::thread::park_timeout(Duration::from_millis(1));
                }
            }
            // Until it is cancelled.
            "chatter" => {
                while !self.agent.is_cancelled() {
                    self.send_text("and so on ");
                    std::thread::park_timeout(Duration::from_millis(5));
                }
            }
            "huge" => self.send_text(&"x".repeat(first.parse().expect("a size"))),
            _ => {
                let content = json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="});
                self.send_update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
            }
        }
    }

    /// A tool call: `tool ID KIND TITLE`, `tool-text ID TEXT`, `tool-diff ID PATH OLD NEW`, `tool-end ID STATUS`.
    fn tool(&self, verb: &str, rest: &str) {
        let mut words = rest.splitn(if verb == "tool-text" { 2 } else { 4 }, ' ');
        let mut word = || words.next().unwrap_or_default();
        let id = word();
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
        match verb {
            "tool" => {
                update["sessionUpdate"] = "tool_call".into();
                (update["kind"], update["status"]) = (word().into(), "pending".into());
                update["title"] = [word(), word()].join(" ").trim().into();
                update["rawInput"] = json!({"asked": id});
            }
            "tool-text" => {
                update["status"] = "in_progress".into();
                update["content"] = json!([{"type": "content", "content": {"type": "text", "text": word()}}]);
            }
            "tool-diff" => {
                update["content"] =
                    json!([{"type": "diff", "path": word(), "oldText": word(), "newText": word()}]);
            }
            _ => update["status"] = word().into(),
        }
        self.send_update(&update);
    }

    /// State of the agent: `plan STATUS:WORDS|…`, `usage USED SIZE`, `mode ID`, `title WORDS`.
    fn state(&self, verb: &str, rest: &str) {
        let update = match verb {
            "plan" => {
                let entries = rest.split('|').map(|entry| {
                    let (status, content) = entry.split_once(':').expect("a status");
                    json!({"content": content, "priority": "medium", "status": status})
                });
                json!({"sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>()})
            }
            "usage" => {
                let (used, size) = rest.split_once(' ').expect("two numbers");
                let number = |text: &str| text.parse::<u64>().expect("a number");
                json!({"sessionUpdate": "usage_update", "used": number(used), "size": number(size)})
            }
            "mode" => json!({"sessionUpdate": "current_mode_update", "currentModeId": rest}),
            _ => json!({"sessionUpdate": "session_info_update", "title": rest}),
        };
        self.send_update(&update);
    }

    /// Requests permission: `ask KIND TITLE|OPTION:KIND|…`.
    fn request_permission(&self, rest: &str) {
        let mut parts = rest.split('|');
        let (kind, title) = parts.next().and_then(|tool| tool.split_once(' ')).expect("a kind and a title");
        let options = parts.map(|option| {
            let (id, kind) = option.split_once(':').expect("an option's kind");
            json!({"optionId": id, "name": format!("To {id}"), "kind": kind})
        });
        let options: Vec<Value> = options.collect();
        let tool =
            json!({"toolCallId": format!("call {title}"), "title": title, "kind": kind, "status": "pending"});
        let params = json!({"sessionId": self.session, "toolCall": tool, "options": options});
        let _ = self.agent.ask(title, "session/request_permission", &params);
    }

    /// Sends any request: `send METHOD PARAMS`. Adds the session, and records the answer under the method.
    fn send_request(&self, rest: &str) {
        let (method, params) = rest.split_once(' ').expect("a method and its parameters");
        let mut params: Value = serde_json::from_str(params).expect("JSON");
        params["sessionId"] = self.session.clone().into();
        let _ = self.agent.ask(method, method, &params);
    }

    /// Sends an update once this file exists, even while the script waits for an answer: `later FILE UPDATE`.
    fn send_later(&self, rest: &str) {
        let (file, update) = rest.split_once(' ').expect("a file and an update");
        let update: Value = serde_json::from_str(update).expect("JSON");
        let told = json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": self.session, "update": update}});
        let file = file.to_owned();
        std::thread::spawn(move || {
            eventually("the awaited value", || Path::new(&file).exists().then_some(()));
            wire::say(&told);
        });
    }

    /// Has the client read or write a file: `read PATH [LINE LIMIT]`, `write PATH TEXT`.
    fn file(&self, verb: &str, rest: &str) {
        let mut words = rest.splitn(if verb == "write" { 2 } else { 3 }, ' ');
        let path = words.next().unwrap_or_default();
        // A relative path is below the agent's working directory, without normalisation.
        let whole = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", std::env::current_dir().expect("a directory").display())
        };
        let mut params = json!({"sessionId": self.session, "path": whole});
        if verb == "write" {
            params["content"] = words.next().unwrap_or_default().into();
        } else if let (Some(line), Some(limit)) = (words.next(), words.next()) {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            (params["line"], params["limit"]) = (number(line).into(), number(limit).into());
        }
        let _ = self.agent.ask(&format!("{verb} {path}"), &format!("fs/{verb}_text_file"), &params);
    }

    /// Has the client run a command: `terminal LINE`; the verbs `output`, `exited`, `kill`, `release` use it.
    fn command(&mut self, verb: &str, rest: &str) {
        if verb == "terminal" {
            let params = json!({
                "sessionId": self.session, "command": "sh", "args": ["-c", rest], "outputByteLimit": 1 << 16,
            });
            let answer = self.agent.ask(verb, "terminal/create", &params);
            self.terminal = answer["result"]["terminalId"].clone();
            return;
        }
        let method = match verb {
            "output" => "terminal/output",
            "exited" => "terminal/wait_for_exit",
            "kill" => "terminal/kill",
            _ => "terminal/release",
        };
        let _ =
            self.agent.ask(verb, method, &json!({"sessionId": self.session, "terminalId": self.terminal}));
    }
}
