//! The loopback address, where every user of this machine can connect. A connection is pending until it has shown the
//! token. Few connections may be pending, each for a short time, and the oldest is closed for the next. If the port is
//! taken, the daemon serves its socket, reports the error, and tries again.

use super::extractors::Rejection;
use super::lingering_close::RequestBody;
use super::listen::{ACCEPT_RETRY_PAUSE, ConnectionGuard, answer, serve_connection};
use super::loopback_auth::Token;
use crate::daemon::Daemon;
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::defaults;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::sync::lock;
use tenure_supervisor::sync::until;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

/// Minimum time that a connection stays pending: enough for a client that shows the token at once.
const MIN_PENDING_TIME: Duration = Duration::from_millis(20);

/// The address, its token, and the socket unless another program has the port.
pub(super) struct Loopback {
    address: SocketAddr,
    token: Token,
    listener: Option<TcpListener>,
}

impl Loopback {
    /// Opens the socket. Notes a port that cannot be bound; fails if the token cannot be used.
    pub(super) fn open(daemon: &Daemon, address: SocketAddr) -> io::Result<Self> {
        let token = Token::open(&daemon.supervisor.settings.api_token())?;
        let mut loopback = Self { address, token, listener: None };
        loopback.bind(daemon);
        Ok(loopback)
    }

    fn bind(&mut self, daemon: &Daemon) {
        let bound = std::net::TcpListener::bind(self.address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        });
        let address = self.address;
        let error = match bound {
            Ok(listener) => {
                self.listener = Some(listener);
                None
            }
            Err(error) => Some(format!("cannot listen on {address}: {error}")),
        };
        let mut last_error = lock(&daemon.listen_error);
        match &error {
            Some(error) if last_error.is_none() => {
                tracing::error!("{error}: only the socket is served for now");
            }
            None if last_error.is_some() => tracing::info!(%address, "listening"),
            Some(_) | None => {}
        }
        *last_error = error;
    }

    /// Accepts clients until the daemon exits.
    pub(super) async fn serve(
        mut self,
        daemon: Arc<Daemon>,
        router: Router,
        guard: mpsc::WeakSender<Infallible>,
    ) {
        let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
        let permits = Arc::new(Semaphore::new(defaults::LOOPBACK_CONNECTIONS));
        let pending = Arc::new(PendingConnections::default());
        loop {
            let accepted = tokio::select! {
                accepted = self.accept(&daemon, &pending) => accepted,
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
            };
            let Ok((stream, address)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            };
            let slot = Arc::new(ConnectionSlot::new(Arc::clone(&pending), Arc::clone(&permits)));
            let evicted = pending.add(&slot);
            let about = format!("{address} with the token");
            let answers = Answers { router: router.clone(), token: self.token.clone(), about, slot };
            tokio::spawn(serve_one(Arc::clone(&daemon), (stream, answers), guard.upgrade(), evicted));
        }
    }

    /// Accepts the next client, once there is a socket and room for it.
    async fn accept(
        &mut self,
        daemon: &Daemon,
        pending: &PendingConnections,
    ) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            if let Some(listener) = &self.listener {
                // In this order, so that a pending connection is closed only for an actual client.
                let accepted = listener.accept().await?;
                pending.make_room().await;
                return Ok(accepted);
            }
            tokio::time::sleep(daemon.supervisor.settings.lease.heartbeat).await;
            self.bind(daemon);
        }
    }
}

/// Serves one connection until it closes, is evicted, or has not shown the token in time.
async fn serve_one(
    daemon: Arc<Daemon>,
    (stream, answers): (TcpStream, Answers),
    guard: Option<ConnectionGuard>,
    evicted: oneshot::Receiver<Infallible>,
) {
    let slot = Arc::clone(&answers.slot);
    let connection = serve_connection(daemon, stream, move |request| answers.clone().answer(request), guard);
    let mut connection = std::pin::pin!(connection);
    let is_evicted = async {
        // `evicted` never sends: it closes when the connection is evicted or no longer pending.
        let _ = tokio::time::timeout(defaults::LOOPBACK_HEAD, evicted).await;
    };
    tokio::select! {
        () = connection.as_mut() => {}
        () = is_evicted => {
            if slot.is_authenticated() {
                connection.await;
            }
        }
    }
    slot.pending.remove(&slot);
}

#[derive(Clone)]
struct Answers {
    router: Router,
    token: Token,
    about: String,
    slot: Arc<ConnectionSlot>,
}

impl Answers {
    async fn answer(self, mut request: Request<RequestBody>) -> Response {
        if let Err(refusal) = self.token.check(request.uri(), request.headers()) {
            return Rejection(refusal).into_response();
        }
        if !self.slot.authenticate() {
            let most = defaults::LOOPBACK_CONNECTIONS;
            let why = format!("{most} clients with the token are connected: close some of them");
            return Rejection(Refusal::too_many_connections(why)).into_response();
        }
        request.extensions_mut().insert(Requester::Operator { about: self.about });
        answer(self.router, request).await
    }
}

/// A connection's slot: among the pending ones, or with a permit of its own once it has shown the token.
struct ConnectionSlot {
    pending: Arc<PendingConnections>,
    permits: Arc<Semaphore>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl ConnectionSlot {
    fn new(pending: Arc<PendingConnections>, permits: Arc<Semaphore>) -> Self {
        Self { pending, permits, permit: Mutex::default() }
    }

    fn is_authenticated(&self) -> bool {
        lock(&self.permit).is_some()
    }

    /// Records that the client has shown the token. Returns false if the limit of connections is reached.
    fn authenticate(self: &Arc<Self>) -> bool {
        {
            let mut permit = lock(&self.permit);
            if permit.is_some() {
                return true;
            }
            let Ok(acquired) = Arc::clone(&self.permits).try_acquire_owned() else { return false };
            *permit = Some(acquired);
        }
        self.pending.remove(self);
        true
    }
}

/// Connections that have not shown the token yet, the oldest first. Dropping the sender of one closes it.
#[derive(Default)]
struct PendingConnections(Mutex<VecDeque<PendingConnection>>);

struct PendingConnection {
    slot: Arc<ConnectionSlot>,
    since: Instant,
    _evict_on_drop: oneshot::Sender<Infallible>,
}

impl PendingConnections {
    fn add(&self, slot: &Arc<ConnectionSlot>) -> oneshot::Receiver<Infallible> {
        let (evict, evicted) = oneshot::channel();
        let connection =
            PendingConnection { slot: Arc::clone(slot), since: Instant::now(), _evict_on_drop: evict };
        lock(&self.0).push_back(connection);
        evicted
    }

    fn remove(&self, slot: &Arc<ConnectionSlot>) {
        lock(&self.0).retain(|connection| !Arc::ptr_eq(&connection.slot, slot));
    }

    /// Waits until there is room: the oldest connection is evicted once it had the time to show the token.
    async fn make_room(&self) {
        loop {
            let until = {
                let mut all = lock(&self.0);
                let oldest = all.front().map(|connection| connection.since + MIN_PENDING_TIME);
                match oldest {
                    Some(until) if all.len() >= defaults::LOOPBACK_STRANGERS => {
                        if until <= Instant::now() {
                            all.pop_front();
                            return;
                        }
                        until
                    }
                    Some(_) | None => return,
                }
            };
            tokio::time::sleep_until(until).await;
        }
    }
}
