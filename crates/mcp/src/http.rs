//! Many clients over streamable HTTP. Each session that `initialize` begins has tools of its own, until it is deleted
//! or nobody has used it for long.

use crate::Tools;
use crate::outflow::Outflow;
use crate::receipts::Receipts;
use crate::server::{Bond, Server};
use hyper::body::Body;
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

mod receipted;
mod sessions;

pub use receipted::Receipted;

/// The longest request: a command line and an environment.
const LONGEST: usize = 4 << 20;

/// The pages that may speak to us, if one does.
const ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// A service for `/mcp`. `tools` makes the tools of a new session. A session that was not used for `idle` is ended, and
/// there are at most `most` of them. Streams
/// end when `leaving` is cancelled. A request's extensions have the [`Outflow`] of its connection.
pub fn service<T: Tools>(
    tools: impl Fn() -> io::Result<T> + Send + Sync + 'static,
    (idle, most): (Duration, usize),
    leaving: CancellationToken,
) -> Service<T> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(ORIGINS)
        .with_max_request_body_bytes(LONGEST)
        .with_cancellation_token(leaving);
    let factory = move || Ok(Server::new(tools()?, Bond::Session));
    Service { inner: StreamableHttpService::new(factory, Arc::new(Sessions::new(idle, most)), config) }
}

/// Streamable HTTP, as a tower service.
pub struct Service<T> {
    inner: StreamableHttpService<Server<T>, Sessions>,
}

impl<T> Clone for Service<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
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
        let service = self.inner.clone();
        let receipts = Receipts::default();
        request.extensions_mut().insert(receipts.clone());
        let outflow = request.extensions().get::<Outflow>().cloned();
        let ends = request.method() == Method::DELETE;
        Box::pin(async move {
            let mut response = service.handle(request).await;
            if ends && response.status() == StatusCode::ACCEPTED {
                // The session has ended; clients take an "accepted" for a failure.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Ok(response.map(|inner| Receipted::new(inner, receipts, outflow)))
        })
    }
}
