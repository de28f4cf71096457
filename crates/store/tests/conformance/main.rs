//! What every registry promises, asked through the trait alone (`instances`, `leases`, `runs`, `lists`,
//! `retention`, `events`, `tools`, `model`), and what the embedded one promises besides (`sqlite`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod events;
mod instances;
mod leases;
mod lists;
mod model;
mod retention;
mod runs;
mod sample;
mod sqlite;
mod store;
mod tools;
