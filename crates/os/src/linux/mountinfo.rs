//! The mount of version 2 control groups, and the group of this process. In hybrid set-ups they are beside the
//! older trees, so the mount is looked up and never assumed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// This process's own group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCgroup {
    /// The group's directory.
    pub(crate) directory: PathBuf,
    /// The group's name, as `/proc/<pid>/cgroup` spells it.
    pub(crate) name: String,
}

/// Finds this process's own group.
pub(crate) fn own_cgroup() -> io::Result<OwnCgroup> {
    let mount = unified_mount()?;
    let text = std::fs::read_to_string("/proc/self/cgroup")?;
    let name = text.lines().find_map(|line| line.strip_prefix("0::"));
    match name {
        Some(name) if !name.contains("/..") => {
            Ok(OwnCgroup { directory: mount.join(name.trim_start_matches('/')), name: name.to_owned() })
        }
        Some(_) => Err(io::Error::other("our cgroup lies outside of our cgroup namespace")),
        None => Err(io::Error::other("this process is in no cgroup of version 2")),
    }
}

/// Finds the mount of version 2. It is looked up until it is found once; if it is unmounted later, its use fails by
/// itself.
pub(crate) fn unified_mount() -> io::Result<&'static Path> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found);
    }
    let text = std::fs::read_to_string("/proc/self/mountinfo")?;
    let found = text.lines().find_map(mount_of);
    let found = found.ok_or_else(|| io::Error::other("no cgroup file system of version 2 is mounted"))?;
    Ok(FOUND.get_or_init(|| found))
}

/// Returns the mount point of a line, if it is of version 2 and shows its tree from the top.
fn mount_of(line: &str) -> Option<PathBuf> {
    let (mount, kind) = line.split_once(" - ")?;
    if kind.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    (root == "/").then(|| PathBuf::from(unescape(point)))
}

/// Returns the mode in which `/proc` hides other users' processes, if it does.
pub(crate) fn hidepid(mounts: &str) -> Option<String> {
    let proc_line = mounts
        .lines()
        .filter_map(|line| line.split_once(" - "))
        .find(|(mount, kind)| kind.starts_with("proc ") && mount.split(' ').nth(4) == Some("/proc"))?;
    let options = proc_line.1.split(' ').nth(2)?.split(',');
    let mut hides = options.filter_map(|option| option.strip_prefix("hidepid="));
    hides.rfind(|how| !matches!(*how, "0" | "off")).map(str::to_owned)
}

/// Decodes blanks and backslashes, which are written as three octal digits.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = text.to_owned();
    for (code, sign) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(code, sign);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_mount_is_found_beside_the_old_trees() {
        let text = "36 35 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
                    37 35 0:33 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:5 - cgroup2 cgroup2 rw";
        assert_eq!(text.lines().find_map(mount_of), Some(PathBuf::from("/sys/fs/cgroup/uni fied")));
    }

    #[test]
    fn a_hiding_proc_is_seen() {
        let mounts = |options| format!("22 26 0:20 / /proc rw,nosuid shared:14 - proc proc {options}");
        assert_eq!(hidepid(&mounts("rw,hidepid=invisible")).as_deref(), Some("invisible"));
        assert_eq!(hidepid(&mounts("rw,hidepid=0")), None);
        assert_eq!(hidepid(&mounts("rw")), None);
    }

    #[test]
    fn a_bind_mount_of_a_part_is_not_taken_for_the_tree() {
        assert_eq!(mount_of("37 35 0:33 /a/b /mnt rw - cgroup2 cgroup2 rw"), None);
    }
}
