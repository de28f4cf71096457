//! Implements `service.rs` with systemd.

use crate::service::{Manager, News};
use std::time::Duration;

pub(crate) const MANAGER: Manager = Manager::Systemd;

pub(crate) fn tell_manager(news: News) {
    let state = match news {
        News::Ready => sd_notify::NotifyState::Ready,
        News::Stopping => sd_notify::NotifyState::Stopping,
        News::Alive => sd_notify::NotifyState::Watchdog,
    };
    // A systemd unit waits for this; without systemd, nobody listens.
    let _ = sd_notify::notify(&[state]);
}

pub(crate) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}
