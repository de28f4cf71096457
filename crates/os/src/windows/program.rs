//! This program's own file, executed again.

use super::{Again, check, inheritable, inherited, nowhere, own, private, wide};
use crate::process::Process;
use crate::socket::Conn;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::Path;
use std::ptr::null_mut;
use windows_sys::Win32::Storage::FileSystem::SYNCHRONIZE;
use windows_sys::Win32::System::Console::{STD_INPUT_HANDLE, SetStdHandle};
use windows_sys::Win32::System::Threading::{CreateEventW, OpenEventW};

/// Executes this program again with these arguments, no environment of ours, the connection as its standard
/// input and a log file as its standard error. Returns the pid of the new child.
pub fn start_self(arguments: &[&OsStr], conn: Conn, log: &Path) -> io::Result<i32> {
    start(arguments, [], conn, log)
}

/// The same with an environment.
pub fn start(
    arguments: &[&OsStr],
    env: impl IntoIterator<Item = (OsString, OsString)>,
    conn: Conn,
    log: &Path,
) -> io::Result<i32> {
    let log = OpenOptions::new().append(true).create(true).open(log)?;
    let stdio =
        [inheritable(conn.as_handle())?, inheritable(nowhere()?.as_handle())?, inheritable(log.as_handle())?];
    drop(conn);
    Again { words: arguments, env: env.into_iter().collect(), stdio: stdio.each_ref(), others: &[] }.start()
}

/// The connection that this program was started with, out of its standard input's place.
pub fn inherited_conn() -> io::Result<Conn> {
    let stdin = std::io::stdin();
    let handle = stdin.as_handle().as_raw_handle();
    if handle.is_null() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no standard input"));
    }
    // SAFETY: no memory is passed. From here on nobody finds it by its place.
    check(unsafe { SetStdHandle(STD_INPUT_HANDLE, null_mut()) })?;
    Conn::from_handle(inherited(handle.addr())?)
}

/// Whether a process or one above it is a keeper, by the mark that keepers set. A hint for people's convenience:
/// nothing is signalled by it.
pub fn is_below_a_keeper() -> bool {
    let own = std::process::id().cast_signed();
    crate::process::ancestors(own).into_iter().any(|pid| is_marked("tenure-keeper", pid))
}

/// The name under which this process is known to others of ours. Windows lists processes by their file alone, so it is a
/// mark that is there for as long as the process is.
pub fn set_name(name: &std::ffi::CStr) {
    let Some(mark) = name.to_str().ok().and_then(|name| mark(name, std::process::id().cast_signed())) else {
        return;
    };
    let mark = wide(mark);
    let Ok(alone) = private::Descriptor::of_this_user() else { return };
    let attributes = alone.attributes();
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    let made = own(unsafe { CreateEventW(&raw const attributes, 1, 0, mark.as_ptr()) });
    // A name is a hint; one that cannot be set is no reason to fail. It goes with the process.
    std::mem::forget(made);
}

/// A number may have been another's before, so the mark says when its process was made.
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
