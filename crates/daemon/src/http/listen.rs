//! The sockets: accepts connections, limits their number, and identifies the client of each.

use super::extractors::Rejection;
use super::lingering_close::{LingeringStream, RequestBody};
use super::loopback::Loopback;
use super::router;
use crate::daemon::Daemon;
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use hyper::Method;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::defaults;
use tenure_mcp::Watched;
use tenure_os::file::{Dir, FileId};
use tenure_os::socket::Listener;
use tenure_os::stream::{Door, Stream};
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::sync::until;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore, mpsc};
use tower::ServiceExt;

/// The socket's name in the state root.
pub(crate) const SOCKET: &str = "daemon.sock";
/// The only path for clients without rights.
const HEALTH: &str = "/v1/health";
/// Maximum time for a client to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause after a failed accept, most likely for lack of file descriptors.
pub(super) const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The daemon's listening sockets.
pub(crate) struct Listeners {
    local: LocalSocket,
    loopback: Option<Loopback>,
}

/// The local socket, and the file by which clients find it.
struct LocalSocket {
    listener: Door,
    file: Option<FileId>,
    /// True if a failed bind was already logged.
    error_logged: bool,
}

impl LocalSocket {
    fn bind(dir: &Dir) -> io::Result<Self> {
        // We hold the lock, so the daemon that left the socket is gone.
        dir.remove(SOCKET)?;
        let listener = Door::new(Listener::bind(dir, SOCKET)?)?;
        Ok(Self { listener, file: FileId::within(dir, SOCKET)?, error_logged: false })
    }

    /// Binds the socket again if its file was removed or replaced, for example by a cleaner of temporary files.
    /// Existing connections stay.
    fn rebind_if_removed(&mut self, daemon: &Daemon) {
        let dir = daemon.supervisor.state.dir();
        if FileId::within(dir, SOCKET).is_ok_and(|now| now == self.file && now.is_some()) {
            return;
        }
        match Self::bind(dir) {
            Ok(bound) => {
                tracing::warn!("{SOCKET} was removed or replaced: bound it again");
                *self = bound;
            }
            Err(error) if !self.error_logged => {
                tracing::error!(%error, "{SOCKET} was removed or replaced, and cannot be bound again");
                self.error_logged = true;
            }
            Err(_) => {}
        }
    }
}

/// Opens the sockets.
pub(crate) fn open(daemon: &Daemon) -> io::Result<Listeners> {
    let local = LocalSocket::bind(daemon.supervisor.state.dir())?;
    let loopback = match daemon.supervisor.settings.api.listen {
        Some(address) => Some(Loopback::open(daemon, address)?),
        None => None,
    };
    Ok(Listeners { local, loopback })
}

/// The connections that are open.
pub(crate) struct Connections {
    /// Keeps the channel open while the daemon accepts connections.
    guard: ConnectionGuard,
    /// Never receives a message: it closes with the last connection.
    last: mpsc::Receiver<Infallible>,
}

/// Held by every open connection.
pub(super) type ConnectionGuard = mpsc::Sender<Infallible>;

impl Connections {
    /// Waits until every response was sent, at most this long.
    pub(crate) async fn finish(mut self, limit: Duration) {
        drop(self.guard);
        // A slower client is disconnected. It finds the result in the records.
        let _ = tokio::time::timeout(limit, self.last.recv()).await;
    }
}

/// Accepts clients until the daemon exits.
pub(crate) fn serve(daemon: Arc<Daemon>, listeners: Listeners) -> Connections {
    let (guard, last) = mpsc::channel(1);
    let router = router(&daemon);
    if let Some(loopback) = listeners.loopback {
        tokio::spawn(loopback.serve(Arc::clone(&daemon), router.clone(), guard.downgrade()));
    }
    tokio::spawn(serve_local(daemon, listeners.local, router, guard.downgrade()));
    Connections { guard, last }
}

async fn serve_local(
    daemon: Arc<Daemon>,
    local: LocalSocket,
    router: Router,
    guard: mpsc::WeakSender<Infallible>,
) {
    let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
    let mut local = local;
    let mut rebind_check = tokio::time::interval(daemon.supervisor.settings.lease.heartbeat);
    let permits = Arc::new(Semaphore::new(defaults::CONNECTIONS));
    let spare = Arc::new(Semaphore::new(defaults::SPARE_CONNECTIONS));
    loop {
        // Clients without a permit wait in the backlog.
        let (permit, is_spare) = tokio::select! {
            biased;
            Ok(permit) = Arc::clone(&permits).acquire_owned() => (permit, false),
            Ok(permit) = Arc::clone(&spare).acquire_owned() => (permit, true),
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        };
        let accepted = tokio::select! {
            accepted = local.listener.accept() => accepted,
            _ = rebind_check.tick() => {
                local.rebind_if_removed(&daemon);
                continue;
            }
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        };
        let Ok(stream) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
            continue;
        };
        let client = identify(&daemon, &stream);
        let router = router.clone();
        let answer = move |mut request: Request<RequestBody>| {
            let (client, router) = (client.clone(), router.clone());
            async move {
                match client {
                    LocalClient::Identified(_) if is_spare && !is_for_operators(&request) => {
                        Rejection(too_many_connections()).into_response()
                    }
                    LocalClient::Identified(who) => {
                        request.extensions_mut().insert(who);
                        request.extensions_mut().insert(Local);
                        answer(router, request).await
                    }
                    LocalClient::Unidentified(_) if request.uri().path() == HEALTH => {
                        answer(router, request).await
                    }
                    LocalClient::Unidentified(refusal) | LocalClient::Foreign(refusal) => {
                        Rejection(refusal).into_response()
                    }
                }
            }
        };
        let connection = serve_connection(Arc::clone(&daemon), stream, answer, guard.upgrade());
        tokio::spawn(async move {
            connection.await;
            drop(permit);
        });
    }
}

/// Refuses a client that only a spare connection is left for.
pub(crate) fn too_many_connections() -> Refusal {
    let most = defaults::CONNECTIONS;
    Refusal::too_many_connections(format!("{most} clients are connected: close some of them"))
}

/// Returns true for requests that are answered even at the connection limit: health, shutdown, cancel and removal.
fn is_for_operators(request: &Request<RequestBody>) -> bool {
    let path = request.uri().path();
    request.method() == Method::DELETE
        || ["/v1/health", "/v1/shutdown"].contains(&path)
        || path.ends_with("/cancel")
        || (request.method() == Method::GET
            && path.strip_prefix("/v1/runs/").is_some_and(|id| !id.contains('/')))
}

/// A request came over the local socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Local;

/// The client of a local connection.
#[derive(Clone)]
enum LocalClient {
    /// A client with rights.
    Identified(Requester),
    /// A client of this user without rights: it may only ask for the daemon's health.
    Unidentified(Refusal),
    /// A client of another user.
    Foreign(Refusal),
}

fn identify(daemon: &Daemon, stream: &Stream) -> LocalClient {
    let peer = match stream.peer() {
        Ok(peer) => peer,
        Err(error) => return LocalClient::Foreign(Refusal::internal(error)),
    };
    if peer.is_foreign() {
        let why = format!("user {} is not this daemon's user", peer.user());
        return LocalClient::Foreign(Refusal::forbidden(why));
    }
    daemon.supervisor.requester(&peer).map_or_else(LocalClient::Unidentified, LocalClient::Identified)
}

pub(super) async fn answer(router: Router, request: Request<RequestBody>) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Serves one connection until it closes or the daemon exits.
pub(super) async fn serve_connection<S, A, F>(
    daemon: Arc<Daemon>,
    stream: S,
    answer: A,
    guard: Option<ConnectionGuard>,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Fn(Request<RequestBody>) -> F + Send + 'static,
    F: Future<Output = Response> + Send,
{
    let (stream, unread) = LingeringStream::new(stream);
    let (stream, outflow) = Watched::new(stream);
    let was_asked = Arc::new(Notify::new());
    let on_request = Arc::clone(&was_asked);
    let service = service_fn(move |request: Request<Incoming>| {
        on_request.notify_one();
        let mut request = request.map(|body| unread.watch(body));
        request.extensions_mut().insert(outflow.clone());
        let answered = answer(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
    let last_request = async {
        until(&mut phase, |phase| *phase != Phase::Serving).await;
        // A client that connected to a draining daemon and has not asked yet still gets its answer.
        tokio::select! {
            () = was_asked.notified() => {}
            () = until(&mut phase, |phase| *phase == Phase::Gone) => {}
        }
    };
    tokio::select! {
        _ = connection.as_mut() => {}
        () = last_request => {
            connection.as_mut().graceful_shutdown();
            // A disconnected client needs no response.
            let _ = connection.await;
        }
    }
    drop(guard);
}
