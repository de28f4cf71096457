//! What `service.rs` promises, with systemd.

use crate::service::{Manager, News};

pub(crate) const MANAGER: Manager = Manager::Systemd;

pub(crate) fn tell_manager(news: News) {
    let state = match news {
        News::Ready => sd_notify::NotifyState::Ready,
        News::Stopping => sd_notify::NotifyState::Stopping,
    };
    // Whoever runs us under systemd waits for this; elsewhere nobody listens.
    let _ = sd_notify::notify(&[state]);
}
