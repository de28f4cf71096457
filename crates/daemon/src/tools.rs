//! The agent's tools: `exec` runs a command line, `process` manages the runs that exec started. All interfaces call them:
//! HTTP, MCP and, over HTTP, the command line.
//!
//! # One exec's walk
//!
//! `policy/exec_spec` reads the request, `policy/authorize` checks it against policy and allowlist, and `core` decides: run, ask or
//! deny. `policy/approvals` asks a person. A line that is one simple command replaces the shell (`policy/user_shell`). The run starts
//! like every other. It ends if the caller disconnects (`supervisor/foreground`), until `exec` yields and the run continues in the
//! background. `process` finds a run that the requester may see: `poll` reads from the run's cursor, `log` pages, `input` types, `end`
//! ends. The end of a background command is a notice (`supervisor/exec_notice`); the notifier delivers it after callers that were
//! about to see the end have seen it. A reply counts as read when it was written to the client (`http/receipt`, `mcp`).

mod call;
mod end;
mod exec;
mod input;
mod list;
mod log;
mod poll;
mod process;
mod resume;

pub(crate) use log::Indexes;
pub(crate) use poll::Readers;
