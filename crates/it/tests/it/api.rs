//! The HTTP API: requests, events, limits, who may ask.

mod attach;
mod bad_input;
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
mod who;
