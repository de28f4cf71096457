//! Long-lived clients of the tools: one connection, one session.

use crate::api::Exact;
use crate::hash::fnv64;
use serde::{Deserialize, Serialize};

/// The protocol of an MCP client's connection: `POST /v1/mcp` with `Upgrade: tenure-mcp`, on the Unix socket.
pub const MCP_PROTOCOL: &str = "tenure-mcp";

/// The header by which our own command line marks a `process` in the body as its own. A body that a program
/// forwards for another client comes without it.
pub const CLI_HEADER: &str = "tenure-cli";
/// The header by which our own command line names the run of an `exec` before it is started. If the request is sent
/// again to the next daemon, that one continues with the run instead of starting another.
pub const RUN_HEADER: &str = "tenure-run";

/// The prefix of a session's key that an MCP client created for itself.
pub const MCP_SESSION: &str = "mcp:";

/// The response header that names the session created for a client that named none.
pub const MCP_SESSION_HEADER: &str = "tenure-session";

/// Makes the key of a new session from random bytes. If a client that is bound to a session creates it, the key
/// proves that, also to the next daemon.
pub fn mcp_session(mut bytes: [u8; 12], maker: Option<&str>) -> String {
    if let Some(maker) = maker {
        bytes[..4].copy_from_slice(&mark(maker));
    }
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{MCP_SESSION}{digits}")
}

/// Returns true if a client that is bound to `maker` created the session.
pub fn is_made_by(session: &str, maker: &str) -> bool {
    let mark: String = mark(maker).iter().map(|b| format!("{b:02x}")).collect();
    session.strip_prefix(MCP_SESSION).is_some_and(|digits| digits.len() == 24 && digits.starts_with(&mark))
}

fn mark(maker: &str) -> [u8; 4] {
    let [a, b, c, d, ..] = fnv64(maker.as_bytes()).to_be_bytes();
    [a, b, c, d]
}

/// `POST /v1/mcp`: identifies the client.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClientRequest {
    /// The session that the client acts as; without it, a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The client's process. Commands start in its directory and, if no policy judges them, with its environment.
    /// The command in it is empty. Only for our own command line.
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
