//! What the tests stand on: an installation of Tenure of their own, real processes, and waits with a deadline.
//! Nothing here signals anything but processes that the test itself started, by exact pid.

#[cfg(feature = "linux")]
mod linux;
pub mod matrix;
pub mod started;

#[cfg(feature = "linux")]
pub use linux::*;
use std::path::PathBuf;
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

/// A trial against the clock: its unit of time is doubled until what has to come in time does. A machine that is too
/// busy makes the trial longer; what is wrong at every pace is a fault.
#[track_caller]
pub fn at_some_pace<T>(unit: Duration, trial: impl FnMut(Duration) -> Option<T>) -> T {
    [1, 2, 4, 8, 16].map(|slower| slower * unit).into_iter().find_map(trial).expect("in time at some pace")
}

/// A duration as an option takes it.
pub fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// How late programs of the tests begin, if that was asked for at the build, as by `just shake`: who does not wait until
/// one is ready is found.
pub fn lateness() -> Duration {
    Duration::from_millis(option_env!("LATE_MS").map_or(0, |ms| ms.parse().expect("milliseconds")))
}

/// Begins so late.
pub fn begin_late() {
    std::thread::park_timeout(lateness());
}

/// The two ways in which a command can be connected, as flags of `run`.
pub const TRANSPORTS: [&[&str]; 2] = [&[], &["--pty"]];

/// Finds a program of this package: test executables lie in a directory below the programs.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    let dir = own.parent().and_then(|dir| if dir.ends_with("deps") { dir.parent() } else { Some(dir) });
    let path = dir.expect("a directory").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is not built: run the tests with cargo nextest", path.display());
    path
}
