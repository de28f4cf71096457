//! The environment variables of a process.

/// Variables that programs expect, wherever they are started.
pub const EVERYDAY: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "TERM",
    "HOSTNAME",
];

/// The search path of a process without PATH.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns true if two names mean the same variable.
pub fn same_name(one: &[u8], other: &[u8]) -> bool {
    one == other
}

/// Returns the effective user of this process, in the form that the system's own tools expect.
pub fn user() -> String {
    rustix::process::geteuid().as_raw().to_string()
}
