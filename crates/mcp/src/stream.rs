//! A single client over a stream: JSON, a message per line.

use crate::Tools;
use crate::receipts::{Gone, Receipts};
use crate::server::{Bond, Server};
use rmcp::RoleServer;
use rmcp::model::GetExtensions;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::future::Future;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one client until it disconnects. Dropping the future gives up the client's calls.
pub async fn serve_stream<T: Tools>(tools: T, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let (read, write) = tokio::io::split(stream);
    let inner = AsyncRwTransport::new(read, write);
    let gone = Gone::default();
    let _guard = gone.0.clone().drop_guard();
    let connection = Connection { inner, receipts: Receipts::default(), gone };
    match serve_server(Server::new(tools, Bond::Connection), connection).await {
        Ok(service) => {
            // A server that panicked has ended too.
            let _ = service.waiting().await;
        }
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
        Err(error) => tracing::debug!(%error, "an MCP client did not get to its first call"),
    }
}

/// The connection: it knows which replies were written, and that the client is gone.
struct Connection<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    receipts: Receipts,
    gone: Gone,
}

impl<R, W> Transport<RoleServer> for Connection<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let receipt = match &message {
            JsonRpcMessage::Response(response) => self.receipts.take(&response.id),
            _ => None,
        };
        let sending = self.inner.send(message);
        async move {
            sending.await?;
            if let Some(receipt) = receipt {
                receipt.written();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Some(mut message) = self.inner.receive().await else {
            // Waiting calls learn of it now, and not after the SDK's timeout.
            self.gone.0.cancel();
            return None;
        };
        mark(&mut message, &self.receipts, &self.gone);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}

/// Marks a message with its origin for its handler.
fn mark(message: &mut ClientJsonRpcMessage, receipts: &Receipts, gone: &Gone) {
    let extensions = match message {
        JsonRpcMessage::Request(request) => request.request.extensions_mut(),
        JsonRpcMessage::Notification(notification) => notification.notification.extensions_mut(),
        _ => return,
    };
    extensions.insert(receipts.clone());
    extensions.insert(gone.clone());
}
