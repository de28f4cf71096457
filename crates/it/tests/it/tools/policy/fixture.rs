//! A daemon with an exec policy, and programs of the test that record their calls.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tenure_it::api::{Answer, Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::owned_daemon::OwnedDaemon;

/// The daemon, its programs and their records.
pub(crate) struct PolicyFixture {
    pub(crate) served: OwnedDaemon,
    pub(crate) api: Api,
}

impl PolicyFixture {
    /// A daemon with these settings, as variables of its environment.
    #[track_caller]
    pub(crate) fn with(settings: &[(&str, &str)]) -> Self {
        Self::on(Install::new(), settings)
    }

    /// [`Self::with`] on an installation.
    #[track_caller]
    pub(crate) fn on(install: Install, settings: &[(&str, &str)]) -> Self {
        std::fs::create_dir(install.dir().join("bin")).expect("mkdir");
        std::fs::create_dir(install.dir().join("work")).expect("mkdir");
        let path = format!("{}:/usr/bin:/bin", install.dir().join("bin").display());
        let mut install = install.with_env("PATH", &path);
        for (name, value) in settings {
            install = install.with_env(name, value);
        }
        let served = OwnedDaemon::start(install);
        let api = Api::Local(served.install.state().join("daemon.sock"));
        Self { served, api }
    }

    /// A daemon in mode `ask`.
    #[track_caller]
    pub(crate) fn asking() -> Self {
        Self::with(&[("TENURE_EXEC_MODE", "ask")])
    }

    /// A daemon in mode `allowlist`.
    #[track_caller]
    pub(crate) fn listing() -> Self {
        Self::with(&[("TENURE_EXEC_MODE", "allowlist")])
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.served.install.dir().join("bin")
    }

    /// The working directory of commands.
    pub(crate) fn work(&self) -> PathBuf {
        self.served.install.dir().join("work")
    }

    /// Writes a program that records its name, its arguments and its directory, and prints `text`.
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

    /// The records of the programs.
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

    /// Requests a command in the working directory.
    #[track_caller]
    pub(crate) fn exec(&self, command: &str) -> Answer {
        self.exec_as(&json!({"command": command}))
    }

    /// [`Self::exec`] with more fields.
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

    /// Requests a command that runs to its end; returns its output.
    #[track_caller]
    pub(crate) fn runs(&self, command: &str) -> String {
        let reply = self.exec(command).is(200).json();
        assert_eq!(reply["status"], "completed", "{reply}");
        text(&reply["output"])
    }

    /// Requests a command that is refused; returns the reason.
    #[track_caller]
    pub(crate) fn refuses(&self, command: &str) -> String {
        self.exec(command).refused(403, "denied")
    }

    /// Requests a command that needs an answer; returns its id.
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

    /// The pending questions.
    #[track_caller]
    pub(crate) fn questions(&self) -> Vec<Value> {
        self.api.get("/v1/approvals").is(200).json()["approvals"].as_array().expect("a list").clone()
    }

    /// The events of this kind, the oldest first.
    #[track_caller]
    pub(crate) fn events_of(&self, id: &str, kind: &str) -> Vec<Value> {
        self.served.events_of(id, kind)
    }

    /// Starts the daemon again after a crash.
    #[track_caller]
    pub(crate) fn crash(&mut self) {
        self.served.kill();
        self.served.restart();
    }
}

/// Writes a program atomically, so that it is never executed half-written.
pub(crate) fn write_program(path: &Path, text: &str) {
    let part = path.with_extension("part");
    std::fs::write(&part, text).expect("write");
    std::fs::set_permissions(&part, PermissionsExt::from_mode(0o755)).expect("chmod");
    std::fs::rename(&part, path).expect("rename");
}
