//! A client of the tools that stays: one connection, one session.

use crate::api::Exact;
use crate::hash::fnv64;
use serde::{Deserialize, Serialize};

/// What the connection of an MCP client becomes: `POST /v1/mcp` with `Upgrade: tenure-mcp`, on the Unix socket.
pub const MCP_PROTOCOL: &str = "tenure-mcp";

/// Header by which our own command line marks a `process` in the body as its own. A body that a program forwards for
/// somebody else comes without it.
pub const CLI_HEADER: &str = "tenure-cli";
/// The header by which our own command line names the run of an `exec` before it is started. The same request to the next
/// daemon goes on with that run instead of starting another.
pub const RUN_HEADER: &str = "tenure-run";

/// What the key of a session begins with that an MCP client made for itself.
pub const MCP_SESSION: &str = "mcp:";

/// The header of the answer that says which session was made for a client that named none.
pub const MCP_SESSION_HEADER: &str = "tenure-session";

/// The key of a new session, made of these random bytes. A client that is bound to a session is its maker: the key
/// tells so, to the next daemon as well.
pub fn mcp_session(mut bytes: [u8; 12], maker: Option<&str>) -> String {
    if let Some(maker) = maker {
        bytes[..4].copy_from_slice(&mark(maker));
    }
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{MCP_SESSION}{digits}")
}

/// Whether a session was made by a client that is bound to this one.
pub fn is_made_by(session: &str, maker: &str) -> bool {
    let mark: String = mark(maker).iter().map(|b| format!("{b:02x}")).collect();
    session.strip_prefix(MCP_SESSION).is_some_and(|digits| digits.len() == 24 && digits.starts_with(&mark))
}

fn mark(maker: &str) -> [u8; 4] {
    let [a, b, c, d, ..] = fnv64(maker.as_bytes()).to_be_bytes();
    [a, b, c, d]
}

/// `POST /v1/mcp`: who the client is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClientRequest {
    /// The session that it acts as; without it, a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The client's process. Commands start in its directory, and with its environment where no policy judges them; its
    /// command has no words. For our own command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Exact>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_tells_who_made_it() {
        let (one, other) = ("agent:main:1", "agent:main:2");
        let made = mcp_session([7; 12], Some(one));
        assert_eq!(made.len(), MCP_SESSION.len() + 24);
        assert!(is_made_by(&made, one) && !is_made_by(&made, other));
        assert!(!is_made_by(&mcp_session([7; 12], None), one));
        assert!(!is_made_by(&made[MCP_SESSION.len()..], one) && !is_made_by(MCP_SESSION, one));
        assert!(is_made_by(&mcp_session([8; 12], Some(&made)), &made), "one that was made makes its own");
    }
}
