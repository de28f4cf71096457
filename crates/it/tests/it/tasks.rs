//! Tasks and their notices.

mod cancel;
mod command;
mod crash;
mod crash_deliveries;
mod delivery;
mod drain;
mod events;
mod kinds;
mod notices;
mod texts;
mod unread_answers;
