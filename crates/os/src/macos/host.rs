//! The capabilities of this machine, for `tenure doctor` and setup. Nothing is changed.

use super::filesystem;
use super::info::{self, Which};
use crate::host::{Kernel, Lies, OwnGroup};
use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns true if this process acts as the superuser.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns false: there is no systemd here.
pub fn has_systemd() -> bool {
    false
}

/// Fails: there is no systemd here.
pub fn user_manager() -> Result<(), String> {
    Err("macOS has launchd".to_owned())
}

/// Returns `None`: a launchd agent lives while its user is logged in.
pub fn lingers() -> Option<bool> {
    None
}

/// Fails: there are no control groups here.
pub fn own_group() -> io::Result<OwnGroup> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "macOS has no control groups"))
}

/// Returns what would end a daemon that is started from here together with its caller; `None` if nothing is known
/// to.
pub fn bound_to() -> Option<String> {
    None
}

/// Checks that this process may create files in a directory.
pub fn may_write(directory: &Path) -> io::Result<()> {
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(Into::into)
}

/// The largest pid (`PID_MAX`).
const PID_MAX: u64 = 99_999;

/// Examines the kernel.
pub fn kernel() -> Kernel {
    let own = crate::process::own();
    Kernel {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        pidfs: own.as_ref().is_ok_and(|own| own.pidfs_inode.is_some()),
        child_lists: own.as_ref().is_ok_and(|own| info::list(Which::ChildrenOf(own.pid)).is_ok()),
        pidfd: own.map(drop).map_err(|error| error.to_string()),
        subreaper: false,
        hidepid: None,
        pid_max: Some(PID_MAX),
    }
}

/// Returns the number of this user's processes, and its limit.
pub fn user_processes() -> (u64, Option<u64>) {
    let count = super::all_pids().map_or(0, |pids| pids.len()) as u64;
    (count, getrlimit(Resource::Nproc).current)
}

/// Examines a file or directory; `None` if there is none.
pub fn lies(path: &Path) -> io::Result<Option<Lies>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let system = rustix::fs::statfs(path)?;
    Ok(Some(Lies {
        is_dir: meta.is_dir(),
        mode: meta.mode() & 0o7777,
        is_own: meta.uid() == rustix::process::geteuid().as_raw(),
        network: filesystem::remote(path)?.map(|name| known(&name)),
        free: system.f_bavail.saturating_mul(system.f_bsize.into()),
    }))
}

/// Returns the common name of a network file system.
fn known(name: &str) -> &'static str {
    match name {
        "nfs" => "NFS",
        "smbfs" => "SMB",
        "afpfs" => "AFP",
        "webdav" => "WebDAV",
        _ => "a network file system",
    }
}
