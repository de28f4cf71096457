//! The variables that a process is given.

/// Those that programs count on, wherever they are started from.
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

/// Where programs are looked for by whoever has no PATH.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether two names mean the same variable.
pub fn same_name(one: &[u8], other: &[u8]) -> bool {
    one == other
}

/// The user that this process acts as, as the system's own tools want to be told.
pub fn user() -> String {
    rustix::process::geteuid().as_raw().to_string()
}
