//! The requests and replies of the agent's tools `exec`, `process`, `sessions` and `tasks`, the same on every face.

mod client;
mod exec;
mod outcome;
mod process;
pub mod sessions;
pub mod tasks;

pub use client::{
    CLI_HEADER, ClientRequest, MCP_PROTOCOL, MCP_SESSION, MCP_SESSION_HEADER, RUN_HEADER, is_made_by,
    mcp_session,
};
pub use exec::{ExecReply, ExecRequest, Notify};
pub use outcome::{FailureKind, Outcome, Status, outcome};
pub use process::{Action, Listed, ProcessReply, ProcessRequest, Waiting};

/// The shortest and longest time that `exec` waits for a command before it goes on in the background, in
/// milliseconds.
pub const YIELD_MS: (u64, u64) = (10, 120_000);
/// The longest wait of a poll, in milliseconds.
pub const POLL_MS: u64 = 30_000;
/// Maximum number of characters in a reply.
pub const REPLY_CHARS: usize = 200_000;
/// Maximum number of characters of unread output in a poll; of longer output, the end is shown.
pub const UNREAD_CHARS: usize = 30_000;
/// Number of characters in the tail of a run's output.
pub const TAIL_CHARS: usize = 2_000;
/// Maximum length of a command line, in bytes: the system accepts no longer argument.
pub const COMMAND_BYTES: usize = 128 << 10;
/// The longest time that `sessions` waits for the end of a turn, in milliseconds.
pub const TURN_WAIT_MS: u64 = 30_000;
