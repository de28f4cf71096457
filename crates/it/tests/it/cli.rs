//! The command line in everyday use.

mod acp;
mod acp_terminal;
mod daemon;
mod exec;
mod sessions;
mod tasks;
