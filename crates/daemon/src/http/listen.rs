//! The sockets: who may come in, and what is known of them before they say a word.

use super::answer::Rejection;
use super::linger::{Lingering, RequestBody};
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
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;

/// The socket's name in the state root.
pub(crate) const SOCKET: &str = "daemon.sock";
/// The only path for clients without rights.
const HEALTH: &str = "/v1/health";
/// How long a client may take to say what it wants.
const HEAD: Duration = Duration::from_secs(15);
/// How long nobody is let in after that failed: no descriptor to spare, most likely.
pub(super) const SHUT: Duration = Duration::from_millis(100);

/// What clients connect to.
pub(crate) struct Doors {
    local: LocalSocket,
    loopback: Option<Loopback>,
}

/// The local socket, and the file by which clients find it.
struct LocalSocket {
    door: Door,
    file: Option<FileId>,
    /// True if the log already says that the socket cannot be bound.
    complained: bool,
}

impl LocalSocket {
    fn bind(dir: &Dir) -> io::Result<Self> {
        // We hold the lock, so the daemon that left the socket is gone.
        dir.remove(SOCKET)?;
        let door = Door::new(Listener::bind(dir, SOCKET)?)?;
        Ok(Self { door, file: FileId::within(dir, SOCKET)?, complained: false })
    }

    /// Binds the socket again if its file was removed or replaced, for example by a cleaner of temporary files.
    /// Existing connections stay.
    fn bind_anew_if_removed(&mut self, daemon: &Daemon) {
        let dir = daemon.supervisor.state.dir();
        if FileId::within(dir, SOCKET).is_ok_and(|now| now == self.file && now.is_some()) {
            return;
        }
        match Self::bind(dir) {
            Ok(bound) => {
                tracing::warn!("{SOCKET} was removed or replaced: it is bound anew");
                *self = bound;
            }
            Err(error) if !self.complained => {
                tracing::error!(%error, "{SOCKET} was removed or replaced, and cannot be bound anew");
                self.complained = true;
            }
            Err(_) => {}
        }
    }
}

/// Opens the sockets.
pub(crate) fn open(daemon: &Daemon) -> io::Result<Doors> {
    let local = LocalSocket::bind(daemon.supervisor.state.dir())?;
    let loopback = match daemon.supervisor.settings.api.listen {
        Some(address) => Some(Loopback::open(daemon, address)?),
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
pub(super) type Open = mpsc::Sender<Infallible>;

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
    if let Some(loopback) = doors.loopback {
        tokio::spawn(loopback.serve(Arc::clone(&daemon), router.clone(), open.downgrade()));
    }
    tokio::spawn(serve_local(daemon, doors.local, router, open.downgrade()));
    Connections { open, last }
}

async fn serve_local(
    daemon: Arc<Daemon>,
    local: LocalSocket,
    router: Router,
    open: mpsc::WeakSender<Infallible>,
) {
    let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
    let mut local = local;
    let mut look = tokio::time::interval(daemon.supervisor.settings.lease.heartbeat);
    let places = Arc::new(Semaphore::new(defaults::CONNECTIONS));
    let spare = Arc::new(Semaphore::new(defaults::SPARE_CONNECTIONS));
    loop {
        // Clients without a permit wait in the backlog.
        let (place, is_spare) = tokio::select! {
            biased;
            Ok(place) = Arc::clone(&places).acquire_owned() => (place, false),
            Ok(place) = Arc::clone(&spare).acquire_owned() => (place, true),
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        };
        let accepted = tokio::select! {
            accepted = local.door.accept() => accepted,
            _ = look.tick() => {
                local.bind_anew_if_removed(&daemon);
                continue;
            }
            () = until(&mut phase, |phase| *phase == Phase::Gone) => return,
        };
        let Ok(stream) = accepted else {
            tokio::time::sleep(SHUT).await;
            continue;
        };
        let visitor = visitor(&daemon, &stream);
        let router = router.clone();
        let answer = move |mut request: Request<RequestBody>| {
            let (visitor, router) = (visitor.clone(), router.clone());
            async move {
                match visitor {
                    Visitor::Known(_) if is_spare && !is_for_operators(&request) => {
                        Rejection(too_many_connections()).into_response()
                    }
                    Visitor::Known(who) => {
                        request.extensions_mut().insert(who);
                        request.extensions_mut().insert(Local);
                        answer(router, request).await
                    }
                    Visitor::Unidentified(_) if request.uri().path() == HEALTH => {
                        answer(router, request).await
                    }
                    Visitor::Unidentified(refusal) | Visitor::Foreign(refusal) => {
                        Rejection(refusal).into_response()
                    }
                }
            }
        };
        let conversation = converse(Arc::clone(&daemon), stream, answer, open.upgrade());
        tokio::spawn(async move {
            conversation.await;
            drop(place);
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
enum Visitor {
    /// A client with rights.
    Known(Requester),
    /// A client of this user without rights: it may only ask for the daemon's health.
    Unidentified(Refusal),
    /// A client of another user, which we do not serve.
    Foreign(Refusal),
}

fn visitor(daemon: &Daemon, stream: &Stream) -> Visitor {
    let peer = match stream.peer() {
        Ok(peer) => peer,
        Err(error) => return Visitor::Foreign(Refusal::internal(error)),
    };
    if peer.is_foreign() {
        let why = format!("user {} is not this daemon's user", peer.user());
        return Visitor::Foreign(Refusal::forbidden(why));
    }
    daemon.supervisor.requester(&peer).map_or_else(Visitor::Unidentified, Visitor::Known)
}

pub(super) async fn answer(router: Router, request: Request<RequestBody>) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// One connection, until it ends or the daemon leaves.
pub(super) async fn converse<S, A, F>(daemon: Arc<Daemon>, stream: S, answer: A, open: Option<Open>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Fn(Request<RequestBody>) -> F + Send + 'static,
    F: Future<Output = Response> + Send,
{
    let (stream, unread) = Lingering::new(stream);
    let (stream, outflow) = Watched::new(stream);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(|body| unread.watch(body));
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
    let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
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
