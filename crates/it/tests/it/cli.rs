//! The command line as people use it.

mod acp;
mod acp_terminal;
mod daemon;
mod exec;
mod sessions;
mod tasks;
