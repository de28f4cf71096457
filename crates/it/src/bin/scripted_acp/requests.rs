//! Requests and notifications of the client: everything but a turn is answered at once.

use crate::flags::Flags;
use crate::turn::Turn;
use crate::{sessions, wire};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_it::{WAIT_LIMIT, eventually};

/// JSON-RPC error codes for an unknown method and an unknown session.
const UNKNOWN_METHOD: i64 = -32601;
const UNKNOWN_SESSION: i64 = -32002;
const NEEDS_AUTH: i64 = -32000;
const REFUSED: i64 = -32603;

/// The agent.
pub(crate) struct Agent {
    pub(crate) flags: Flags,
    exit: Sender<ExitCode>,
    /// Senders by the id of the request whose answer they wait for.
    waiting: Mutex<HashMap<u64, Sender<Value>>>,
    last_id: AtomicU64,
    cancelled: AtomicBool,
    authenticated: AtomicBool,
    /// Number of turns of this process.
    turns: AtomicU64,
    /// True if the session existed before this process.
    loaded: AtomicBool,
    mode: Mutex<String>,
    options: Mutex<HashMap<String, String>>,
}

impl Agent {
    pub(crate) fn new(flags: Flags) -> (Self, Receiver<ExitCode>) {
        let (exit, exits) = channel();
        let options = [("model", "small"), ("effort", "low")].map(|(id, value)| (id.into(), value.into()));
        let agent = Self {
            flags,
            exit,
            waiting: Mutex::default(),
            last_id: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            authenticated: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            loaded: AtomicBool::new(false),
            mode: Mutex::new("ask".to_owned()),
            options: Mutex::new(options.into()),
        };
        (agent, exits)
    }

    /// Ends this process.
    pub(crate) fn exit(&self, code: u8) {
        let _ = self.exit.send(ExitCode::from(code));
    }

    /// True if the turn was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Description of this process in a plain answer.
    pub(crate) fn description(&self, session: &str) -> Value {
        json!({
            "session": session, "pid": std::process::id(), "turn": self.turns.load(Ordering::SeqCst),
            "loaded": self.loaded.load(Ordering::SeqCst), "mode": *self.mode.lock().expect("a mode"),
            "options": *self.options.lock().expect("options"),
            "cwd": std::env::current_dir().expect("a directory"),
        })
    }

    /// Sends the client a request; its answer is recorded under a name.
    pub(crate) fn ask(&self, name: &str, method: &str, params: &Value) -> Value {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        let (sender, answer) = channel();
        self.waiting.lock().expect("no asker panics").insert(id, sender);
        wire::say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = answer.recv_timeout(WAIT_LIMIT).unwrap_or_else(|_| panic!("no answer to {method}"));
        wire::note("answers", &json!({"name": name, "answer": answer}));
        answer
    }

    /// Handles a message of the client.
    pub(crate) fn handle(agent: &Arc<Self>, message: &Value) {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some("session/cancel"), None) => agent.cancelled.store(true, Ordering::SeqCst),
            (Some(method), Some(id)) if agent.handle_by_flag(id, method) => {}
            (Some("session/prompt"), Some(id)) => {
                agent.cancelled.store(false, Ordering::SeqCst);
                agent.turns.fetch_add(1, Ordering::SeqCst);
                let turn = Turn::new(Arc::clone(agent), id.clone(), params);
                std::thread::spawn(move || turn.carry_out());
            }
            (Some(method), Some(id)) => agent.serve(id, method, params),
            (None, Some(id)) => agent.pass_answer(id, message),
            (Some(_) | None, None) => {}
        }
    }

    /// Passes an answer to its waiting request. An unexpected one was sent twice.
    fn pass_answer(&self, id: &Value, message: &Value) {
        let waiting = id.as_u64().and_then(|id| self.waiting.lock().expect("no asker panics").remove(&id));
        let waiting = waiting.unwrap_or_else(|| panic!("no pending request: {message}"));
        let mut answer = message.clone();
        answer.as_object_mut().expect("an object").retain(|name, _| name == "result" || name == "error");
        let _ = waiting.send(answer);
    }

    /// Handles a method that a flag makes fail; returns false for others.
    fn handle_by_flag(&self, id: &Value, method: &str) -> bool {
        let is = |odd: &Option<String>| odd.as_deref() == Some(method);
        if is(&self.flags.refuse) {
            wire::fail(id, REFUSED, "the agent refuses");
        }
        if is(&self.flags.dies_of) {
            eprintln!("{method} is too much");
            self.exit(6);
        }
        is(&self.flags.mute) || is(&self.flags.refuse) || is(&self.flags.dies_of)
    }

    fn serve(&self, id: &Value, method: &str, params: &Value) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        match method {
            "initialize" => {
                if self.flags.has("--slow") {
                    eventually("a start", || Path::new("started").exists().then_some(()));
                }
                wire::answer(id, &self.abilities());
            }
            "authenticate" => {
                let offered = self.flags.auth.iter().any(|method| params["methodId"] == **method);
                self.authenticated.store(offered, Ordering::SeqCst);
                if offered { wire::answer(id, &json!({})) } else { wire::fail(id, REFUSED, "no such method") }
            }
            "session/new" | "session/load" | "session/resume" => self.open(id, method, session),
            "session/list" if self.flags.has("--list") => {
                let cwd = std::env::current_dir().expect("a directory");
                let listed =
                    sessions::all().into_iter().map(|session| json!({"sessionId": session, "cwd": cwd}));
                wire::answer(id, &json!({"sessions": listed.collect::<Vec<_>>()}));
            }
            "session/close" if self.flags.has("--close") => wire::answer(id, &json!({})),
            "session/set_mode" if self.flags.has("--modes") => {
                let mode = params["modeId"].as_str().expect("a mode");
                if !MODES.iter().any(|(known, _)| *known == mode) {
                    return wire::fail(id, REFUSED, "no such mode");
                }
                mode.clone_into(&mut self.mode.lock().expect("a mode"));
                wire::answer(id, &json!({}));
            }
            "session/set_config_option" if self.flags.has("--options") => {
                let word = |name: &str| params[name].as_str().expect("a word").to_owned();
                let mut options = self.options.lock().expect("options");
                if options.insert(word("configId"), word("value")).is_none() {
                    options.remove(&word("configId"));
                    return wire::fail(id, REFUSED, "no such option");
                }
                drop(options);
                wire::answer(id, &json!({"configOptions": self.config_options()}));
            }
            _ => wire::fail(id, UNKNOWN_METHOD, "Method not found"),
        }
    }

    fn abilities(&self) -> Value {
        let flags = &self.flags;
        let offered = [
            ("resume", flags.has("--resume")),
            ("close", flags.has("--close")),
            ("list", flags.has("--list")),
        ];
        let offered = offered.into_iter().filter(|(_, is_offered)| *is_offered);
        let session: serde_json::Map<String, Value> =
            offered.map(|(name, _)| (name.to_owned(), json!({}))).collect();
        let auth = flags.auth.iter().map(|method| json!({"id": method, "name": method}));
        json!({
            "protocolVersion": flags.protocol.unwrap_or(1),
            "agentInfo": {"name": "scripted-acp", "version": "1.0.0"},
            "agentCapabilities": {"loadSession": flags.has("--load"), "sessionCapabilities": session},
            "authMethods": auth.collect::<Vec<_>>(),
        })
    }

    /// Starts, resumes or loads a session. A loaded one is replayed from its beginning.
    fn open(&self, id: &Value, method: &str, session: &str) {
        if self.flags.has("--needs-auth") && !self.authenticated.load(Ordering::SeqCst) {
            return wire::fail(id, NEEDS_AUTH, "Authentication required");
        }
        let session = match method {
            "session/new" => {
                let session = format!("talk-{}", std::process::id());
                sessions::make(&session);
                session
            }
            "session/load" if !self.flags.has("--load") => {
                return wire::fail(id, UNKNOWN_METHOD, "Method not found");
            }
            "session/resume" if !self.flags.has("--resume") => {
                return wire::fail(id, UNKNOWN_METHOD, "Method not found");
            }
            _ => {
                let Some(kept) = sessions::updates(session) else {
                    return wire::fail(id, UNKNOWN_SESSION, "Resource not found");
                };
                self.loaded.store(true, Ordering::SeqCst);
                if method == "session/load" && self.flags.has("--late") {
                    wire::answer(id, &json!({}));
                    let session = session.to_owned();
                    std::thread::spawn(move || {
                        for update in kept {
                            std::thread::park_timeout(Duration::from_millis(40));
                            wire::update(&session, &update);
                        }
                    });
                    return;
                }
                if method == "session/load" {
                    kept.iter().for_each(|update| wire::update(session, update));
                }
                session.to_owned()
            }
        };
        let mut opened = json!({});
        if method == "session/new" {
            opened["sessionId"] = session.into();
        }
        if self.flags.has("--modes") {
            let modes = MODES.map(|(id, name)| json!({"id": id, "name": name}));
            let mode = self.mode.lock().expect("a mode").clone();
            opened["modes"] = json!({"currentModeId": mode, "availableModes": modes});
        }
        if self.flags.has("--options") {
            opened["configOptions"] = self.config_options();
        }
        wire::answer(id, &opened);
    }

    fn config_options(&self) -> Value {
        let set = self.options.lock().expect("options").clone();
        let all = [("model", ["small", "large"]), ("effort", ["low", "high"])];
        let shown = all.map(|(id, values)| {
            let values = values.map(|value| json!({"value": value, "name": value}));
            json!({"id": id, "name": id, "category": id, "type": "select", "currentValue": set[id], "options": values})
        });
        json!(shown)
    }
}

const MODES: [(&str, &str); 2] = [("ask", "Asks before it acts"), ("act", "Acts")];
