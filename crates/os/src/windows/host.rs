//! The capabilities of this machine, for `tenure doctor` and setup. Nothing is changed.

use super::{check, filesystem, length_of, private, wide};
use crate::host::{Kernel, Lies, OwnGroup};
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsHandle;
use std::path::Path;
use std::ptr::null_mut;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ADD_FILE, FILE_ADD_SUBDIRECTORY, FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW,
};
use windows_sys::Win32::System::JobObjects::{
    IsProcessInJob, JOB_OBJECT_LIMIT_BREAKAWAY_OK, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, QueryInformationJobObject,
};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Returns true if this process has administrator rights.
pub fn is_root() -> bool {
    private::is_elevated().unwrap_or(false)
}

/// Returns false: there is no systemd here.
pub fn has_systemd() -> bool {
    false
}

/// Fails: there is no systemd here.
pub fn user_manager() -> Result<(), String> {
    Err("Windows has no systemd".to_owned())
}

/// Returns `None`: the processes of a user end when the user logs out.
pub fn lingers() -> Option<bool> {
    None
}

/// Fails: there are no control groups here.
pub fn own_group() -> io::Result<OwnGroup> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "Windows has no control groups: each run has a job"))
}

/// Returns what would end a daemon that is started from here together with its caller; `None` if nothing is known
/// to.
pub fn bound_to() -> Option<String> {
    let flags = own_job().ok()??;
    let leaves = flags & (JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK) != 0;
    let ends = flags & JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE != 0;
    (ends && !leaves).then(|| {
        "the job that this process is in, which nobody may leave and which ends all in it with itself"
            .to_owned()
    })
}

/// Returns the limits of the job that this process is in; `None` if it is in none.
fn own_job() -> io::Result<Option<u32>> {
    let (mut is, mut limits) = (0, JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default());
    let (place, len) = ((&raw mut limits).cast(), length_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>());
    // SAFETY: no job is named, so the calls are about any job and this process's own; both places are ours, of the
    // lengths that are given, and written by the calls.
    unsafe {
        check(IsProcessInJob(GetCurrentProcess(), null_mut(), &raw mut is))?;
        if is == 0 {
            return Ok(None);
        }
        check(QueryInformationJobObject(
            null_mut(),
            JobObjectExtendedLimitInformation,
            place,
            len,
            null_mut(),
        ))?;
    }
    Ok(Some(limits.BasicLimitInformation.LimitFlags))
}

/// Checks that this process may create files in a directory.
pub fn may_write(directory: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.access_mode(FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    options.open(directory).map(drop)
}

/// Examines the kernel.
pub fn kernel() -> Kernel {
    let own = crate::process::own();
    Kernel {
        release: release(),
        pidfs: false,
        child_lists: super::all_pids().is_ok(),
        pidfd: own.map(drop).map_err(|error| error.to_string()),
        subreaper: true,
        hidepid: None,
        pid_max: Some(u64::from(u32::MAX)),
    }
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn RtlGetVersion(version: *mut OSVERSIONINFOW) -> i32;
}

/// Returns the system's release. All other calls return the release that the program was made for.
fn release() -> String {
    let mut version =
        OSVERSIONINFOW { dwOSVersionInfoSize: length_of::<OSVERSIONINFOW>(), ..Default::default() };
    // SAFETY: the structure is ours, says its length, and is written by the call, which never fails.
    unsafe { RtlGetVersion(&raw mut version) };
    format!("{}.{}.{}", version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber)
}

/// Returns the number of this user's processes, and its limit, which does not exist here.
pub fn user_processes() -> (u64, Option<u64>) {
    let Ok(me) = private::user() else { return (0, None) };
    let is_mine = |pid: &i32| {
        let process = super::open_process(*pid).ok().flatten();
        process.is_some_and(|process| private::user_of(process.as_handle()).is_ok_and(|user| user == me))
    };
    (super::all_pids().unwrap_or_default().iter().filter(|pid| is_mine(pid)).count() as u64, None)
}

/// Examines a file or directory; `None` if there is none.
pub fn lies(path: &Path) -> io::Result<Option<Lies>> {
    let path = &std::path::absolute(path)?;
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let directory = if meta.is_dir() { path } else { path.parent().unwrap_or(path) };
    Ok(Some(Lies {
        is_dir: meta.is_dir(),
        mode: if private::is_private(path)? { 0o700 } else { 0o755 },
        is_own: private::is_own(path)?,
        network: filesystem::remote(path)?.map(|_| "a network drive"),
        free: free(directory)?,
    }))
}

fn free(directory: &Path) -> io::Result<u64> {
    let (name, mut free) = (wide(directory), 0);
    // SAFETY: the name ends in a zero; the count is ours, and the pointers for unused results are null.
    check(unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, null_mut(), null_mut()) })?;
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_looked_at_without_rights() {
        let kernel = kernel();
        assert!(kernel.pidfd.is_ok() && kernel.child_lists && !kernel.release.starts_with('0'), "{kernel:?}");
        let (count, _) = user_processes();
        assert!(count >= 1);
        own_job().unwrap();
    }

    #[test]
    fn a_directory_is_described_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let made = crate::file::Dir::make(&dir.path().join("private")).unwrap();
        let lies = lies(made.path()).unwrap().unwrap();
        assert!(lies.is_dir && lies.mode == 0o700 && lies.network.is_none() && lies.free > 0, "{lies:?}");
        may_write(made.path()).unwrap();
        assert_eq!(super::lies(&dir.path().join("none")).unwrap(), None);
        assert!(may_write(&dir.path().join("none")).is_err());
    }
}
