//! What this machine offers, for `tenure doctor` and set-up. It only looks.

use super::{check, executable, filesystem, private, wide};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
use windows_sys::Win32::UI::Shell::IsUserAnAdmin;

/// Whether this process acts with an administrator's rights.
pub fn is_root() -> bool {
    // SAFETY: nothing is passed.
    unsafe { IsUserAnAdmin() != 0 }
}

/// There is no systemd here.
pub fn has_systemd() -> bool {
    false
}

/// There is no systemd here.
pub fn user_manager() -> Result<(), String> {
    Err("Windows has the task scheduler".to_owned())
}

/// A task that begins when its user logs on ends when the user logs off.
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
    Err(io::Error::new(io::ErrorKind::Unsupported, "Windows has jobs, and no control groups"))
}

/// Whether this process may make something in a directory.
pub fn may_write(directory: &Path) -> io::Result<()> {
    if executable::may_add(directory) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
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
    /// Whether orphans can be made to come back to a keeper: here a job holds them.
    pub subreaper: bool,
    /// Whether it lists the children of a process.
    pub child_lists: bool,
    /// How other users' processes are hidden, if they are.
    pub hidepid: Option<String>,
    /// The largest pid.
    pub pid_max: Option<u64>,
}

/// Looks at the kernel.
pub fn kernel() -> Kernel {
    Kernel {
        release: "Windows".to_owned(),
        pidfd: crate::process::own().map(drop).map_err(|error| error.to_string()),
        pidfs: false,
        subreaper: false,
        child_lists: false,
        hidepid: None,
        pid_max: None,
    }
}

/// How many processes there are, and how many there may be: nobody says.
pub fn user_processes() -> (u64, Option<u64>) {
    (super::listed().map_or(0, |all| all.len()) as u64, None)
}

/// A file or directory, and what it lies on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lies {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The permission bits that would say of others what its access list does.
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
    let directory = if meta.is_dir() { path } else { path.parent().unwrap_or(path) };
    let (name, mut free) = (wide(std::path::absolute(directory)?), 0);
    // SAFETY: the name ends in a zero; the place is ours, and what is not asked for has none.
    check(unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, null_mut(), null_mut()) })?;
    Ok(Some(Lies {
        is_dir: meta.is_dir(),
        mode: if private::is_private(path)? { 0o700 } else { 0o755 },
        is_own: private::is_own(path)?,
        network: filesystem::remote(path)?.map(|_| "a network drive"),
        free,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_described_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        crate::file::Dir::make(&own).unwrap();
        let lies = lies(&own).unwrap().unwrap();
        assert!(lies.is_dir && lies.is_own && lies.network.is_none() && lies.free > 0, "{lies:?}");
        assert_eq!(super::lies(&dir.path().join("none")).unwrap(), None);
        assert!(may_write(&own).is_ok());
    }
}
