//! The capabilities of this machine, for `tenure doctor` and setup. Nothing is changed.

use crate::host::{Kernel, Lies, OwnGroup};
use crate::linux::{self, mountinfo};
use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Returns true if this process acts as the superuser.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns true if systemd manages this machine.
pub fn has_systemd() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Checks that the user's own systemd answers; the error says why not.
pub fn user_manager() -> Result<(), String> {
    let uid = rustix::process::geteuid().as_raw();
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let socket = named.unwrap_or_else(|| format!("/run/user/{uid}").into()).join("systemd/private");
    UnixStream::connect(&socket).map(drop).map_err(|error| format!("{}: {error}", socket.display()))
}

/// Returns true if the user's services outlive the user's sessions; `None` if that is unknown.
pub fn lingers() -> Option<bool> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    let name = listed.or_else(|| std::env::var("USER").ok())?;
    let list = Path::new("/var/lib/systemd/linger");
    list.is_dir().then(|| list.join(name).exists()).or(Some(false))
}

/// Returns the control group of version 2 that this process is in.
pub fn own_group() -> io::Result<OwnGroup> {
    let own = mountinfo::own_cgroup()?;
    // Removes the trailing slash that the top group has.
    Ok(OwnGroup { directory: own.directory.components().collect(), name: own.name })
}

/// Returns what would end a daemon that is started from here together with its caller; `None` if nothing is known
/// to. For systemd, the caller judges by the name of the group.
pub fn bound_to() -> Option<String> {
    None
}

/// Checks that this process may create files in a directory.
pub fn may_write(directory: &Path) -> io::Result<()> {
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(Into::into)
}

/// Examines the kernel.
pub fn kernel() -> Kernel {
    let own = crate::process::own();
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    Kernel {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        pidfs: own.as_ref().is_ok_and(|own| own.pidfs_inode.is_some()),
        pidfd: own.map(drop).map_err(|error| error.to_string()),
        subreaper: rustix::process::child_subreaper().is_ok(),
        child_lists: linux::children_listed(pid).is_some(),
        hidepid: fs::read_to_string("/proc/self/mountinfo").ok().and_then(|text| mountinfo::hidepid(&text)),
        pid_max: fs::read_to_string("/proc/sys/kernel/pid_max")
            .ok()
            .and_then(|text| text.trim().parse().ok()),
    }
}

/// Returns the number of this user's processes, threads included, and its limit.
pub fn user_processes() -> (u64, Option<u64>) {
    let threads = |pid: i32| fs::read_dir(format!("/proc/{pid}/task")).map_or(1, Iterator::count) as u64;
    let pids = linux::all_pids().unwrap_or_default();
    let count = pids.into_iter().filter(|&pid| linux::is_of_user(pid)).map(threads).sum();
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
    let block = u64::try_from(system.f_bsize).unwrap_or(0);
    Ok(Some(Lies {
        is_dir: meta.is_dir(),
        mode: meta.mode() & 0o7777,
        is_own: meta.uid() == rustix::process::geteuid().as_raw(),
        network: network(system.f_type),
        free: system.f_bavail.saturating_mul(block),
    }))
}

/// Returns the name of a network file system by its number in statfs(2). Locks and a registry are unsafe there.
/// FUSE may be a network file system or a local one, which cannot be told apart here.
fn network(kind: i64) -> Option<&'static str> {
    match kind {
        0x6969 => Some("NFS"),
        0x517b => Some("SMB"),
        0xff53_4d42 | 0xfe53_4d42 => Some("CIFS"),
        0x0102_1997 => Some("9p"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f => Some("AFS"),
        0x7461_636f => Some("OCFS2"),
        0x0bd0_0bd0 => Some("Lustre"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_looked_at_without_rights() {
        let kernel = kernel();
        assert!(kernel.pidfd.is_ok() && kernel.subreaper && !kernel.release.is_empty(), "{kernel:?}");
        let (count, _) = user_processes();
        assert!(count >= 1);
    }

    #[test]
    fn a_directory_is_described_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let lies = lies(dir.path()).unwrap().unwrap();
        assert!(lies.is_dir && lies.is_own && lies.mode == 0o700 && lies.network.is_none(), "{lies:?}");
        assert_eq!(super::lies(&dir.path().join("none")).unwrap(), None);
    }

    #[test]
    fn network_file_systems_are_known() {
        assert_eq!(network(0x6969), Some("NFS"));
        assert_eq!(network(0xef53), None);
    }
}
