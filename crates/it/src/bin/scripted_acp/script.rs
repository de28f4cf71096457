//! The verbs of a prompt's lines.

use crate::turn::{Then, Turn, chunk};
use crate::{children, wire};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tenure_it::eventually;
use tenure_it::install::actor;

impl Turn {
    /// Does what a line says.
    pub(crate) fn obey(&mut self, verb: &str, rest: &str) -> Then {
        match verb {
            "tell" => self.tell_of_itself(),
            "say" => self.says(rest),
            "pieces" | "count" | "chatter" | "huge" | "picture" => self.stream(verb, rest),
            "thought" => self.tells(&chunk("agent_thought_chunk", rest)),
            "tool" | "tool-text" | "tool-diff" | "tool-end" => self.tool(verb, rest),
            "plan" | "usage" | "mode" | "title" => self.state(verb, rest),
            "ask" => self.asks(rest),
            "update" => self.tells(&serde_json::from_str(rest).expect("an update")),
            "send" => self.sends(rest),
            "later" => self.tells_later(rest),
            "read" | "write" => self.file(verb, rest),
            "write-huge" => {
                let (path, size) = rest.split_once(' ').expect("a path and a size");
                self.file("write", &format!("{path} {}", "x".repeat(size.parse().expect("a size"))));
            }
            "terminal" | "output" | "exited" | "kill" | "release" => self.command(verb, rest),
            "private" => drop(self.agent.ask(rest, rest, &json!({"sessionId": self.session}))),
            "await" => self.awaits(rest),
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
        Then::GoOn
    }

    /// The ways in which a turn is not simply answered.
    fn odd(&mut self, verb: &str, rest: &str) -> Then {
        match verb {
            "hang" => self.hangs(),
            // It answers neither the prompt nor a cancel.
            "deaf" => return Then::Silence,
            // It takes no notice of a cancel until there is a file of this name, and answers as if there was none.
            "late" => {
                eventually("what it is late for", || Path::new(rest).exists().then_some(()));
                return Then::Stop("end_turn".to_owned());
            }
            "twice" => self.twice = true,
            // It answers, and has more to do.
            "answered" => self.answer(&Then::Stop("end_turn".to_owned())),
            "text-id" => self.id = self.id.to_string().into(),
            "stop" => return Then::Stop(rest.to_owned()),
            "error" => {
                let (code, words) = rest.split_once(' ').expect("a code and words");
                return Then::Fail(code.parse().expect("a code"), words.to_owned());
            }
            "junk" => wire::print(
                b"Warning: \xff\xfe\x00\n{\"jsonrpc\": \"2.0\", \"id\n[1, 2]\n\n\"text\"\n\x1b[31m{}\n{\"id\": null}\n",
            ),
            // An answer that nobody asked for, and a notification that nobody knows.
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
                return Then::Silence;
            }
            _ => panic!("no verb {verb}"),
        }
        Then::GoOn
    }

    /// Messages of more than one piece, or of an unusual size.
    fn stream(&self, verb: &str, rest: &str) {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "pieces" => {
                let letters: Vec<char> = more.chars().collect();
                let count: usize = first.parse().expect("a count");
                for piece in letters.chunks(letters.len().div_ceil(count).max(1)) {
                    self.says(&piece.iter().collect::<String>());
                }
            }
            // Numbers, one a piece, with a little time between them.
            "count" => {
                let (from, to): (u64, u64) =
                    (first.parse().expect("a number"), more.parse().expect("a number"));
                for number in (from..=to).take_while(|_| !self.agent.is_cancelled()) {
                    self.says(&format!("{number} "));
                    std::thread::park_timeout(Duration::from_millis(1));
                }
            }
            // Until it is cancelled.
            "chatter" => {
                while !self.agent.is_cancelled() {
                    self.says("and so on ");
                    std::thread::park_timeout(Duration::from_millis(5));
                }
            }
            "huge" => self.says(&"x".repeat(first.parse().expect("a size"))),
            _ => {
                let content = json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="});
                self.tells(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
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
        self.tells(&update);
    }

    /// How the agent is: `plan STATUS:WORDS|…`, `usage USED SIZE`, `mode ID`, `title WORDS`.
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
        self.tells(&update);
    }

    /// Asks whether it may: `ask KIND TITLE|OPTION:KIND|…`.
    fn asks(&self, rest: &str) {
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

    /// Sends any request: `send METHOD PARAMS`. Adds the session, and notes the answer under the method.
    fn sends(&self, rest: &str) {
        let (method, params) = rest.split_once(' ').expect("a method and its parameters");
        let mut params: Value = serde_json::from_str(params).expect("JSON");
        params["sessionId"] = self.session.clone().into();
        let _ = self.agent.ask(method, method, &params);
    }

    /// Sends an update once this file exists, even while the script waits for an answer: `later FILE UPDATE`.
    fn tells_later(&self, rest: &str) {
        let (file, update) = rest.split_once(' ').expect("a file and an update");
        let update: Value = serde_json::from_str(update).expect("JSON");
        let told = json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": self.session, "update": update}});
        let file = file.to_owned();
        std::thread::spawn(move || {
            eventually("what it waits for", || Path::new(&file).exists().then_some(()));
            wire::say(&told);
        });
    }

    /// Has the client read or write a file: `read PATH [LINE LIMIT]`, `write PATH TEXT`.
    fn file(&self, verb: &str, rest: &str) {
        let mut words = rest.splitn(if verb == "write" { 2 } else { 3 }, ' ');
        let path = words.next().unwrap_or_default();
        // What is no absolute path is one below the directory where the agent works, as it is written.
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

    /// Has the client run a command, which the later verbs are about: `terminal LINE`, `output`, `exited`, `kill`, `release`.
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
