//! The daemon: registry and API. It starts runs through a nursery, holds their leases, records what becomes of them
//! and answers whoever asks. It is never the parent of a run: killed, upgraded or restarted, it loses nothing.
#![forbid(unsafe_code)]

mod chores;
mod daemon;
// The texts are frozen on one system; paths differ on others.
#[cfg(test)]
#[cfg(unix)]
mod faces;
#[cfg(test)]
mod fixture;
mod http;
pub mod log;
mod mcp;
mod metrics;
#[cfg(test)]
mod requester_tests;
mod run_request;
mod serve;
mod tasks;
mod tools;

pub use http::description;
pub use serve::{CannotServe, run};
