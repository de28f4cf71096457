//! The loopback address, where every user of this machine can connect. A client that has not shown the token yet is a
//! stranger. There are few places for strangers, each has little time, and the oldest makes way for the next. If the
//! port is taken, the daemon serves its socket, reports the error, and tries again.

use super::answer::Rejection;
use super::linger::RequestBody;
use super::listen::{Open, SHUT, answer, converse};
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

/// Minimum time that a stranger keeps its place: long enough for a client that shows the token at once.
const SHORTEST: Duration = Duration::from_millis(20);

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
        let mut known = lock(&daemon.listen_error);
        match &error {
            Some(error) if known.is_none() => tracing::error!("{error}; only the socket is served for now"),
            None if known.is_some() => tracing::info!(%address, "listening now"),
            Some(_) | None => {}
        }
        *known = error;
    }

    /// Accepts clients until the daemon exits.
    pub(super) async fn serve(
        mut self,
        daemon: Arc<Daemon>,
        router: Router,
        open: mpsc::WeakSender<Infallible>,
    ) {
        let mut phase = daemon.supervisor.lifecycle.phase.subscribe();
        let places = Arc::new(Semaphore::new(defaults::LOOPBACK_CONNECTIONS));
        let strangers = Arc::new(Strangers::default());
        loop {
            let accepted = tokio::select! {
                accepted = self.accept(&daemon, &strangers) => accepted,
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
            };
            let Ok((stream, address)) = accepted else {
                tokio::time::sleep(SHUT).await;
                continue;
            };
            let entry = Arc::new(Entry::new(Arc::clone(&strangers), Arc::clone(&places)));
            let out = strangers.enter(&entry);
            let about = format!("{address} with the token");
            let answers = Answers { router: router.clone(), token: self.token.clone(), about, entry };
            tokio::spawn(serve_one(Arc::clone(&daemon), (stream, answers), open.upgrade(), out));
        }
    }

    /// Accepts the next client, once there is a socket and a place.
    async fn accept(
        &mut self,
        daemon: &Daemon,
        strangers: &Strangers,
    ) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            if let Some(listener) = &self.listener {
                // In this order, so that a stranger makes way only for an actual client.
                let accepted = listener.accept().await?;
                strangers.make_room().await;
                return Ok(accepted);
            }
            tokio::time::sleep(daemon.supervisor.settings.lease.heartbeat).await;
            self.bind(daemon);
        }
    }
}

/// Serves one connection until it ends, has to make way, or has not shown the token in time.
async fn serve_one(
    daemon: Arc<Daemon>,
    (stream, answers): (TcpStream, Answers),
    open: Option<Open>,
    out: oneshot::Receiver<Infallible>,
) {
    let entry = Arc::clone(&answers.entry);
    let conversation = converse(daemon, stream, move |request| answers.clone().answer(request), open);
    let mut conversation = std::pin::pin!(conversation);
    let is_out = async {
        // `out` never sends: it closes when the place is taken away, or is no longer needed.
        let _ = tokio::time::timeout(defaults::LOOPBACK_HEAD, out).await;
    };
    tokio::select! {
        () = conversation.as_mut() => {}
        () = is_out => {
            if entry.is_known() {
                conversation.await;
            }
        }
    }
    entry.strangers.leave(&entry);
}

#[derive(Clone)]
struct Answers {
    router: Router,
    token: Token,
    about: String,
    entry: Arc<Entry>,
}

impl Answers {
    async fn answer(self, mut request: Request<RequestBody>) -> Response {
        if let Err(refusal) = self.token.check(request.uri(), request.headers()) {
            return Rejection(refusal).into_response();
        }
        if !self.entry.make_known() {
            let most = defaults::LOOPBACK_CONNECTIONS;
            let why = format!("{most} clients with the token are connected: close some of them");
            return Rejection(Refusal::too_many_connections(why)).into_response();
        }
        request.extensions_mut().insert(Requester::Operator { about: self.about });
        answer(self.router, request).await
    }
}

/// A connection's right to be there: as a stranger, or with a place of its own once it has shown the token.
struct Entry {
    strangers: Arc<Strangers>,
    places: Arc<Semaphore>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Entry {
    fn new(strangers: Arc<Strangers>, places: Arc<Semaphore>) -> Self {
        Self { strangers, places, place: Mutex::default() }
    }

    fn is_known(&self) -> bool {
        lock(&self.place).is_some()
    }

    /// Notes that the token was shown. Returns false if no place is left.
    fn make_known(self: &Arc<Self>) -> bool {
        {
            let mut place = lock(&self.place);
            if place.is_some() {
                return true;
            }
            let Ok(taken) = Arc::clone(&self.places).try_acquire_owned() else { return false };
            *place = Some(taken);
        }
        self.strangers.leave(self);
        true
    }
}

/// The connections that have not shown the token, the oldest first. Dropping the sender of one ends it.
#[derive(Default)]
struct Strangers(Mutex<VecDeque<Stranger>>);

struct Stranger {
    entry: Arc<Entry>,
    since: Instant,
    _stays: oneshot::Sender<Infallible>,
}

impl Strangers {
    fn enter(&self, entry: &Arc<Entry>) -> oneshot::Receiver<Infallible> {
        let (stays, out) = oneshot::channel();
        let stranger = Stranger { entry: Arc::clone(entry), since: Instant::now(), _stays: stays };
        lock(&self.0).push_back(stranger);
        out
    }

    fn leave(&self, entry: &Arc<Entry>) {
        lock(&self.0).retain(|stranger| !Arc::ptr_eq(&stranger.entry, entry));
    }

    /// Waits until there is a place: the oldest makes way once it had the time to show the token.
    async fn make_room(&self) {
        loop {
            let until = {
                let mut all = lock(&self.0);
                let oldest = all.front().map(|stranger| stranger.since + SHORTEST);
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
