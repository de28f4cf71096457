//! What an agent's `exec` tool may run. The pieces, in the order in which a call meets them: [`environment`] refuses
//! variables that would smuggle in code, [`shell`] takes a command line apart, [`executable`] finds and pins its
//! programs, [`allowlist`] says whether each is allowed. The decision itself is `tenure_core::policy::decide`.
//! Nothing here starts a process.
#![forbid(unsafe_code)]

pub mod allowlist;
pub mod environment;
pub mod executable;
pub mod shell;

#[cfg(test)]
mod random;
