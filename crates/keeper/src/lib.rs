//! The processes that hold a run. A **nursery** is executed once and forks keepers. A **keeper** is the parent of one
//! run's root for its whole life: it makes the pipes or the terminal, starts the root, records it, copies its output,
//! enforces its limits, stops its tree and writes its ending. Neither knows of sessions or policy.
//!
//! `launch` is the client side: it starts a nursery and requests keepers from it.
#![forbid(unsafe_code)]

#[cfg(test)]
mod fixture;
pub mod frames;
mod journal;
mod keeper;
pub mod launch;
mod leftovers;
pub mod nursery;
pub mod orphaned;
pub mod rundir;
pub mod state_root;
pub mod sweep;

pub use keeper::keeper_main;
