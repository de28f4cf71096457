//! The capabilities of this machine, for `tenure doctor` and setup. Nothing is changed.

pub use crate::system::host::*;

use std::path::PathBuf;

/// The control group that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    /// The group's directory.
    pub directory: PathBuf,
    /// The group's name.
    pub name: String,
}

/// The capabilities of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel's release.
    pub release: String,
    /// `Ok` if a descriptor can hold a process; the error says why not.
    pub pidfd: Result<(), String>,
    /// True if each process has a unique number that is never reused.
    pub pidfs: bool,
    /// True if a keeper can hold orphans: they come back to it, or a job holds them.
    pub subreaper: bool,
    /// True if the system lists the children of a process.
    pub child_lists: bool,
    /// The mode in which other users' processes are hidden, if they are.
    pub hidepid: Option<String>,
    /// The largest pid.
    pub pid_max: Option<u64>,
}

/// A file or directory, with its file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lies {
    /// True for a directory.
    pub is_dir: bool,
    /// The permission bits; on Windows, the access list translated to such bits.
    pub mode: u32,
    /// True if this user owns it.
    pub is_own: bool,
    /// The name of its network file system, if it is on one.
    pub network: Option<&'static str>,
    /// The bytes that may still be written there.
    pub free: u64,
}
