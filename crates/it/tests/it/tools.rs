//! The agent's tools: exec, process, MCP, the exec policy.

mod bad_input;
mod bad_typing;
mod end;
mod exec;
mod interactive;
mod mcp;
mod notice;
mod others;
mod policy;
mod poll;
mod waiting;
