//! The sessions of streamable HTTP: the SDK's, and what waits in one hears at once that it has ended.

use crate::receipts::{Gone, Receipts, WeakReceipts};
use futures_util::Stream;
use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

type Failed = <LocalSessionManager as SessionManager>::Error;
type Inner = <LocalSessionManager as SessionManager>::Transport;

/// The sessions that are open.
pub(super) struct Sessions(LocalSessionManager);

impl Sessions {
    pub(super) fn new(idle: Duration) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(idle);
        let mut manager = LocalSessionManager::default();
        manager.session_config = config;
        Self(manager)
    }
}

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = Session;

    async fn create_session(&self) -> Result<(SessionId, Session), Failed> {
        let (id, inner) = self.0.create_session().await?;
        Ok((id, Session { inner, gone: Gone::default(), open: HashMap::new() }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.0.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.0.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        self.0.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.0.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.0.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.0.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.0.resume(id, last_event_id).await
    }
}

/// One session, as its server sees it.
pub(super) struct Session {
    inner: Inner,
    gone: Gone,
    /// Where the receipts of its requests are, while their responses are.
    open: HashMap<RequestId, WeakReceipts>,
}

impl Session {
    /// Tells the message's handler where it came from. What a client has cancelled, it was not told.
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
