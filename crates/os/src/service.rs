//! The service manager of this system, and the daemon's messages to it.

use crate::system;
use std::time::Duration;

/// The service managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// systemd, on Linux.
    Systemd,
    /// launchd, on macOS.
    Launchd,
    /// The task scheduler of Windows.
    Scheduler,
}

/// Returns the service manager of this system, even if it does not run.
pub fn manager() -> Manager {
    system::MANAGER
}

/// The daemon's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    Ready,
    Stopping,
    Alive,
}

/// Tells the service manager that this daemon serves. Without one, nothing happens.
pub fn ready() {
    system::tell_manager(News::Ready);
}

/// Tells the service manager that this daemon stops.
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
