//! This program's own file, executed again.

use crate::socket::Conn;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Freed memory is joined at once instead of being kept in small pieces all over the heap: a fork pays for each page
/// that it touches.
const TUNABLES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0");

/// Executes this program again with these arguments, no environment of ours, the connection as its standard
/// input and a log file as its standard error. Returns the pid of the new child.
#[expect(clippy::disallowed_methods, reason = "the one program that Tenure starts is itself")]
pub fn start_self(arguments: &[&OsStr], conn: Conn, log: &Path) -> io::Result<i32> {
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tenure").args(arguments).env_clear().current_dir("/");
    command.env(TUNABLES.0, TUNABLES.1);
    if cfg!(debug_assertions) {
        command.envs(std::env::var_os("TENURE_PAUSE").map(|name| ("TENURE_PAUSE", name)));
    }
    let child = command.stdin(conn.into_fd()).stdout(Stdio::null()).stderr(log).spawn()?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

/// The connection that this program was started with, out of its standard input's place.
pub fn inherited_conn() -> io::Result<Conn> {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    Conn::from_fd(copy)
}

/// The name under which this process is listed.
pub fn set_name(name: &std::ffi::CStr) {
    // A name is for people; one that cannot be set is no reason to fail.
    let _ = rustix::thread::set_name(name);
}
