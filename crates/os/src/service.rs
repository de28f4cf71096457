//! What starts daemons on this system, and what such a one tells it.

use crate::system;
use std::time::Duration;

/// What starts daemons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// systemd, on Linux.
    Systemd,
    /// launchd, on macOS.
    Launchd,
    /// The task scheduler of Windows.
    Scheduler,
}

/// The one of this system, whether it runs or not.
pub fn manager() -> Manager {
    system::MANAGER
}

/// What a daemon tells whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    Ready,
    Stopping,
    Alive,
}

/// Tells whoever started this daemon that it serves. Where nobody listens, nothing happens.
pub fn ready() {
    system::tell_manager(News::Ready);
}

/// Tells whoever started this daemon that it leaves.
pub fn stopping() {
    system::tell_manager(News::Stopping);
}

/// Tells the service manager that this daemon is alive.
pub fn alive() {
    system::tell_manager(News::Alive);
}

/// Returns the time of silence after which the service manager takes this daemon for hung, if it watches.
pub fn watchdog() -> Option<Duration> {
    system::watchdog()
}
