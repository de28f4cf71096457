//! Support for tests: an installation of Tenure per test, real processes, and waits with a deadline. Signals go only to
//! processes that the test itself started, by exact pid.

pub mod child_program;
#[cfg(feature = "linux")]
mod linux;
pub mod matrix;

#[cfg(feature = "linux")]
pub use linux::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time limit of every wait: far longer than anything takes on a busy machine.
pub const WAIT_LIMIT: Duration = Duration::from_mins(1);

/// Waits until `look` returns a value. There is no event for other processes' actions, so this polls every
/// few milliseconds, and fails with `what` after [`WAIT_LIMIT`].
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(WAIT_LIMIT, what, look)
}

/// [`eventually`] with another deadline.
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

/// Retries a timing-dependent trial with twice the unit of time, until it succeeds. A busy machine makes the
/// trial longer; a failure at every pace is a fault.
#[track_caller]
pub fn at_some_pace<T>(unit: Duration, trial: impl FnMut(Duration) -> Option<T>) -> T {
    [1, 2, 4, 8, 16].map(|slower| slower * unit).into_iter().find_map(trial).expect("success at some pace")
}

/// True if sampled tests must cover their whole range, as for `just test-all`.
pub fn is_whole_range() -> bool {
    std::env::var_os("TENURE_TEST_ALL").is_some()
}

/// Every `step`th case, or all of them for `just test-all`.
pub fn sample<T>(all: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_whole_range() { 1 } else { step })
}

/// Formats a duration for an option.
pub fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// Delay at the start of the tests' programs, set at build time by `just shake`: it exposes tests that do not
/// wait until a program is ready.
pub fn lateness() -> Duration {
    Duration::from_millis(option_env!("LATE_MS").map_or(0, |ms| ms.parse().expect("milliseconds")))
}

/// Sleeps for [`lateness`].
pub fn begin_late() {
    std::thread::park_timeout(lateness());
}

/// The two ways to connect a command, as flags of `run`.
pub const TRANSPORTS: [&[&str]; 2] = [&[], &["--pty"]];

/// Finds a program of this package: test executables lie in a directory below the programs.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    let dir = own.parent().and_then(|dir| if dir.ends_with("deps") { dir.parent() } else { Some(dir) });
    let path = dir.expect("a directory").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is not built: run the tests with cargo nextest", path.display());
    path
}
