//! A handle of a client, for messages that it did not ask for.
#![expect(
    deprecated,
    reason = "MCP drops log messages in 2026-07-28 and has nothing else for this; clients show them"
)]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A client that can receive messages.
#[derive(Debug, Clone)]
pub struct Handle {
    peer: Peer<RoleServer>,
    quiet: Quiet,
}

/// True if the client wants only warnings and worse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quiet(Arc<AtomicBool>);

impl Quiet {
    pub(crate) fn set(&self, level: LoggingLevel) {
        let hears = matches!(level, LoggingLevel::Debug | LoggingLevel::Info);
        self.0.store(!hears, Ordering::Relaxed);
    }
}

impl Handle {
    pub(crate) fn new(peer: Peer<RoleServer>, quiet: Quiet) -> Self {
        Self { peer, quiet }
    }

    /// Sends a message; returns true if it was sent: a client may be gone, or may not want it.
    pub async fn notice(&self, text: &str) -> bool {
        if self.quiet.0.load(Ordering::Relaxed) {
            return false;
        }
        let message =
            LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into()).with_logger("tenure");
        self.peer.notify_logging_message(message).await.is_ok()
    }
}
