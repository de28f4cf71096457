//! Tasks and their notices.

mod cancel;
mod command;
mod crash;
mod crash_ways;
mod delivery;
mod drain;
mod events;
mod kinds;
mod seen;
mod told;
mod unread;
