//! The promises of every registry, tested through the trait alone (`instances`, `leases`, `runs`, `lists`,
//! `retention`, `events`, `tools`, `approvals`, `sessions`, `session_runs`, `session_removal`, `turns`,
//! `visibility`, `tasks`, `task_turns`, `task_lists`, `outbox`, `sweep`, `conversations`, `model`), and the
//! additional ones of the embedded one (`sqlite`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod chores;
mod conversations;
mod events;
mod instances;
mod leases;
mod lists;
mod model;
mod outbox;
mod retention;
mod runs;
mod sample;
mod session_removal;
mod session_runs;
mod sessions;
mod sqlite;
mod store;
mod sweep;
mod talk;
mod task_lists;
mod task_turns;
mod tasks;
mod tools;
mod turns;
mod visibility;
