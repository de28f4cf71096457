//! The Agent Client Protocol, client side. `stream` finds the messages in an adapter's stdout, `conversation` keeps the
//! open requests of both sides, `permission` decides permission requests, `details` collects the details that an approval
//! request shows, `history` turns updates into entries, `replay` detects the end of a replayed conversation, `turn`
//! reads how a turn ended. `driver` combines these for one adapter. It reaches processes and records through the trait in
//! `host`.
//!
//! The official types of the protocol are used. Its connection is not: a conversation here outlives the daemon that
//! began it, so open requests are stored in rows and loaded again, and the bytes have offsets.

pub mod abilities;
pub mod conversation;
pub mod details;
pub mod driver;
pub mod handle;
pub mod history;
pub mod host;
pub mod message;
pub mod open;
pub mod permission;
mod record;
pub mod replay;
pub mod stream;
pub mod turn;

pub use agent_client_protocol_schema::v1 as schema;
