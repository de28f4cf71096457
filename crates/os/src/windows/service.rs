//! Implements `service.rs` with the task scheduler, which gets no messages: it only watches the process.

use crate::service::{Manager, News};
use std::time::Duration;

pub(crate) const MANAGER: Manager = Manager::Scheduler;

pub(crate) fn tell_manager(_: News) {}

pub(crate) fn watchdog() -> Option<Duration> {
    None
}
