//! What this machine offers, for `tenure doctor` and set-up. It only looks.

use super::filesystem;
use super::info::{self, Which};
use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether this process acts as the superuser.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// There is no systemd here.
pub fn has_systemd() -> bool {
    false
}

/// There is no systemd here.
pub fn user_manager() -> Result<(), String> {
    Err("macOS has launchd".to_owned())
}

/// An agent of launchd is there while its user is logged in.
pub fn lingers() -> Option<bool> {
    None
}

/// The control group that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    /// Its directory.
    pub directory: PathBuf,
    /// Its name.
    pub name: String,
}

/// There are no control groups here.
pub fn own_group() -> io::Result<OwnGroup> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "macOS has no control groups"))
}

/// What would take a daemon that is started from here along with its own end; `None` if nothing is known to.
pub fn bound_to() -> Option<String> {
    None
}

/// Whether this process may make something in a directory.
pub fn may_write(directory: &Path) -> io::Result<()> {
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(Into::into)
}

/// What the kernel offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its release.
    pub release: String,
    /// Whether processes can be held; the error says why not.
    pub pidfd: Result<(), String>,
    /// Whether each process has a number of its own that is never used again.
    pub pidfs: bool,
    /// Whether orphans can be made to come back to a keeper: not here.
    pub subreaper: bool,
    /// Whether it lists the children of a process.
    pub child_lists: bool,
    /// How other users' processes are hidden, if they are.
    pub hidepid: Option<String>,
    /// The largest pid.
    pub pid_max: Option<u64>,
}

/// The largest number that a process is given (`PID_MAX`).
const PID_MAX: u64 = 99_999;

/// Looks at the kernel.
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

/// How many processes this user has, and how many it may have.
pub fn user_processes() -> (u64, Option<u64>) {
    let count = super::all_pids().map_or(0, |pids| pids.len()) as u64;
    (count, getrlimit(Resource::Nproc).current)
}

/// A file or directory, and what it lies on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lies {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The permission bits.
    pub mode: u32,
    /// Whether it is this user's.
    pub is_own: bool,
    /// The network file system that it lies on, if it does.
    pub network: Option<&'static str>,
    /// How many bytes may still be written there.
    pub free: u64,
}

/// Looks at a file or directory; `None` if there is none.
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

/// What people call the network file systems.
fn known(name: &str) -> &'static str {
    match name {
        "nfs" => "NFS",
        "smbfs" => "SMB",
        "afpfs" => "AFP",
        "webdav" => "WebDAV",
        _ => "a network file system",
    }
}
