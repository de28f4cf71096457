//! The HTTP API: requests, events, limits, client identity.

mod attach;
mod bad_input;
mod client_identity;
mod events;
mod facades;
mod input;
mod limits;
mod openapi;
mod runs;
mod sessions;
mod story;
mod tasks;
mod tcp;
