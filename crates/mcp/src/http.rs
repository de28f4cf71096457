//! Many clients over streamable HTTP. Each session that `initialize` begins has tools of its own, until it is
//! deleted or unused for long. From 2026-07-28 on the protocol has no sessions: such clients share one set of
//! tools.

use crate::Tools;
use crate::outflow::Outflow;
use crate::receipts::Receipts;
use crate::server::{Bond, Server};
use hyper::body::Body;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use shared::Shared;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

mod receipt_body;
mod sessions;
mod shared;

pub use receipt_body::Receipted;

/// Maximum length of a request: a command line and an environment.
const LONGEST: usize = 4 << 20;

/// The web pages that may connect.
const ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// Makes a service for `/mcp`. `own` makes the tools of a new session, `shared` those of all clients without one. A
/// session that is unused for `idle` is ended, and there are at most `most`. Streams end when `leaving` is
/// cancelled. A request's extensions have the [`Outflow`] of its connection.
pub fn service<T: Tools>(
    own: impl Fn() -> io::Result<T> + Send + Sync + 'static,
    shared: impl Fn() -> io::Result<T> + Send + Sync + 'static,
    (idle, most): (Duration, usize),
    leaving: CancellationToken,
) -> Service<T> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(ORIGINS)
        .with_max_request_body_bytes(LONGEST)
        .with_cancellation_token(leaving);
    let of_session = move || Ok(Server::new(own()?, Bond::Session));
    let sessions =
        StreamableHttpService::new(of_session, Arc::new(Sessions::new(idle, most)), config.clone());
    let shared = Shared::new(shared, idle);
    let of_all = Arc::clone(&shared);
    let of_request = move || of_all.get().map(|(tools, mark)| Server::new(tools, Bond::Request { mark }));
    let config = config.with_legacy_session_mode(false);
    let stateless = StreamableHttpService::new(of_request, Arc::default(), config);
    Service { sessions, stateless, shared }
}

/// Streamable HTTP, as a tower service.
pub struct Service<T> {
    sessions: StreamableHttpService<Server<T>, Sessions>,
    stateless: StreamableHttpService<Server<T>, NeverSessionManager>,
    shared: Arc<Shared<T>>,
}

impl<T: Tools> Service<T> {
    /// Creates the shared tools, as if a client without a session had just used them.
    pub fn begin_shared(&self) -> io::Result<()> {
        self.shared.get().map(drop)
    }
}

impl<T> Clone for Service<T> {
    fn clone(&self) -> Self {
        let (sessions, stateless) = (self.sessions.clone(), self.stateless.clone());
        Self { sessions, stateless, shared: Arc::clone(&self.shared) }
    }
}

/// Returns true for a request of a version without sessions, in which every request has this header.
fn is_stateless(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

impl<T, B> tower::Service<Request<B>> for Service<T>
where
    T: Tools,
    B: Body + Send + 'static,
    B::Error: Display,
    B::Data: Send + 'static,
{
    type Response = Response<Receipted>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let service = self.clone();
        let stateless = is_stateless(request.headers());
        let receipts = Receipts::default();
        request.extensions_mut().insert(receipts.clone());
        let outflow = request.extensions().get::<Outflow>().cloned();
        let ends = request.method() == Method::DELETE;
        Box::pin(async move {
            let mut response = if stateless {
                service.stateless.handle(request).await
            } else {
                service.sessions.handle(request).await
            };
            if ends && response.status() == StatusCode::ACCEPTED {
                // The session has ended; clients take an "accepted" for a failure.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Ok(response.map(|inner| Receipted::new(inner, receipts, outflow)))
        })
    }
}
