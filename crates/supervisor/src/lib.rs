//! Starts runs through a nursery, holds their leases, records their changes, and answers queries from the records and
//! the keepers. The supervisor is never the parent of a run, and it knows no HTTP, agent or channel: the crates above
//! call it, and hear from it by [`events`](Supervisor::events), [`Phase`] and [`housekeeping::Chore`].
#![forbid(unsafe_code)]

mod admission;
pub mod disk_reserve;
pub mod events;
pub mod exec_notice;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
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
mod output_follower;
pub mod reconcile;
mod record_lost_runs;
mod refusal;
pub mod register_existing;
mod requester;
pub mod run_handle;
pub mod run_output;
mod run_screen;
mod run_table;
mod run_view;
pub mod runs;
pub mod scope_locks;
pub mod start_request;
mod start_run;
pub mod stdin;
mod supervisor;
pub mod sync;
pub mod task;
mod terminal_queries;
pub mod why;

pub use lifecycle::{DRAIN_TIMEOUT, Lifecycle, Phase};
pub use output_follower::OutputFollower;
pub use record_lost_runs::record_lost_runs;
pub use refusal::Refusal;
pub use requester::Requester;
pub use run_handle::RunHandle;
pub use run_screen::screen_of;
pub use start_run::{RunToEnd, StartRun};
pub use supervisor::Supervisor;

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
