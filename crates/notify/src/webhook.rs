//! One call of a webhook: its name is looked up once, every address is checked, and one that was checked is called.
//! Nothing of it goes on after it is over: the connection lives in the call.

use crate::address::permits;
use crate::answer;
use crate::channel::Webhook;
use crate::delivered::Delivered;
use crate::message::Message;
use crate::tls::{self, Authorities};
use crate::url::{Host, Scheme, Url};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::http::response::Parts;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// How many addresses of a name are tried.
const ADDRESSES: usize = 4;
/// How much of an answer's head there may be.
const HEAD_BYTES: usize = 64 << 10;
/// How much of an answer's body is read, so that its sender is not cut off.
const BODY_BYTES: usize = 64 << 10;
/// How long that may take: the answer's meaning is known by then.
const BODY_TIME: Duration = Duration::from_secs(1);
/// How much of it is kept for the reason.
const BEGIN_BYTES: usize = 1 << 10;

/// The addresses of a name, to come.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Knows the addresses of names.
pub trait Resolve: Send + Sync {
    /// All addresses of this name.
    fn resolve(&self, name: &str) -> Lookup;
}

/// The system's way to look up names.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Resolve for System {
    fn resolve(&self, name: &str) -> Lookup {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|at| at.ip()).collect()) })
    }
}

/// Calls webhooks.
pub struct Webhooks {
    names: Box<dyn Resolve>,
    authorities: Authorities,
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self::new(System, Authorities::System)
    }
}

impl Webhooks {
    /// With these to say who is who.
    pub fn new(names: impl Resolve + 'static, authorities: Authorities) -> Self {
        Self { names: Box::new(names), authorities, tls: OnceCell::new() }
    }

    /// Calls once. The time is that of the attempt, in milliseconds since 1970; receivers refuse old ones.
    pub async fn deliver(&self, webhook: &Webhook, message: &Message, now_ms: u64) -> Delivered {
        match self.call(webhook, message, now_ms).await {
            Ok(delivered) | Err(delivered) => delivered,
        }
    }

    async fn call(&self, webhook: &Webhook, message: &Message, now_ms: u64) -> Result<Delivered, Delivered> {
        let url = &webhook.url;
        url.check(webhook.allow_private).map_err(Delivered::given_up)?;
        let deadline = Deadline::of(webhook);
        let request = request(webhook, message, now_ms, &deadline).await?;
        let addresses = self.addresses(webhook, &deadline).await?;
        let stream = connect(webhook, &addresses, &deadline).await?;
        let (head, begin) = match url.scheme {
            Scheme::Http => post(stream, request, &deadline).await?,
            Scheme::Https => {
                let stream = self.secure(url, stream, &deadline).await?;
                post(stream, request, &deadline).await?
            }
        };
        Ok(answer::judge(url, &head, &String::from_utf8_lossy(&begin), now_ms))
    }

    /// The addresses that may be called. One that may not condemns them all: whoever answers so is not to be trusted.
    async fn addresses(
        &self,
        webhook: &Webhook,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SocketAddr>, Delivered> {
        let url = &webhook.url;
        let found = match &url.host {
            Host::Ip(ip) => vec![*ip],
            Host::Name(name) => deadline.within("looking up its name", self.names.resolve(name)).await?,
        };
        if found.is_empty() {
            return Err(Delivered::try_again(format!("{url}: its name has no address")));
        }
        for ip in &found {
            let refused = |why| Delivered::given_up(format!("{url} is not called: {why}"));
            permits(url.scheme, *ip, webhook.allow_private).map_err(refused)?;
        }
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, url.port)).collect())
    }

    async fn secure(
        &self,
        url: &Url,
        stream: TcpStream,
        deadline: &Deadline<'_>,
    ) -> Result<impl AsyncRead + AsyncWrite + Unpin + use<>, Delivered> {
        let config = self.tls.get_or_try_init(|| async {
            let authorities = self.authorities.clone();
            tokio::task::spawn_blocking(move || tls::config(&authorities)).await.map_err(io::Error::other)?
        });
        let config = deadline.within("reading the authorities' certificates", config).await?;
        let name = match &url.host {
            Host::Ip(ip) => ServerName::from(*ip),
            Host::Name(name) => ServerName::try_from(name.clone())
                .map_err(|error| Delivered::given_up(format!("{url}: its name is none for TLS: {error}")))?,
        };
        let secured = TlsConnector::from(Arc::clone(config)).connect(name, stream);
        deadline.within("agreeing on TLS", secured).await
    }
}

/// When a call is over, whatever it is at.
struct Deadline<'a> {
    url: &'a Url,
    limit: Duration,
    at: Instant,
}

impl<'a> Deadline<'a> {
    fn of(webhook: &'a Webhook) -> Self {
        let limit = webhook.timeout;
        Self { url: &webhook.url, limit, at: Instant::now() + limit }
    }

    /// What goes wrong here may go well another time.
    async fn within<T, E: std::error::Error>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Delivered> {
        match timeout_at(self.at, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                Err(Delivered::try_again(format!("{}: {doing} failed: {}", self.url, whole(&error))))
            }
            Err(_) => Err(self.over(doing)),
        }
    }

    fn over(&self, doing: &str) -> Delivered {
        Delivered::try_again(format!("{}: {:?} were over while {doing}", self.url, self.limit))
    }
}

/// An error with those below it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        below = error.source();
    }
    text
}

async fn request(
    webhook: &Webhook,
    message: &Message,
    now_ms: u64,
    deadline: &Deadline<'_>,
) -> Result<Request<Full<Bytes>>, Delivered> {
    let body = message.body().map_err(|error| Delivered::given_up(error.to_string()))?;
    let timestamp = now_ms / 1000;
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&webhook.url.path)
        .header(header::HOST, webhook.url.authority())
        .header(header::USER_AGENT, concat!("tenure/", env!("CARGO_PKG_VERSION")))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .header("webhook-id", &message.key)
        .header("webhook-timestamp", timestamp);
    if let Some(secret) = webhook.secret.clone() {
        let signer =
            async { tokio::task::spawn_blocking(move || secret.signer()).await.map_err(io::Error::other) };
        // Somebody can put the file right while this is tried again.
        let signer = deadline.within("reading the secret", signer).await?;
        let signer = signer.map_err(|error| Delivered::try_again(format!("{}: {error}", webhook.url)))?;
        request = request.header("webhook-signature", signer.sign(&message.key, timestamp, &body));
    }
    let unfit =
        |error: hyper::http::Error| Delivered::given_up(format!("{}: no request: {error}", webhook.url));
    request.body(Full::new(body.into())).map_err(unfit)
}

/// The first that answers. Half of the time is for this, in equal shares.
async fn connect(
    webhook: &Webhook,
    addresses: &[SocketAddr],
    deadline: &Deadline<'_>,
) -> Result<TcpStream, Delivered> {
    let count = addresses.len().min(ADDRESSES);
    let share = webhook.timeout / 2 / u32::try_from(count).unwrap_or(1);
    let mut last = deadline.over("connecting");
    for address in &addresses[..count] {
        let attempt = async { TcpStream::connect(address).await };
        last = match timeout(share, deadline.within(&format!("connecting to {address}"), attempt)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(failed)) => failed,
            Err(_) => {
                Delivered::try_again(format!("{}: connecting to {address} took over {share:?}", webhook.url))
            }
        };
    }
    Err(last)
}

/// Sends the request and reads the answer: its head, and how its body begins. What goes wrong in the body is no matter.
async fn post(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
    deadline: &Deadline<'_>,
) -> Result<(Parts, Vec<u8>), Delivered> {
    let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream));
    let (mut sender, connection) = deadline.within("beginning to speak HTTP", handshake).await?;
    let exchange = async {
        let response = deadline.within("waiting for the answer", sender.send_request(request)).await?;
        let (head, body) = response.into_parts();
        let mut begin = Vec::new();
        let until = deadline.at.min(Instant::now() + BODY_TIME);
        let _ = timeout_at(until, read_some(body, &mut begin)).await;
        Ok((head, begin))
    };
    let (mut exchange, connection) = (pin!(exchange), pin!(connection));
    tokio::select! {
        biased;
        done = &mut exchange => done,
        // What it has read is still to be taken; what went wrong with it is told there.
        _ = connection => exchange.await,
    }
}

async fn read_some(mut body: Incoming, begin: &mut Vec<u8>) {
    let mut read = 0;
    while read < BODY_BYTES {
        let Some(Ok(frame)) = body.frame().await else { return };
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        begin.extend_from_slice(&data[..data.len().min(BEGIN_BYTES - begin.len())]);
    }
}
