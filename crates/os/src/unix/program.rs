//! Executes this program's own file again.

use crate::socket::Conn;
use crate::system;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tenure_core::ids::LeaseId;

/// Starts this program again with these arguments, none of our environment, the connection as its standard input
/// and a log file as its standard error. Returns the pid of the new child.
pub fn start_self(arguments: &[&OsStr], conn: Conn, log: &Path) -> io::Result<i32> {
    start(arguments, system::TUNABLES.map(|(name, value)| (name.into(), value.into())), conn, log)
}

/// Starts it in the same way, but with an environment.
#[expect(clippy::disallowed_methods, reason = "the one program that Tenure starts is itself")]
pub fn start(
    arguments: &[&OsStr],
    env: impl IntoIterator<Item = (OsString, OsString)>,
    conn: Conn,
    log: &Path,
) -> io::Result<i32> {
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
    let mut command = Command::new(system::own_program()?);
    command.arg0("tenure").args(arguments).env_clear().envs(env).current_dir("/");
    if cfg!(debug_assertions) {
        command.envs(std::env::var_os("TENURE_PAUSE").map(|name| ("TENURE_PAUSE", name)));
    }
    let child = command.stdin(conn.into_fd()).stdout(Stdio::null()).stderr(log).spawn()?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

/// Returns the connection that this program was started with, and takes it off the place of standard input.
pub fn inherited_conn() -> io::Result<Conn> {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    Conn::from_fd(copy)
}

/// Returns true if this process belongs to a run: a keeper or a nursery is above it, it is in a run's control
/// group, or it has a run's lease and its ancestors are hidden. Processes that are started here may end with that
/// run. A hint only: no signal depends on it, and a process that fakes it only has to do without a daemon.
pub fn is_inside_a_run() -> bool {
    let own = system::own_pid_in_proc();
    crate::process::ancestors(own).into_iter().any(system::is_keeper_or_nursery)
        || crate::enclosure::run_of(own).is_some()
        || (carries_a_lease() && !system::sees_all_ancestors())
}

fn carries_a_lease() -> bool {
    std::env::var("TENURE_LEASE_ID").is_ok_and(|lease| lease.parse::<LeaseId>().is_ok())
}

/// Sets the name under which this process is listed.
pub fn set_name(name: &std::ffi::CStr) {
    system::set_name(name);
}
