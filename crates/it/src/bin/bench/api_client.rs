//! An API client with one connection that waits for each response, at almost no cost of its own.

use serde_json::Value;
use std::io;
use std::path::Path;
use tenure_it::api::{Api, Wire};

/// A connection to a daemon.
pub(crate) struct ApiClient(Wire);

impl ApiClient {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        Api::Local(state.join("daemon.sock")).try_connect().map(Self)
    }

    /// Sends a request without reading the response.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        self.0.try_request(method, path, &[("content-type", "application/json")], body.as_bytes())
    }

    /// Waits for a response and returns its body; a refusal is an error.
    pub(crate) fn answer(&mut self) -> io::Result<Vec<u8>> {
        let answer = self.0.try_answer()?;
        match answer.head.status {
            200..300 => Ok(answer.body),
            status => Err(io::Error::other(format!("{status}: {}", answer.text()))),
        }
    }

    /// Sends a request and waits for its response.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<Vec<u8>> {
        self.ask(method, path, body)?;
        self.answer()
    }

    /// Starts a run; returns its id once its command executes.
    pub(crate) fn start(&mut self, request: &str) -> io::Result<String> {
        self.ask("POST", "/v1/runs", request)?;
        self.started()
    }

    /// The id of the run whose start was requested.
    pub(crate) fn started(&mut self) -> io::Result<String> {
        let run: Value = serde_json::from_slice(&self.answer()?)?;
        let id = run["runId"].as_str().map(str::to_owned);
        id.ok_or_else(|| io::Error::other(format!("a run without an id: {run}")))
    }

    /// Waits until a run has ended.
    pub(crate) fn wait(&mut self, run: &str) -> io::Result<()> {
        self.call("POST", &format!("/v1/runs/{run}/wait"), "{}").map(drop)
    }
}
