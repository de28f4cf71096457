//! Tasks: the durable answer to "is it done?", told once. The states of a task are
//! `queued → running → succeeded | failed | timed_out | cancelled | lost`.
//! The recipient, time and text of its notices are decided here from its row. Storage and delivery are done
//! elsewhere.

mod audit;
mod notice;
mod progress;
mod retry;
mod route;
mod row;
mod step;
#[cfg(test)]
mod tests;
pub mod text;
mod verdict;
mod words;

pub use crate::words::BadWord;
pub use audit::{Finding, Next, Refusal, Severity, audit, needs_a_look};
pub use notice::{
    Destination, Due, Notice, NoticeKey, Purpose, exec_ended, exec_ended_channel, promise, tell,
};
pub use progress::{Emit, Progress, progress};
pub use retry::Schedule;
pub use route::{Occasion, Routing, Setting, Standing, route};
pub use row::{Outcome, TaskEvent, TaskRow, origin_for};
pub use step::{End, Event, Over, Refused, Step, Telling, step};
pub use verdict::Verdict;
pub use words::{DeliveryStatus, EventKind, FindingCode, Kind, NotifyPolicy, Status};
