//! What the scenarios of the OS matrix stand on: an installation of Tenure of their own, driven by its command line as a
//! user drives it, players as its commands, and waits with a deadline. It is one text for every system; what a system
//! cannot do is in [`exceptions`]. Nothing here ends anything but what a test has identified.

pub mod audit;
pub mod book;
pub mod exceptions;
pub mod home;
pub mod known;
pub mod records;
pub mod started;

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up: far longer than it ever takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The two ways in which a command can be connected, as flags of `run`.
pub const TRANSPORTS: [&[&str]; 2] = [&[], &["--pty"]];

/// Waits until `look` finds something. There is no event for what other processes do to each other, so this looks
/// again every few milliseconds, and fails with `what` after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(3));
    }
}
