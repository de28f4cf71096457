//! Named pause points: a test names one in `TENURE_PAUSE`, and the process that comes by stops itself there
//! until the test has done its worst. Release builds have none.

use std::sync::OnceLock;

/// Stops this process if a test asked for it here.
#[inline]
pub fn point(name: &str) {
    if cfg!(debug_assertions) && wanted().is_some_and(|wanted| wanted == name) {
        crate::system::stop_self();
    }
}

fn wanted() -> Option<&'static str> {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    WANTED.get_or_init(|| std::env::var("TENURE_PAUSE").ok()).as_deref()
}

/// Every pause point, in the order in which a run passes them.
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
