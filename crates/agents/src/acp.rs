//! ACP agents. A session's adapter is one run that lives for many turns. `adapter_start` finds or starts it,
//! `adapter_join` opens its conversation, `acp_turn` carries out a turn with it, and `silence` ends a turn without output
//! and work. `host` gives the protocol's driver (crate `acp`) the run's output and input by their offsets, and the
//! record. `requests` answers the agent: files, terminals, permission. `adapter_stop` ends adapters at a close and when
//! they are idle, and records their end; `drain_ended` reads the rest of one that ended while no daemon listened.
//!
//! # One ACP turn's walk
//!
//! The adapter is one run in the scope `acp:KEY`: the live one, or a new one that is recorded in the registry before it
//! starts. The driver continues its conversation: output by offset from the run's files, input by offset to the keeper.
//! The adapter's output becomes steps: the offset that was read, the requests answered and sent, the lines to write, the
//! entries for the history. A step is one transaction, and its lines are written only after it. A daemon that is killed
//! anywhere reads the same bytes again, or writes the same lines again at their offsets, and the keeper takes only what
//! it does not have. The turn waits for the prompt's answer, which is stored with its request.

pub(crate) mod acp_turn;
pub(crate) mod adapter;
pub(crate) mod adapter_join;
pub(crate) mod adapter_start;
pub(crate) mod adapter_stop;
pub(crate) mod drain_ended;
pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod permission;
pub(crate) mod query;
pub(crate) mod requests;
pub(crate) mod silence;
pub(crate) mod terminals;
pub(crate) mod turn_result;
pub(crate) mod updates;
pub(crate) mod write_grants;

pub(crate) use adapter::Adapters;
pub use adapter_stop::watch_adapters;
pub use updates::{Update, UpdateReceiver};
