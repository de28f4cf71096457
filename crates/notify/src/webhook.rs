//! Calls webhooks. The name is resolved once, every address is checked, and only checked addresses are called. The
//! connection ends with the call.

use crate::address;
use crate::channel::Webhook;
use crate::delivery::Delivery;
use crate::message::Message;
use crate::response;
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

/// Maximum number of addresses of a name that are tried.
const ADDRESSES: usize = 4;
/// Maximum size of a response head.
const HEAD_BYTES: usize = 64 << 10;
/// Maximum size of a response body that is read, so that the receiver can finish writing.
const BODY_BYTES: usize = 64 << 10;
/// Maximum time for reading the body: the result is already known.
const BODY_TIME: Duration = Duration::from_secs(1);
/// Size of the body's beginning that becomes part of an error.
const BEGIN_BYTES: usize = 1 << 10;

/// Future with the addresses of a name.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names to addresses.
pub trait Resolve: Send + Sync {
    /// Returns all addresses of a name.
    fn resolve(&self, name: &str) -> Lookup;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str) -> Lookup {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|at| at.ip()).collect()) })
    }
}

/// Calls webhooks.
pub struct WebhookClient {
    resolver: Box<dyn Resolve>,
    authorities: Authorities,
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Default for WebhookClient {
    fn default() -> Self {
        Self::new(SystemResolver, Authorities::System)
    }
}

impl WebhookClient {
    /// Creates a client with this resolver and these certificate authorities.
    pub fn new(resolver: impl Resolve + 'static, authorities: Authorities) -> Self {
        Self { resolver: Box::new(resolver), authorities, tls: OnceCell::new() }
    }

    /// Sends a message once. `now_ms` is the time of the attempt; receivers refuse old ones.
    pub async fn deliver(&self, webhook: &Webhook, message: &Message, now_ms: u64) -> Delivery {
        match self.call(webhook, message, now_ms).await {
            Ok(delivery) | Err(delivery) => delivery,
        }
    }

    async fn call(&self, webhook: &Webhook, message: &Message, now_ms: u64) -> Result<Delivery, Delivery> {
        let url = &webhook.url;
        url.check(webhook.allow_private).map_err(Delivery::given_up)?;
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
        Ok(response::delivery_of(url, &head, &String::from_utf8_lossy(&begin), now_ms))
    }

    /// Resolves and checks the addresses. A single forbidden address refuses the call, because its DNS cannot be trusted.
    async fn addresses(
        &self,
        webhook: &Webhook,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SocketAddr>, Delivery> {
        let url = &webhook.url;
        let found = match &url.host {
            Host::Ip(ip) => vec![*ip],
            Host::Name(name) => deadline.within("resolving its name", self.resolver.resolve(name)).await?,
        };
        if found.is_empty() {
            return Err(Delivery::try_again(format!("{url}: the name has no address")));
        }
        for ip in &found {
            let refused = |why| Delivery::given_up(format!("{url} cannot be called: {why}"));
            address::check(url.scheme, *ip, webhook.allow_private).map_err(refused)?;
        }
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, url.port)).collect())
    }

    async fn secure(
        &self,
        url: &Url,
        stream: TcpStream,
        deadline: &Deadline<'_>,
    ) -> Result<impl AsyncRead + AsyncWrite + Unpin + use<>, Delivery> {
        let config = self.tls.get_or_try_init(|| async {
            let authorities = self.authorities.clone();
            tokio::task::spawn_blocking(move || tls::config(&authorities)).await.map_err(io::Error::other)?
        });
        let config = deadline.within("reading the authorities' certificates", config).await?;
        let name = match &url.host {
            Host::Ip(ip) => ServerName::from(*ip),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(|error| {
                Delivery::given_up(format!("{url}: the name is not valid for TLS: {error}"))
            })?,
        };
        let secured = TlsConnector::from(Arc::clone(config)).connect(name, stream);
        deadline.within("negotiating TLS", secured).await
    }
}

/// Deadline of a whole call.
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

    /// Executes a step of the call. Its errors are retried.
    async fn within<T, E: std::error::Error>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Delivery> {
        match timeout_at(self.at, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                Err(Delivery::try_again(format!("{}: {doing} failed: {}", self.url, with_sources(&error))))
            }
            Err(_) => Err(self.over(doing)),
        }
    }

    fn over(&self, doing: &str) -> Delivery {
        Delivery::try_again(format!("{}: timed out after {:?} while {doing}", self.url, self.limit))
    }
}

/// Returns the text of an error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
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
) -> Result<Request<Full<Bytes>>, Delivery> {
    let body = message.body().map_err(|error| Delivery::given_up(error.to_string()))?;
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
        // An error is retried, because the file may be corrected meanwhile.
        let signer = deadline.within("reading the secret", signer).await?;
        let signer = signer.map_err(|error| Delivery::try_again(format!("{}: {error}", webhook.url)))?;
        request = request.header("webhook-signature", signer.sign(&message.key, timestamp, &body));
    }
    let unfit = |error: hyper::http::Error| {
        Delivery::given_up(format!("{}: cannot build the request: {error}", webhook.url))
    };
    request.body(Full::new(body.into())).map_err(unfit)
}

/// Connects to the first address that accepts. The addresses share half of the time limit.
async fn connect(
    webhook: &Webhook,
    addresses: &[SocketAddr],
    deadline: &Deadline<'_>,
) -> Result<TcpStream, Delivery> {
    let count = addresses.len().min(ADDRESSES);
    let share = webhook.timeout / 2 / u32::try_from(count).unwrap_or(1);
    let mut last = deadline.over("connecting");
    for address in &addresses[..count] {
        let attempt = async { TcpStream::connect(address).await };
        last = match timeout(share, deadline.within(&format!("connecting to {address}"), attempt)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(failed)) => failed,
            Err(_) => {
                Delivery::try_again(format!("{}: connecting to {address} took over {share:?}", webhook.url))
            }
        };
    }
    Err(last)
}

/// Sends the request and reads the response's head and the beginning of its body. Errors in the body are ignored.
async fn post(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
    deadline: &Deadline<'_>,
) -> Result<(Parts, Vec<u8>), Delivery> {
    let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream));
    let (mut sender, connection) = deadline.within("starting HTTP", handshake).await?;
    let exchange = async {
        let response = deadline.within("waiting for the response", sender.send_request(request)).await?;
        let (head, body) = response.into_parts();
        let mut begin = Vec::new();
        let until = deadline.at.min(Instant::now() + BODY_TIME);
        let _ = timeout_at(until, read_body(body, &mut begin)).await;
        Ok((head, begin))
    };
    let (mut exchange, connection) = (pin!(exchange), pin!(connection));
    tokio::select! {
        biased;
        done = &mut exchange => done,
        // The response may be read already; the exchange reports the connection's error.
        _ = connection => exchange.await,
    }
}

async fn read_body(mut body: Incoming, begin: &mut Vec<u8>) {
    let mut read = 0;
    while read < BODY_BYTES {
        let Some(Ok(frame)) = body.frame().await else { return };
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        begin.extend_from_slice(&data[..data.len().min(BEGIN_BYTES - begin.len())]);
    }
}
