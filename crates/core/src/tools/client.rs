//! A client of the tools that stays: one connection, one session.

use crate::api::Exact;
use serde::{Deserialize, Serialize};

/// What the connection of an MCP client becomes: `POST /v1/mcp` with `Upgrade: tenure-mcp`, on the Unix socket.
pub const MCP_PROTOCOL: &str = "tenure-mcp";

/// What the key of a session begins with that an MCP client made for itself.
pub const MCP_SESSION: &str = "mcp:";

/// `POST /v1/mcp`: who the client is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClientRequest {
    /// The session that it acts as; without it, a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Its process, whose directory and environment commands start from; its command has no words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Exact>,
}
