//! A receiver of webhooks on loopback, honest or not.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// Behaviour of a receiver.
#[derive(Clone)]
pub(crate) enum Does {
    /// Answers, in full, with this status and headers.
    Answers(u16, Vec<(&'static str, String)>, &'static str),
    /// Reads the request, and says this and no more, without an end.
    Says(&'static str),
    /// Reads the request, says this, and closes.
    SaysAndCloses(&'static str),
    /// Reads the request, says this, and then the same over and over.
    Repeats(&'static str, Vec<u8>),
    /// Does not even read.
    Ignores,
}

/// Messages from a receiver to its test.
#[derive(Clone)]
struct Tell {
    calls: mpsc::UnboundedSender<Call>,
    sent: mpsc::UnboundedSender<usize>,
}

/// A received call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Receiver {
    pub(crate) port: u16,
    calls: mpsc::UnboundedReceiver<Call>,
    connections: mpsc::UnboundedReceiver<()>,
    sent: mpsc::UnboundedReceiver<usize>,
}

impl Receiver {
    pub(crate) async fn that(does: Does) -> Self {
        Self::over(does, None).await
    }

    pub(crate) async fn over(does: Does, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell_calls, calls) = mpsc::unbounded_channel();
        let (tell_sent, sent) = mpsc::unbounded_channel();
        let tell = Tell { calls: tell_calls, sent: tell_sent };
        let (count, connections) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = count.send(());
                let (does, tell, tls) = (does.clone(), tell.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, does, tell).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, does, tell).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, calls, connections, sent }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?a=b", self.port)
    }

    /// Returns the received call.
    pub(crate) fn call(&mut self) -> Call {
        self.calls.try_recv().expect("somebody called")
    }

    /// Returns the number of bytes that were sent repeatedly before the caller disconnected.
    pub(crate) async fn sent(&mut self) -> usize {
        self.sent.recv().await.expect("something was repeated")
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&mut self) -> usize {
        std::iter::from_fn(|| self.connections.try_recv().ok()).count()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, does: Does, tell: Tell) {
    match does {
        Does::Answers(status, headers, text) => honest(stream, (status, headers, text), tell).await,
        Does::Says(text) => {
            read_request(&mut stream).await;
            stream.write_all(text.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            wait_for_the_end(&mut stream).await;
        }
        Does::SaysAndCloses(text) => {
            read_request(&mut stream).await;
            stream.write_all(text.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
        }
        Does::Repeats(head, again) => {
            read_request(&mut stream).await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut sent = 0;
            while stream.write_all(&again).await.is_ok() {
                sent += again.len();
            }
            let _ = tell.sent.send(sent);
        }
        Does::Ignores => std::future::pending().await,
    }
}

async fn honest(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: (u16, Vec<(&'static str, String)>, &'static str),
    tell: Tell,
) {
    let (answer, tell) = (Arc::new(answer), &tell);
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = Arc::clone(&answer);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let path = format!("{} {}", head.method, head.uri);
            let _ = tell.calls.send(Call { path, headers: head.headers, body });
            let (status, headers, text) = &*answer;
            let response = Response::builder().status(*status);
            let response =
                headers.iter().fold(response, |response, (name, value)| response.header(*name, value));
            Ok::<_, Infallible>(response.body(Full::new(Bytes::from_static(text.as_bytes()))).unwrap())
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Reads up to the end of the notice's JSON.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"}") {
        assert!(stream.read_buf(&mut seen).await.unwrap() > 0, "the request has no end");
    }
}

async fn wait_for_the_end(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}
