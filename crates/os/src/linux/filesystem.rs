//! The kind of file system of a path. Locks and memory shared by the processes of a machine work only on local
//! ones.

use rustix::fs::{statfs, statvfs};
use std::io;
use std::path::Path;

/// The kernel's numbers of network file systems, with their common names.
const REMOTE: [(u32, &str); 13] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x786f_4256, "a shared folder of VirtualBox"),
];

/// The number of every FUSE file system; the list of mounts tells which one it is.
const FUSE: u32 = 0x6573_5546;

/// File systems in user space, or of the machine's own host, that are known to be local. Others may reach across
/// the network, and there is no way to ask.
const LOCAL_FUSE: [&str; 11] = [
    "fuseblk",
    "virtiofs",
    "fuse.bindfs",
    "fuse.cryfs",
    "fuse.encfs",
    "fuse.exfat",
    "fuse.fuse-overlayfs",
    "fuse.gocryptfs",
    "fuse.mergerfs",
    "fuse.ntfs-3g",
    "fuse.unionfs",
];

/// Returns the bytes that this user may still write to the file system of `path`, and its total size.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    let told = statvfs(path)?;
    Ok((told.f_bavail.saturating_mul(told.f_frsize), told.f_blocks.saturating_mul(told.f_frsize)))
}

/// Returns the name of the network file system of `path`; `None` if it is local.
pub fn remote(path: &Path) -> io::Result<Option<String>> {
    // The type's width and sign differ between machines; the number itself has 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits are all there is")]
    let kind = statfs(path)?.f_type as u32;
    if let Some((_, name)) = REMOTE.iter().find(|(number, _)| *number == kind) {
        return Ok(Some((*name).to_owned()));
    }
    if kind != FUSE {
        return Ok(None);
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let name = type_at(&mounts, &path.canonicalize()?).unwrap_or("fuse");
    Ok((!LOCAL_FUSE.contains(&name)).then(|| name.to_owned()))
}

/// Returns the type of the file system at a path: that of the last mount among the longest mount points above it.
fn type_at<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let entries = mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = crate::linux::mountinfo::unescape(mount.split(' ').nth(4)?);
        Some((point, kind.split(' ').next()?))
    });
    let above = entries.filter(|(point, _)| path.starts_with(point));
    above.max_by_key(|(point, _)| Path::new(point).components().count()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_the_tests_is_local() {
        assert_eq!(remote(Path::new("/proc")).unwrap(), None);
    }

    #[test]
    fn the_innermost_and_latest_mount_decides() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      2 1 0:40 / /home/me/far\\040away rw shared:1 - fuse.sshfs me@host:/ rw\n\
                      3 1 0:41 / /home/me/twice rw - fuse.sshfs me@host:/ rw\n\
                      4 1 0:42 / /home/me/twice rw - fuse.gocryptfs x rw\n";
        assert_eq!(type_at(mounts, Path::new("/home/me/far away/state")), Some("fuse.sshfs"));
        assert_eq!(type_at(mounts, Path::new("/home/me/twice")), Some("fuse.gocryptfs"));
        assert_eq!(type_at(mounts, Path::new("/home/me/far")), Some("ext4"));
    }
}
