//! The daemon: registry and API. The daemon starts runs through a nursery, holds their leases, records their starts and
//! endings, and serves clients. The daemon is never the parent of a run, so its death, upgrade or restart costs no run.
#![forbid(unsafe_code)]

mod daemon;
// Unix only: the snapshots contain paths, which differ on other systems.
#[cfg(test)]
#[cfg(unix)]
mod faces;
#[cfg(test)]
mod fixture;
mod housekeeping;
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
