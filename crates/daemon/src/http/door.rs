//! The sockets: who may come in, and what is known of them before they say a word.

use super::guard::Token;
use super::router;
use crate::daemon::{Daemon, Phase, until};
use crate::refusal::Refusal;
use crate::requester::Requester;
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_mcp::Watched;
use tenure_os::socket::Listener;
use tenure_os::stream::{Door, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;

/// The socket's name in the state root.
pub(crate) const SOCKET: &str = "daemon.sock";
/// How long a client may take to say what it wants.
const HEAD: Duration = Duration::from_secs(15);
/// How many may be connected on the loopback address at once.
const MOST_LOOPBACK: usize = 256;
/// How long nobody is let in after that failed: no descriptor to spare, most likely.
const SHUT: Duration = Duration::from_millis(100);

/// What clients connect to.
pub(crate) struct Doors {
    local: Door,
    loopback: Option<(TcpListener, Token)>,
}

/// Opens the sockets.
pub(crate) fn open(daemon: &Daemon) -> io::Result<Doors> {
    let dir = daemon.state.dir();
    // We hold the lock, so whoever left it is gone.
    dir.remove(SOCKET)?;
    let local = Door::new(Listener::bind(dir, SOCKET)?)?;
    let loopback = match daemon.settings.api.listen {
        Some(address) => {
            let listener = std::net::TcpListener::bind(address)
                .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
            listener.set_nonblocking(true)?;
            Some((TcpListener::from_std(listener)?, Token::open(&daemon.settings.api_token())?))
        }
        None => None,
    };
    Ok(Doors { local, loopback })
}

/// The connections that are open.
pub(crate) struct Connections {
    /// As long as this is there, there may be more.
    open: Open,
    /// Nothing is ever said: it ends when the last connection has.
    last: mpsc::Receiver<Infallible>,
}

/// Held by every connection while it is open.
type Open = mpsc::Sender<Infallible>;

impl Connections {
    /// Waits until every answer was given, for a while.
    pub(crate) async fn finish(mut self, patience: Duration) {
        drop(self.open);
        // Whoever takes longer is cut off, and finds its answer in the records.
        let _ = tokio::time::timeout(patience, self.last.recv()).await;
    }
}

/// Lets clients in until the daemon leaves.
pub(crate) fn serve(daemon: Arc<Daemon>, doors: Doors) -> Connections {
    let (open, last) = mpsc::channel(1);
    let router = router(&daemon);
    if let Some((listener, token)) = doors.loopback {
        let open = open.downgrade();
        tokio::spawn(serve_loopback(Arc::clone(&daemon), listener, token, router.clone(), open));
    }
    tokio::spawn(serve_local(daemon, doors.local, router, open.downgrade()));
    Connections { open, last }
}

async fn serve_local(daemon: Arc<Daemon>, door: Door, router: Router, open: mpsc::WeakSender<Infallible>) {
    let mut phase = daemon.phase.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = door.accept() => accepted,
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        };
        let Ok(stream) = accepted else {
            tokio::time::sleep(SHUT).await;
            continue;
        };
        let visitor = visitor(&daemon, &stream);
        let router = router.clone();
        let answer = move |mut request: Request<Incoming>| {
            let (visitor, router) = (visitor.clone(), router.clone());
            async move {
                match visitor {
                    Ok(who) => {
                        request.extensions_mut().insert(who);
                        request.extensions_mut().insert(Local);
                        answer(router, request).await
                    }
                    Err(refusal) => refusal.into_response(),
                }
            }
        };
        tokio::spawn(converse(Arc::clone(&daemon), stream, answer, open.upgrade()));
    }
}

/// A request came over the local socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local;

/// Who is at the other end: this user, the superuser, or nobody that we serve.
fn visitor(daemon: &Daemon, stream: &Stream) -> Result<Requester, Refusal> {
    let peer = stream.peer().map_err(Refusal::internal)?;
    if peer.is_foreign() {
        return Err(Refusal::forbidden(format!("user {} is not this daemon's user", peer.user())));
    }
    Ok(daemon.requester(&peer))
}

async fn serve_loopback(
    daemon: Arc<Daemon>,
    listener: TcpListener,
    token: Token,
    router: Router,
    open: mpsc::WeakSender<Infallible>,
) {
    let mut phase = daemon.phase.subscribe();
    let places = Arc::new(Semaphore::new(MOST_LOOPBACK));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
        };
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(SHUT).await;
            continue;
        };
        // Anybody at this machine may knock.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (router, token) = (router.clone(), token.clone());
        let who = Requester::Operator { about: format!("{address} with the token") };
        let answer = move |mut request: Request<Incoming>| {
            let (who, router, token) = (who.clone(), router.clone(), token.clone());
            async move {
                if let Err(refusal) = token.check(request.uri(), request.headers()) {
                    return refusal.into_response();
                }
                request.extensions_mut().insert(who);
                answer(router, request).await
            }
        };
        let conversation = converse(Arc::clone(&daemon), stream, answer, open.upgrade());
        tokio::spawn(async move {
            conversation.await;
            drop(place);
        });
    }
}

async fn answer(router: Router, request: Request<Incoming>) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// One connection, until it ends or the daemon leaves.
async fn converse<S, A, F>(daemon: Arc<Daemon>, stream: S, answer: A, open: Option<Open>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Fn(Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Response> + Send,
{
    let (stream, outflow) = Watched::new(stream);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(outflow.clone());
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut phase = daemon.phase.subscribe();
    tokio::select! {
        _ = connection.as_mut() => {}
        () = until(&mut phase, |phase| *phase != Phase::Serving) => {
            connection.as_mut().graceful_shutdown();
            // A client that has gone has no more to hear.
            let _ = connection.await;
        }
    }
    drop(open);
}
