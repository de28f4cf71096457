//! Many clients over streamable HTTP. Each session that `initialize` begins has tools of its own, until it is deleted
//! or nobody has used it for long.

use crate::Tools;
use crate::receipts::Receipts;
use crate::server::{Bond, Server};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Request, Response};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

mod sessions;

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

/// A service for `/mcp`. `tools` makes the tools of a new session; one that was not used for `idle` is ended. Streams
/// end when `leaving` is cancelled.
pub fn service<T: Tools>(
    tools: impl Fn() -> io::Result<T> + Send + Sync + 'static,
    idle: Duration,
    leaving: CancellationToken,
) -> Service<T> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(ORIGINS)
        .with_max_request_body_bytes(LONGEST)
        .with_cancellation_token(leaving);
    let factory = move || Ok(Server::new(tools()?, Bond::Session));
    Service { inner: StreamableHttpService::new(factory, Arc::new(Sessions::new(idle)), config) }
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
        Box::pin(async move {
            let response = service.handle(request).await;
            Ok(response.map(|inner| Receipted { inner, receipts }))
        })
    }
}

/// A response's body. The reply in it counts as written when all of it was taken.
#[derive(Debug)]
pub struct Receipted {
    inner: BoxBody<Bytes, Infallible>,
    receipts: Receipts,
}

impl Body for Receipted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if frame.is_none() || self.inner.is_end_stream() {
            self.receipts.all_done();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
