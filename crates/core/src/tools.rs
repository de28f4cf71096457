//! The agent's tools: what `exec`, `process` and `sessions` are asked and what they answer, the same for every face.

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

/// The shortest and the longest that `exec` waits for a command before it goes on in the background, in milliseconds.
pub const YIELD_MS: (u64, u64) = (10, 120_000);
/// The longest that a poll waits, in milliseconds.
pub const POLL_MS: u64 = 30_000;
/// The most characters in one reply.
pub const REPLY_CHARS: usize = 200_000;
/// The most characters of unread output in one poll; of more, the last are shown.
pub const UNREAD_CHARS: usize = 30_000;
/// How many characters the tail of a run's output has.
pub const TAIL_CHARS: usize = 2_000;
/// How long a command line may be, in bytes: the system takes no longer argument.
pub const COMMAND_BYTES: usize = 128 << 10;
/// The longest that `sessions` waits for the end of a turn, in milliseconds.
pub const TURN_WAIT_MS: u64 = 30_000;
