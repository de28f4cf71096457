//! What the tests stand on: an installation of Tenure of their own, real processes, and waits with a deadline.
//! Nothing here signals anything but processes that the test itself started, by exact pid.

pub mod acp;
pub mod aftermath;
pub mod agent;
pub mod api;
pub mod background;
pub mod bystander;
pub mod conversation;
pub mod crib;
pub mod forsake;
pub mod home;
pub mod install;
pub mod known;
pub mod ledger;
pub mod mcp;
pub mod namespace;
pub mod notices;
pub mod pauses;
pub mod place;
pub mod proc;
pub mod receiver;
pub mod remains;
pub mod says;
pub mod served;
pub mod shell;
pub mod shown;
pub mod started;
pub mod tasks;
pub mod terminal;
pub mod told;
pub mod tool_run;
pub mod unmoved;
pub mod websocket;
pub mod witness;

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up: far longer than it ever takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until `look` finds something. There is no event for what other processes do to each other, so this
/// looks again every few milliseconds, and fails with `what` after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// The same with a deadline of one's own.
#[track_caller]
pub fn within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {patience:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(3));
    }
}
