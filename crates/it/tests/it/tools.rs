//! The agent's tools: exec, process, MCP, the exec policy.

mod bad_input;
mod bad_keys;
mod exec;
mod foreign_runs;
mod interactive;
mod kill;
mod mcp;
mod notice;
mod policy;
mod poll;
mod waiting_for_input;
