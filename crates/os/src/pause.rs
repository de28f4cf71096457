//! Named pause points, for tests of crashes: a test names one in `TENURE_PAUSE`, the process that reaches it stops
//! itself there, and the test kills or continues it. Release builds have none. CONTRIBUTING.md has a table of all
//! points, generated from the two lists in this file.

use std::sync::OnceLock;

/// Stops this process if a test named this point, which must be a listed one.
#[inline]
pub fn point(name: &str) {
    debug_assert!(POINTS.contains(&name) || DAEMON_POINTS.contains(&name), "{name} is on no list");
    if cfg!(debug_assertions) && wanted().is_some_and(|wanted| wanted == name) {
        crate::system::stop_self();
    }
}

fn wanted() -> Option<&'static str> {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    WANTED.get_or_init(|| std::env::var("TENURE_PAUSE").ok()).as_deref()
}

/// The pause points of a run's own processes, in the order in which a run passes them.
pub const POINTS: [&str; 13] = [
    "caller-before-launch",
    "nursery-before-fork",
    "keeper-begun",
    "keeper-locked",
    "keeper-root-forked",
    "root-before-gate",
    "keeper-note-written",
    "root-before-exec",
    "keeper-released",
    "keeper-started",
    "keeper-root-exited",
    "keeper-before-ending",
    "keeper-after-ending",
];

/// The pause points around the durable records of a state root (`instance-*`) and of a daemon.
pub const DAEMON_POINTS: [&str; 24] = [
    "instance-drafted",
    "instance-written",
    "daemon-row-written",
    "daemon-launched",
    "daemon-before-started",
    "daemon-after-started",
    "daemon-before-ending",
    "daemon-after-ending",
    "daemon-before-steal",
    "daemon-after-steal",
    "daemon-cancel-asked",
    "daemon-before-seen",
    "daemon-after-seen",
    "daemon-before-delivery",
    "daemon-after-delivery",
    "daemon-sessions-marked",
    "daemon-session-closed",
    "daemon-before-turn-run",
    "daemon-after-turn-run",
    "daemon-before-turn-end",
    "daemon-turn-ended",
    "daemon-acp-before-record",
    "daemon-acp-after-record",
    "daemon-acp-before-give",
];
