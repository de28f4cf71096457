//! Tasks: the durable answer to "is it done?", told once. A task's life is `queued → running → succeeded | failed |
//! timed_out | cancelled | lost`; whom it is told, when and in which words is decided here from its row. Keeping rows
//! and reaching channels is done elsewhere.

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
pub use notice::{Destination, Due, Notice, NoticeKey, Purpose, promise, tell};
pub use progress::{Emit, Progress, progress};
pub use retry::Schedule;
pub use route::{Occasion, Routing, Setting, Standing, route};
pub use row::{Outcome, TaskEvent, TaskRow, origin_for};
pub use step::{End, Event, Over, Refused, Step, Telling, step};
pub use verdict::Verdict;
pub use words::{DeliveryStatus, EventKind, FindingCode, Kind, NotifyPolicy, Status};
