//! Tests of the facades' promises on the real system. Tests that fork, lock or list a whole tree need a process of
//! their own: they are in `crates/it`, as experiments of its `lab`.

mod beneath;
mod buffer;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(windows)]
mod children;
#[cfg(windows)]
mod console;
mod file;
#[cfg(windows)]
mod job;
#[cfg(unix)]
mod links;
mod lock;
#[cfg(windows)]
mod pipes;
mod poll;
#[cfg(unix)]
mod private;
mod process;
mod program;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
mod refused;
mod role;
#[cfg(unix)]
mod shell;
mod signals;
mod socket;
#[cfg(unix)]
mod strays;
#[cfg(feature = "async")]
mod stream;
mod terminal;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(target_os = "linux")]
use shell::Shell;
#[cfg(unix)]
use shell::shell;
use std::time::{Duration, Instant};

/// Polls every few milliseconds, because other processes send no events.
#[track_caller]
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
