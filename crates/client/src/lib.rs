//! A client of the daemon's API, over its local socket. Each call is one connection, so that a daemon that was
//! restarted meanwhile is found by the next. A call waits only for as long as the daemon is alive.
#![forbid(unsafe_code)]

mod acp;
mod import;
mod liveness;
mod stream;
mod tools;

pub use acp::{Followed, Update};
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

/// A call that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
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
    /// The daemon answered something else.
    #[error("the daemon's answer is not understood: {0}")]
    NotUnderstood(String),
}

impl Failed {
    /// Whether the daemon went away, so that the call may be made again to the next.
    pub fn is_lost(&self) -> bool {
        matches!(self, Failed::Unreachable(_) | Failed::Broken(_))
    }

    /// The refusal's frozen word.
    pub fn code(&self) -> Option<&str> {
        match self {
            Failed::Refused(problem) => Some(&problem.code),
            Failed::Unreachable(_) | Failed::Broken(_) | Failed::Silent { .. } | Failed::NotUnderstood(_) => {
                None
            }
        }
    }
}

/// What a list of runs is narrowed by.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Also those that have ended.
    pub all: bool,
    /// Only those in this state.
    pub state: Option<String>,
    /// Only this session's.
    pub session: Option<String>,
    /// Only this scope's.
    pub scope: Option<String>,
    /// Where the page begins.
    pub after: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
}

impl Client {
    /// A client of the daemon of this state root.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// Connects to the socket, however long its path is.
    pub fn connect(&self) -> io::Result<Conn> {
        Conn::connect(&Dir::open(&self.state)?, SOCKET)
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response<Incoming>, Failed> {
        self.exchange(Request::builder().method(method).uri(path), body).await
    }

    async fn exchange(&self, head: Builder, body: Vec<u8>) -> Result<Response<Incoming>, Failed> {
        self.while_alive(self.exchange_once(head, body)).await
    }

    /// Sends one request and returns its response, without probing the daemon meanwhile.
    async fn exchange_once(&self, head: Builder, body: Vec<u8>) -> Result<Response<Incoming>, Failed> {
        let stream = Stream::new(self.connect_in_turn().await?)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection.with_upgrades());
        let request = head
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| Failed::NotUnderstood(error.to_string()))?;
        let response = sender.send_request(request).await?;
        if response.status().is_success() || response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Err(Failed::Refused(serde_json::from_slice(&body).unwrap_or_else(|_| unnamed(status))))
    }

    /// Reads the whole body of a response.
    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, Failed> {
        Ok(self.while_alive(response.into_body().collect()).await?.to_bytes())
    }

    /// Parses the JSON of a response; an empty body is `null`.
    async fn read<T: DeserializeOwned>(&self, response: Response<Incoming>) -> Result<T, Failed> {
        let body = self.whole(response).await?;
        let text: &[u8] = if body.is_empty() { b"null" } else { &body };
        serde_json::from_slice(text).map_err(|error| Failed::NotUnderstood(error.to_string()))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        self.read(self.send(method, path, to_json(body)?).await?).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        self.read(self.send(Method::GET, path, Vec::new()).await?).await
    }

    /// Becomes an MCP client: JSON, a message a line, until one of both goes. If it named no session, the one that was
    /// made comes with it.
    pub async fn mcp(
        &self,
        who: &ClientRequest,
    ) -> Result<(impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Option<String>), Failed> {
        let head = Request::builder().uri("/v1/mcp").header(CLI_HEADER, "1");
        let response = self.upgraded(head, MCP_PROTOCOL, who).await?;
        let made = response.headers().get(MCP_SESSION_HEADER).and_then(|key| key.to_str().ok());
        let made = made.map(str::to_owned);
        Ok((TokioIo::new(hyper::upgrade::on(response).await?), made))
    }

    /// Starts a run in the foreground: the connection becomes the one to its keeper. Returns it with the bytes that came
    /// after the daemon's answer.
    pub async fn start_attached(
        &self,
        request: &RunRequest,
        passes_stdin: bool,
    ) -> Result<(Conn, Vec<u8>), Failed> {
        let head = Request::builder().uri("/v1/runs");
        let head = if passes_stdin { head.header(STDIN_HEADER, PASS_STDIN) } else { head };
        let response = self.upgraded(head, KEEPER_PROTOCOL, request).await?;
        let parts = hyper::upgrade::on(response).await?.downcast::<TokioIo<Stream>>();
        let parts = parts.map_err(|_| Failed::NotUnderstood("it is no socket's".to_owned()))?;
        Ok((parts.io.into_inner().into_conn()?, parts.read_buf.into()))
    }

    /// Asks for another protocol on this connection.
    async fn upgraded(
        &self,
        head: Builder,
        protocol: &str,
        body: &impl Serialize,
    ) -> Result<Response<Incoming>, Failed> {
        let head = head.method(Method::POST).header(header::CONNECTION, "upgrade");
        let response = self.exchange(head.header(header::UPGRADE, protocol), to_json(body)?).await?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => Ok(response),
            status => Err(Failed::NotUnderstood(format!("{status} to a change to {protocol}"))),
        }
    }

    /// How the daemon is.
    pub async fn health(&self) -> Result<Health, Failed> {
        self.get("/v1/health").await
    }

    /// Starts a run; answers when its command executes, or could not be.
    pub async fn start(&self, request: &RunRequest) -> Result<RunJson, Failed> {
        self.call(Method::POST, "/v1/runs", request).await
    }

    /// A page of runs, the newest first.
    pub async fn runs(&self, filter: &Filter) -> Result<RunList, Failed> {
        let mut path = format!("/v1/runs?all={}", filter.all);
        let limit = filter.limit.map(|limit| limit.to_string());
        let asked = [
            ("state", &filter.state),
            ("session", &filter.session),
            ("scope", &filter.scope),
            ("after", &filter.after),
            ("limit", &limit),
        ];
        for (name, value) in asked {
            if let Some(value) = value {
                // A String takes everything.
                let _ = write!(path, "&{name}={}", escaped(value));
            }
        }
        self.get(&path).await
    }

    /// One run, by a unique beginning of its id.
    pub async fn run(&self, id: &str) -> Result<RunJson, Failed> {
        self.get(&of_run(id, "")?).await
    }

    /// Waits for a run's end; answers with the run as it is then, or when the time is up.
    pub async fn wait(&self, id: &str, timeout_ms: Option<u64>) -> Result<RunJson, Failed> {
        self.call(Method::POST, &of_run(id, "/wait")?, &WaitRequest { timeout_ms }).await
    }

    /// Asks for the end of a run.
    pub async fn cancel(&self, id: &str, now: bool) -> Result<(), Failed> {
        self.call(Method::POST, &of_run(id, "/cancel")?, &CancelRequest { now }).await
    }

    /// Asks for the end of every live run of a scope, session or agent; answers with their ids.
    pub async fn cancel_many(&self, which: Selector, now: bool) -> Result<Vec<String>, Failed> {
        self.call(Method::POST, "/v1/cancel", &CancelManyRequest { which, now }).await
    }

    /// Removes a run; a live one is cancelled and hidden at once.
    pub async fn remove(&self, id: &str) -> Result<(), Failed> {
        self.call(Method::DELETE, &of_run(id, "")?, &serde_json::json!({})).await
    }

    /// A run's whole story, in order.
    pub async fn why(&self, id: &str) -> Result<Vec<StoryLine>, Failed> {
        self.get(&of_run(id, "/why")?).await
    }

    /// Looks at recorded runs that nobody holds, and does what their evidence asks for.
    pub async fn reap(&self, request: &ReapRequest) -> Result<Vec<ReapLine>, Failed> {
        self.call(Method::POST, "/v1/reap", request).await
    }

    /// Writes a copy of the registry to a new file.
    pub async fn backup(&self, path: String) -> Result<(), Failed> {
        self.call(Method::POST, "/v1/backup", &BackupRequest { path }).await
    }

    /// Makes the daemon leave.
    pub async fn shutdown(&self, cancel_runs: bool) -> Result<(), Failed> {
        self.call(Method::POST, "/v1/shutdown", &ShutdownRequest { cancel_runs }).await
    }

    /// The metrics, as Prometheus reads them.
    pub async fn metrics(&self) -> Result<String, Failed> {
        let response = self.send(Method::GET, "/metrics", Vec::new()).await?;
        let body = self.whole(response).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Events after this one; each is given to `take` as it comes, until that says no. `since` becomes the last one's
    /// number, or that of the newest there was: whoever is cut off goes on from there.
    pub async fn events(
        &self,
        since: &mut Option<u64>,
        follow: bool,
        mut take: impl FnMut(Event) -> bool,
    ) -> Result<(), Failed> {
        let mut path = format!("/v1/events?follow={follow}");
        if let Some(since) = *since {
            let _ = write!(path, "&since={since}");
        }
        let body = self.send(Method::GET, &path, Vec::new()).await?.into_body();
        stream::each(self, body, |sent| {
            let event = sent.data.as_deref().map(serde_json::from_slice).transpose();
            let event = event.map_err(|error| Failed::NotUnderstood(error.to_string()))?;
            // An event without data only says where we are.
            *since = sent.id.or(*since);
            Ok(event.is_none_or(&mut take))
        })
        .await
    }
}

fn to_json(body: &impl Serialize) -> Result<Vec<u8>, Failed> {
    serde_json::to_vec(body).map_err(|error| Failed::NotUnderstood(error.to_string()))
}

fn unnamed(status: StatusCode) -> Problem {
    let title = status.canonical_reason().unwrap_or("Error").to_owned();
    Problem { status: status.as_u16(), code: "unnamed".to_owned(), detail: title.clone(), title }
}

/// The address of a run, or of something below it.
fn of_run(id: &str, below: &str) -> Result<String, Failed> {
    let missing = || no_such("no-such-run", "no run has the id \"\": `tenure ps --all` lists them");
    if id.is_empty() { Err(missing()) } else { Ok(format!("/v1/runs/{}{below}", escaped(id))) }
}

/// The refusal of an empty id, which would be the address of something else.
fn no_such(code: &str, detail: &str) -> Failed {
    let not_found = StatusCode::NOT_FOUND;
    Failed::Refused(Problem { code: code.to_owned(), detail: detail.to_owned(), ..unnamed(not_found) })
}

/// The characters that an address cannot hold as they are: all but RFC 3986's unreserved ones.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as a part of an address.
fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_id_is_no_run() {
        let refused = of_run("", "/wait").expect_err("no run has it");
        assert_eq!(refused.code(), Some("no-such-run"));
        assert!(refused.to_string().starts_with("no run has the id \"\""), "{refused}");
        assert_eq!(of_run("3f2", "/wait").expect("an address"), "/v1/runs/3f2/wait");
    }

    #[test]
    fn an_id_never_becomes_another_address() {
        assert_eq!(escaped("../../x?a=b"), "..%2F..%2Fx%3Fa%3Db");
    }
}
