//! The Agent Client Protocol, as its client: `stream` finds the messages in what an
//! adapter prints, `conversation` knows what was asked and not answered on either side, `permission` decides what an agent
//! may do, `details` what an approval request shows, `history` what is reported, `replay` where a loaded
//! conversation begins to be new, `turn` how a turn ended. `driver` puts
//! these together for one adapter, by way of
//! `host`: whoever holds processes and records implements it.
//!
//! The official types of the protocol are used. Its connection is not: a conversation here outlives the daemon that
//! began it, so what is pending is kept in rows and loaded again, and the bytes have offsets.

pub mod abilities;
pub mod conversation;
pub mod details;
pub mod driver;
pub mod handle;
pub mod history;
pub mod host;
pub mod message;
pub mod opening;
pub mod permission;
mod recorded;
pub mod replay;
pub mod stream;
pub mod turn;

pub use agent_client_protocol_schema::v1 as schema;
