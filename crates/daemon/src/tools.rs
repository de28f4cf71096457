//! The agent's tools: `exec` runs a command line, `process` does what is to be done with it afterwards. Every face
//! comes here: HTTP, MCP and, over HTTP, the command line.
//!
//! # One exec's walk
//!
//! The request is understood (`policy/exec_spec`), judged against policy and allowlist (`policy/authorize`), and `core` decides: run, ask, deny. A line that is
//! one simple command is executed by the shell itself (`policy/user_shell`). The run starts like every other; it ends if the caller leaves
//! (`supervisor/foreground`), until `exec` yields and it continues in the background. Questions to a person are `policy/approvals`. `process` finds a run as
//! the requester may see it: `poll` reads from the run's mark, `log` pages, `input` types, `end` ends. The end of a background command
//! is the notice `supervisor/exec_notice`, which the notifier delivers after callers that were about to see the end have seen it. A reply counts as read when it was written
//! (`http/receipt`, `mcp`).

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
