//! Starts runs through a nursery, holds their leases, records what becomes of them, and answers what the records and
//! the keepers know. It is never the parent of a run, and it knows no HTTP, agent or channel: crates above call it, and
//! hear from it by [`events`](Supervisor::events), [`Phase`] and [`housekeeping::Chore`].
#![forbid(unsafe_code)]

mod admission;
mod enrol;
pub mod events;
pub mod exec_notice;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod follower;
pub mod foreground;
pub mod heartbeats;
pub mod housekeeping;
mod latency;
pub mod launch;
pub mod lease;
mod lifecycle;
pub mod link;
pub mod liveness;
pub mod notice_suppression;
pub mod reconcile;
mod refusal;
pub mod register_existing;
mod requester;
pub mod reserve;
pub mod run_handle;
pub mod run_output;
mod run_table;
mod run_view;
pub mod runs;
pub mod scopes;
mod screens;
pub mod start_request;
mod start_run;
pub mod stdin;
mod supervisor;
pub mod sync;
pub mod task;
mod terminal_queries;
pub mod why;

pub use enrol::enrol_unknown;
pub use follower::Follower;
pub use lifecycle::{FAREWELL, Lifecycle, Phase};
pub use refusal::Refusal;
pub use requester::Requester;
pub use run_handle::RunHandle;
pub use screens::screen_of;
pub use start_run::{RunToEnd, StartRun};
pub use supervisor::Supervisor;

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
