//! Tests with real processes, in one binary: a module per theme, a file per scenario. `build.rs` fails if no module
//! registers a file. Only the matrix is for every system.

#[cfg(feature = "linux")]
mod acp;
#[cfg(feature = "linux")]
mod api;
#[cfg(feature = "linux")]
mod cli;
#[cfg(feature = "linux")]
mod daemon;
#[cfg(feature = "linux")]
mod docs;
#[cfg(feature = "linux")]
mod examples;
mod matrix;
#[cfg(feature = "linux")]
mod runs;
#[cfg(feature = "linux")]
mod sessions;
#[cfg(feature = "linux")]
mod tasks;
#[cfg(feature = "linux")]
mod tools;
