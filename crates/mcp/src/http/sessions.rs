//! The sessions of streamable HTTP: the SDK's, extended so that calls waiting in a session learn at once that it
//! has ended.

use crate::receipts::{Gone, Receipts, WeakReceipts};
use futures_util::{Stream, StreamExt};
use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Failed = <LocalSessionManager as SessionManager>::Error;
type Inner = <LocalSessionManager as SessionManager>::Transport;

/// The open sessions.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    most: usize,
    known: Mutex<HashMap<SessionId, Use>>,
    /// Held while a session is created, so that no two requests take the last place.
    making: tokio::sync::Mutex<()>,
}

/// The last use of a session. Each of its open streams has a copy of `streams`.
struct Use {
    last: Instant,
    streams: Arc<()>,
}

impl Sessions {
    pub(super) fn new(idle: Duration, most: usize) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(idle);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Self { inner: manager, most, known: Mutex::default(), making: tokio::sync::Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Use>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the use of a session, and returns the mark for the stream that is opened.
    fn used(&self, id: &SessionId) -> Option<Arc<()>> {
        let mut known = self.known();
        let session = known.get_mut(id)?;
        session.last = Instant::now();
        Some(Arc::clone(&session.streams))
    }

    /// Makes room for one more session: forgets those that have ended, then closes the one that was unused for
    /// longest. Returns false if all are in use.
    async fn make_room(&self) -> bool {
        if self.known().len() < self.most {
            return true;
        }
        let ids: Vec<SessionId> = self.known().keys().cloned().collect();
        for id in ids {
            if !self.inner.has_session(&id).await.unwrap_or(false) {
                self.known().remove(&id);
            }
        }
        if self.known().len() < self.most {
            return true;
        }
        let is_unused = |session: &Use| Arc::strong_count(&session.streams) == 1;
        let oldest = self
            .known()
            .iter()
            .filter(|(_, session)| is_unused(session))
            .min_by_key(|(_, session)| session.last)
            .map(|(id, _)| id.clone());
        let Some(oldest) = oldest else { return false };
        self.known().remove(&oldest);
        // A session that has ended meanwhile has made room too.
        let _ = self.inner.close_session(&oldest).await;
        true
    }
}

/// Keeps a session's mark as long as its stream is read.
fn marked<T>(stream: impl Stream<Item = T>, mark: Option<Arc<()>>) -> impl Stream<Item = T> {
    stream.inspect(move |_| {
        let _ = &mark;
    })
}

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = Session;

    async fn create_session(&self) -> Result<(SessionId, Session), Failed> {
        let _turn = self.making.lock().await;
        if !self.make_room().await {
            let why = format!("{} MCP sessions are open and in use: delete some of them", self.most);
            return Err(Failed::SessionError(SessionError::Io(io::Error::other(why))));
        }
        let (id, inner) = self.inner.create_session().await?;
        self.known().insert(id.clone(), Use { last: Instant::now(), streams: Arc::default() });
        Ok((id, Session { inner, gone: Gone::default(), open: HashMap::new() }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        self.known().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let mark = self.used(id);
        Ok(marked(self.inner.create_stream(id, message).await?, mark))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.used(id);
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let mark = self.used(id);
        Ok(marked(self.inner.create_standalone_stream(id).await?, mark))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let mark = self.used(id);
        Ok(marked(self.inner.resume(id, last_event_id).await?, mark))
    }
}

/// A session, as its server sees it.
pub(super) struct Session {
    inner: Inner,
    gone: Gone,
    /// The receipts of its requests, as long as their responses exist.
    open: HashMap<RequestId, WeakReceipts>,
}

impl Session {
    /// Marks a message with its origin for its handler. A reply to a cancelled request counts as not written.
    fn note(&mut self, message: &mut ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                let extensions = request.request.extensions_mut();
                extensions.insert(self.gone.clone());
                let parts = extensions.get::<Parts>();
                if let Some(receipts) = parts.and_then(|parts| parts.extensions.get::<Receipts>()) {
                    self.open.retain(|_, receipts| receipts.get().is_some());
                    self.open.insert(request.id.clone(), receipts.weak());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(receipts) = self.open.remove(id).and_then(|receipts| receipts.get())
                {
                    receipts.take(id);
                }
            }
            _ => {}
        }
    }
}

impl Transport<RoleServer> for Session {
    type Error = <Inner as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Some(mut message) = self.inner.receive().await else {
            self.gone.0.cancel();
            return None;
        };
        self.note(&mut message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
