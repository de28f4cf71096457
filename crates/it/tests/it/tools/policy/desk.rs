//! A daemon with an exec policy, and programs of the test's own that write down how they were called.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tenure_it::api::{Answer, Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::served::Served;

/// The daemon, and where its programs and their notes are.
pub(crate) struct Desk {
    pub(crate) served: Served,
    pub(crate) api: Api,
}

impl Desk {
    /// A daemon with these settings, as variables of its environment.
    #[track_caller]
    pub(crate) fn with(settings: &[(&str, &str)]) -> Self {
        Self::on(Install::new(), settings)
    }

    /// The same on an installation.
    #[track_caller]
    pub(crate) fn on(install: Install, settings: &[(&str, &str)]) -> Self {
        std::fs::create_dir(install.dir().join("bin")).expect("mkdir");
        std::fs::create_dir(install.dir().join("work")).expect("mkdir");
        let path = format!("{}:/usr/bin:/bin", install.dir().join("bin").display());
        let mut install = install.with_env("PATH", &path);
        for (name, value) in settings {
            install = install.with_env(name, value);
        }
        let served = Served::start(install);
        let api = Api::Local(served.install.state().join("daemon.sock"));
        Self { served, api }
    }

    /// One that asks a person.
    #[track_caller]
    pub(crate) fn asking() -> Self {
        Self::with(&[("TENURE_EXEC_MODE", "ask")])
    }

    /// One that runs what is listed, and nothing else.
    #[track_caller]
    pub(crate) fn listing() -> Self {
        Self::with(&[("TENURE_EXEC_MODE", "allowlist")])
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.served.install.dir().join("bin")
    }

    /// Where commands run.
    pub(crate) fn work(&self) -> PathBuf {
        self.served.install.dir().join("work")
    }

    /// A program that writes down its name, its arguments and its directory, and says `text`.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        self.program_at(&self.bin().join(name), text)
    }

    pub(crate) fn program_at(&self, path: &Path, text: &str) -> PathBuf {
        write_program(path, &self.script(text));
        path.to_owned()
    }

    pub(crate) fn script(&self, text: &str) -> String {
        let notes = self.served.install.dir().join("notes");
        format!("#!/bin/sh\necho \"{text}: $*\" >> '{}'\necho {text} in \"$(pwd)\"\n", notes.display())
    }

    /// What programs have written down.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.served.install.dir().join("notes")).unwrap_or_default();
        notes.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// Allows a program, with a pattern of its arguments or any.
    #[track_caller]
    pub(crate) fn allow(&self, program: &str, args: Option<&str>) -> u64 {
        let mut entry = json!({"program": program});
        if let Some(args) = args {
            entry["args"] = args.into();
        }
        self.api.post("/v1/allowlist", &entry).is(201).json()["id"].as_u64().expect("a number")
    }

    /// Asks for a command in the directory of work.
    #[track_caller]
    pub(crate) fn exec(&self, command: &str) -> Answer {
        self.exec_as(&json!({"command": command}))
    }

    /// The same with more to say.
    #[track_caller]
    pub(crate) fn exec_as(&self, request: &Value) -> Answer {
        self.api.post("/v1/exec", &self.at_work(request))
    }

    /// Calls exec as our own command line does: a process in the request is the caller's own.
    #[track_caller]
    pub(crate) fn exec_from_cli(&self, request: &Value) -> Answer {
        let body = self.at_work(request).to_string();
        self.api.ask("POST", "/v1/exec", &[("tenure-cli", "1")], body.as_bytes())
    }

    fn at_work(&self, request: &Value) -> Value {
        let mut request = request.clone();
        if request["workdir"].is_null() {
            request["workdir"] = self.work().to_str().expect("UTF-8").into();
        }
        request
    }

    /// Asks for a command that runs to its end; returns its output.
    #[track_caller]
    pub(crate) fn runs(&self, command: &str) -> String {
        let reply = self.exec(command).is(200).json();
        assert_eq!(reply["status"], "completed", "{reply}");
        text(&reply["output"])
    }

    /// Asks for a command that is refused; returns why.
    #[track_caller]
    pub(crate) fn refuses(&self, command: &str) -> String {
        self.exec(command).refused(403, "denied")
    }

    /// Asks for a command that a person is asked about; returns its id.
    #[track_caller]
    pub(crate) fn asks(&self, command: &str) -> String {
        self.asks_as(&json!({"command": command}))
    }

    #[track_caller]
    pub(crate) fn asks_as(&self, request: &Value) -> String {
        let reply = self.exec_as(request).is(200).json();
        assert_eq!(reply["status"], "approval-pending", "{reply}");
        text(&reply["runId"])
    }

    /// Answers a question.
    pub(crate) fn answer(&self, id: &str, answer: &str) -> Answer {
        self.api.post(&format!("/v1/approvals/{id}/{answer}"), &json!({}))
    }

    /// Polls once.
    pub(crate) fn poll(&self, id: &str, timeout_ms: u64) -> Answer {
        self.api.post("/v1/process", &json!({"action": "poll", "runId": id, "timeoutMs": timeout_ms}))
    }

    /// Polls until it has ended; returns all of its output.
    #[track_caller]
    pub(crate) fn output(&self, id: &str) -> String {
        let mut output = String::new();
        eventually(&format!("the end of {id}"), || {
            let reply = self.poll(id, 10_000).is(200).json();
            output += reply["output"].as_str().unwrap_or_default();
            (reply["status"] == "completed").then_some(())
        });
        output
    }

    /// The questions that wait.
    #[track_caller]
    pub(crate) fn questions(&self) -> Vec<Value> {
        self.api.get("/v1/approvals").is(200).json()["approvals"].as_array().expect("a list").clone()
    }

    /// What is told under this name, the oldest first.
    #[track_caller]
    pub(crate) fn told(&self, id: &str, kind: &str) -> Vec<Value> {
        self.served.told(id, kind)
    }

    /// Starts the daemon again after a crash.
    #[track_caller]
    pub(crate) fn crash(&mut self) {
        self.served.kill();
        self.served.restart();
    }
}

/// Writes a program in one piece, so that nobody executes half of it.
pub(crate) fn write_program(path: &Path, text: &str) {
    let part = path.with_extension("part");
    std::fs::write(&part, text).expect("write");
    std::fs::set_permissions(&part, PermissionsExt::from_mode(0o755)).expect("chmod");
    std::fs::rename(&part, path).expect("rename");
}
