//! A client of the daemon's API, over its local socket. Each call opens a connection of its own, so that the next call
//! finds a daemon that was restarted meanwhile. A call waits only for as long as the daemon is alive.
#![forbid(unsafe_code)]

mod acp;
mod import;
mod liveness;
mod stream;
mod tools;

pub use acp::{FollowRequest, Update};
pub use tools::Answer;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::api::{
    BackupRequest, CancelManyRequest, CancelRequest, Event, Health, KEEPER_PROTOCOL, PASS_STDIN, Problem,
    ReapLine, ReapRequest, RunList, RunRequest, STDIN_HEADER, Selector, ShutdownRequest, StoryLine,
    WaitRequest,
};
use tenure_core::run_json::RunJson;
use tenure_core::tools::{CLI_HEADER, ClientRequest, MCP_PROTOCOL, MCP_SESSION_HEADER};
use tenure_os::file::Dir;
use tenure_os::socket::Conn;
use tenure_os::stream::Stream;
use tokio::io::{AsyncRead, AsyncWrite};

/// The socket's name in the state root.
pub const SOCKET: &str = "daemon.sock";

/// The daemon of one state root.
#[derive(Debug, Clone)]
pub struct Client {
    state: PathBuf,
}

/// Error of a call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no daemon, or it went away.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    /// The connection broke in the middle.
    #[error("the connection to the daemon broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The daemon runs and does not answer: it hangs, or was suspended.
    #[error(
        "the daemon{} does not answer: wait until its warden has replaced it, or end it with `tenure daemon stop` \
         (runs go on)", .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Silent {
        /// The daemon's pid, if its lock names one.
        pid: Option<u32>,
    },
    /// The daemon refused.
    #[error("{}", .0.detail)]
    Refused(Problem),
    /// The daemon's response cannot be parsed.
    #[error("the daemon's response is not understood: {0}")]
    NotUnderstood(String),
}

impl CallError {
    /// Returns true if the daemon went away: the caller can repeat the call with the next one.
    pub fn is_lost(&self) -> bool {
        matches!(self, CallError::Unreachable(_) | CallError::Broken(_))
    }

    /// Returns the code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            CallError::Refused(problem) => Some(&problem.code),
            CallError::Unreachable(_)
            | CallError::Broken(_)
            | CallError::Silent { .. }
            | CallError::NotUnderstood(_) => None,
        }
    }
}

/// Filter of a list of runs.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Includes runs that have ended.
    pub all: bool,
    /// Only runs in this state.
    pub state: Option<String>,
    /// Only runs of this session.
    pub session: Option<String>,
    /// Only runs of this scope.
    pub scope: Option<String>,
    /// The cursor of the page, from the previous one.
    pub after: Option<String>,
    /// Maximum number of runs.
    pub limit: Option<usize>,
}

impl Client {
    /// Creates a client for the daemon of this state root.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// Connects to the socket, however long its path is.
    pub fn connect(&self) -> io::Result<Conn> {
        Conn::connect(&Dir::open(&self.state)?, SOCKET)
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response<Incoming>, CallError> {
        self.exchange(Request::builder().method(method).uri(path), body).await
    }

    async fn exchange(&self, head: Builder, body: Vec<u8>) -> Result<Response<Incoming>, CallError> {
        self.while_alive(self.exchange_once(head, body)).await
    }

    /// Sends one request and returns its response, without probing the daemon meanwhile.
    async fn exchange_once(&self, head: Builder, body: Vec<u8>) -> Result<Response<Incoming>, CallError> {
        let stream = Stream::new(self.connect_in_turn().await?)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection.with_upgrades());
        let request = head
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| CallError::NotUnderstood(error.to_string()))?;
        let response = sender.send_request(request).await?;
        if response.status().is_success() || response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Err(CallError::Refused(
            serde_json::from_slice(&body).unwrap_or_else(|_| problem_without_body(status)),
        ))
    }

    /// Reads the whole body of a response.
    async fn read_body(&self, response: Response<Incoming>) -> Result<Bytes, CallError> {
        Ok(self.while_alive(response.into_body().collect()).await?.to_bytes())
    }

    /// Parses the JSON of a response; an empty body is `null`.
    async fn read<T: DeserializeOwned>(&self, response: Response<Incoming>) -> Result<T, CallError> {
        let body = self.read_body(response).await?;
        let text: &[u8] = if body.is_empty() { b"null" } else { &body };
        serde_json::from_slice(text).map_err(|error| CallError::NotUnderstood(error.to_string()))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        self.read(self.send(method, path, to_json(body)?).await?).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.read(self.send(Method::GET, path, Vec::new()).await?).await
    }

    /// Opens an MCP connection, with one JSON message per line. If the request names no session, the key of the new session
    /// is returned with it.
    pub async fn mcp(
        &self,
        who: &ClientRequest,
    ) -> Result<(impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Option<String>), CallError> {
        let head = Request::builder().uri("/v1/mcp").header(CLI_HEADER, "1");
        let response = self.request_upgrade(head, MCP_PROTOCOL, who).await?;
        let new_key = response.headers().get(MCP_SESSION_HEADER).and_then(|key| key.to_str().ok());
        let new_key = new_key.map(str::to_owned);
        Ok((TokioIo::new(hyper::upgrade::on(response).await?), new_key))
    }

    /// Starts a run in the foreground: the connection becomes the one to its keeper. Returns it with the bytes that came
    /// after the daemon's answer.
    pub async fn start_attached(
        &self,
        request: &RunRequest,
        passes_stdin: bool,
    ) -> Result<(Conn, Vec<u8>), CallError> {
        let head = Request::builder().uri("/v1/runs");
        let head = if passes_stdin { head.header(STDIN_HEADER, PASS_STDIN) } else { head };
        let response = self.request_upgrade(head, KEEPER_PROTOCOL, request).await?;
        let parts = hyper::upgrade::on(response).await?.downcast::<TokioIo<Stream>>();
        let parts = parts.map_err(|_| {
            CallError::NotUnderstood("the upgraded connection is not the daemon's socket".to_owned())
        })?;
        Ok((parts.io.into_inner().into_conn()?, parts.read_buf.into()))
    }

    /// Asks for another protocol on this connection.
    async fn request_upgrade(
        &self,
        head: Builder,
        protocol: &str,
        body: &impl Serialize,
    ) -> Result<Response<Incoming>, CallError> {
        let head = head.method(Method::POST).header(header::CONNECTION, "upgrade");
        let response = self.exchange(head.header(header::UPGRADE, protocol), to_json(body)?).await?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => Ok(response),
            status => {
                Err(CallError::NotUnderstood(format!("status {status} instead of a change to {protocol}")))
            }
        }
    }

    /// Returns the daemon's state.
    pub async fn health(&self) -> Result<Health, CallError> {
        self.get("/v1/health").await
    }

    /// Starts a run. Returns when the command executes, or could not be started.
    pub async fn start(&self, request: &RunRequest) -> Result<RunJson, CallError> {
        self.call(Method::POST, "/v1/runs", request).await
    }

    /// Returns a page of runs, the newest first.
    pub async fn runs(&self, filter: &Filter) -> Result<RunList, CallError> {
        let mut path = format!("/v1/runs?all={}", filter.all);
        let limit = filter.limit.map(|limit| limit.to_string());
        let parameters = [
            ("state", &filter.state),
            ("session", &filter.session),
            ("scope", &filter.scope),
            ("after", &filter.after),
            ("limit", &limit),
        ];
        for (name, value) in parameters {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(path, "&{name}={}", percent_encode(value));
            }
        }
        self.get(&path).await
    }

    /// Returns a run, by its id or a unique prefix of it.
    pub async fn run(&self, id: &str) -> Result<RunJson, CallError> {
        self.get(&run_path(id, "")?).await
    }

    /// Waits until a run has ended or the time limit has passed. Returns the run's state.
    pub async fn wait(&self, id: &str, timeout_ms: Option<u64>) -> Result<RunJson, CallError> {
        self.call(Method::POST, &run_path(id, "/wait")?, &WaitRequest { timeout_ms }).await
    }

    /// Cancels a run.
    pub async fn cancel(&self, id: &str, now: bool) -> Result<(), CallError> {
        self.call(Method::POST, &run_path(id, "/cancel")?, &CancelRequest { now }).await
    }

    /// Cancels every live run of a scope, session or agent. Returns their ids.
    pub async fn cancel_many(&self, which: Selector, now: bool) -> Result<Vec<String>, CallError> {
        self.call(Method::POST, "/v1/cancel", &CancelManyRequest { which, now }).await
    }

    /// Removes a run; a live one is cancelled and hidden at once.
    pub async fn remove(&self, id: &str) -> Result<(), CallError> {
        self.call(Method::DELETE, &run_path(id, "")?, &serde_json::json!({})).await
    }

    /// Returns the events and records of a run, in order.
    pub async fn why(&self, id: &str) -> Result<Vec<StoryLine>, CallError> {
        self.get(&run_path(id, "/why")?).await
    }

    /// Finds and cleans up orphaned runs.
    pub async fn reap(&self, request: &ReapRequest) -> Result<Vec<ReapLine>, CallError> {
        self.call(Method::POST, "/v1/reap", request).await
    }

    /// Writes a copy of the registry to a new file.
    pub async fn backup(&self, path: String) -> Result<(), CallError> {
        self.call(Method::POST, "/v1/backup", &BackupRequest { path }).await
    }

    /// Stops the daemon.
    pub async fn shutdown(&self, cancel_runs: bool) -> Result<(), CallError> {
        self.call(Method::POST, "/v1/shutdown", &ShutdownRequest { cancel_runs }).await
    }

    /// Returns the metrics in the format of Prometheus.
    pub async fn metrics(&self) -> Result<String, CallError> {
        let response = self.send(Method::GET, "/metrics", Vec::new()).await?;
        let body = self.read_body(response).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Passes each event after `since` to `take`, until that returns false or the stream ends. Updates `since` to the number
    /// of the last event, so that a caller whose connection breaks can continue from there.
    pub async fn events(
        &self,
        since: &mut Option<u64>,
        follow: bool,
        mut take: impl FnMut(Event) -> bool,
    ) -> Result<(), CallError> {
        let mut path = format!("/v1/events?follow={follow}");
        if let Some(since) = *since {
            let _ = write!(path, "&since={since}");
        }
        let body = self.send(Method::GET, &path, Vec::new()).await?.into_body();
        stream::for_each_event(self, body, |sent| {
            let event = sent.data.as_deref().map(serde_json::from_slice).transpose();
            let event = event.map_err(|error| CallError::NotUnderstood(error.to_string()))?;
            // An event without data only reports the number.
            *since = sent.id.or(*since);
            Ok(event.is_none_or(&mut take))
        })
        .await
    }
}

fn to_json(body: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(body).map_err(|error| CallError::NotUnderstood(error.to_string()))
}

fn problem_without_body(status: StatusCode) -> Problem {
    let title = status.canonical_reason().unwrap_or("Error").to_owned();
    Problem { status: status.as_u16(), code: "unnamed".to_owned(), detail: title.clone(), title }
}

/// Path of a run, or of a resource below it.
fn run_path(id: &str, below: &str) -> Result<String, CallError> {
    let missing = || not_found_error("no-such-run", "no run has the id \"\": `tenure ps --all` lists them");
    if id.is_empty() { Err(missing()) } else { Ok(format!("/v1/runs/{}{below}", percent_encode(id))) }
}

/// Error for an empty id, which would make the path of another resource.
fn not_found_error(code: &str, detail: &str) -> CallError {
    let not_found = StatusCode::NOT_FOUND;
    CallError::Refused(Problem {
        code: code.to_owned(),
        detail: detail.to_owned(),
        ..problem_without_body(not_found)
    })
}

/// Characters to percent-encode: all but RFC 3986's unreserved ones.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a text for a path or query.
fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_run_id_is_refused_without_a_request() {
        let refused = run_path("", "/wait").expect_err("an empty id");
        assert_eq!(refused.code(), Some("no-such-run"));
        assert!(refused.to_string().starts_with("no run has the id \"\""), "{refused}");
        assert_eq!(run_path("3f2", "/wait").expect("an address"), "/v1/runs/3f2/wait");
    }

    #[test]
    fn an_id_cannot_change_the_path() {
        assert_eq!(percent_encode("../../x?a=b"), "..%2F..%2Fx%3Fa%3Db");
    }
}
