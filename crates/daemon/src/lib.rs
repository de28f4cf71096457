//! The daemon: registry and API. It starts runs through a nursery, holds their leases, records what becomes of them
//! and answers whoever asks. It is never the parent of a run: killed, upgraded or restarted, it loses nothing.
#![forbid(unsafe_code)]

mod acp;
mod admission;
mod adopt;
mod answers;
mod asked;
mod care;
mod daemon;
mod enrol;
mod events;
// The texts are frozen on one system; paths differ on others.
#[cfg(test)]
#[cfg(unix)]
mod faces;
#[cfg(test)]
mod fixture;
mod follower;
mod heartbeats;
mod held;
mod http;
mod import;
mod latency;
mod launch;
mod lease;
mod legacy_close;
mod link;
mod liveness;
pub mod log;
mod mcp;
mod metrics;
mod notifier;
mod reconcile;
mod refusal;
mod requester;
mod reserve;
mod runs;
mod scopes;
mod screens;
mod serve;
mod sessions;
mod tasks;
mod tools;
mod typing;
mod views;
mod why;

pub use http::description;
pub use serve::{CannotServe, run};

/// The program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
