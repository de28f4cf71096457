//! Executes this program's own file again.

use super::fork;
use super::{inheritable, own, private, wide};
use crate::fork::ChildSpec;
use crate::process::Process;
use crate::socket::Conn;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;
use windows_sys::Win32::Storage::FileSystem::SYNCHRONIZE;
use windows_sys::Win32::System::Threading::{CreateEventW, OpenEventW};

/// Starts this program again with these arguments, none of our environment, the connection for [`inherited_conn`],
/// and a log file as its standard error. Returns the pid of the new child.
pub fn start_self(arguments: &[&OsStr], conn: Conn, log: &Path) -> io::Result<i32> {
    start(arguments, [], conn, log)
}

/// Starts it in the same way, but with an environment.
pub fn start(
    arguments: &[&OsStr],
    env: impl IntoIterator<Item = (OsString, OsString)>,
    conn: Conn,
    log: &Path,
) -> io::Result<i32> {
    let log = OpenOptions::new().append(true).create(true).open(log)?;
    let conns = [conn];
    let child =
        ChildSpec { words: arguments, message: &Vec::new, conns: &conns, inherits_environment: false };
    fork::send(&child, env.into_iter().collect(), inheritable(log.as_handle())?)
}

/// Returns the connection that this program was started with.
pub fn inherited_conn() -> io::Result<Conn> {
    let (_, _, mut conns) = fork::take_message()?;
    conns
        .pop()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this program was started with no connection"))
}

/// Returns true if this process belongs to a run: a keeper or a nursery is above it, by the mark that those set. A
/// hint only: no signal depends on it.
pub fn is_inside_a_run() -> bool {
    let own = std::process::id().cast_signed();
    let ours = ["tenure-keeper", "tenure-nursery"];
    crate::process::ancestors(own).into_iter().any(|pid| ours.iter().any(|name| is_marked(name, pid)))
}

/// Sets the name under which other processes of ours know this one. Windows lists processes by their file alone, so
/// the name is a mark that exists as long as the process.
pub fn set_name(name: &std::ffi::CStr) {
    let Some(mark) = name.to_str().ok().and_then(|name| mark(name, std::process::id().cast_signed())) else {
        return;
    };
    let mark = wide(mark);
    let Ok(alone) = private::Descriptor::of_this_user() else { return };
    let attributes = alone.attributes();
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    let made = own(unsafe { CreateEventW(&raw const attributes, 1, 0, mark.as_ptr()) });
    // The name is a hint; a failure is ignored. The mark goes with the process.
    std::mem::forget(made);
}

/// Returns the mark of a process. A pid may have been reused, so the mark contains the creation time.
fn mark(name: &str, pid: i32) -> Option<String> {
    let process = Process::open(pid).ok()??;
    Some(format!("Global\\{name}-{pid}-{}", process.identity().start_time))
}

fn is_marked(name: &str, pid: i32) -> bool {
    let Some(mark) = mark(name, pid) else { return false };
    let mark = wide(mark);
    // SAFETY: the name ends in a zero.
    own(unsafe { OpenEventW(SYNCHRONIZE, 0, mark.as_ptr()) }).is_ok()
}
