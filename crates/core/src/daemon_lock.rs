//! The text in `daemon.lock`. It names the process that holds the lock, and says whether that process serves. The first
//! line is the pid alone, as every version has written it; the second is JSON. Both have a fixed length, because the
//! file is overwritten in place.

use crate::identity::Identity;
use serde::{Deserialize, Serialize};

/// Name of the lock file in the state root.
pub const NAME: &str = "daemon.lock";
/// Length of the whole text.
const LENGTH: usize = 512;

/// The daemon that holds the lock, as the lock's text describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The daemon's pid.
    pub pid: u32,
    /// The identity of the daemon's process; older versions did not write it.
    pub identity: Option<Identity>,
    /// True if clients can connect: not while the daemon starts or stops.
    pub serving: bool,
}

/// The second line of the text.
#[derive(Serialize, Deserialize)]
struct Details {
    identity: Identity,
    serving: bool,
}

/// Returns the text that a daemon writes into its lock.
pub fn text(identity: &Identity, serving: bool) -> String {
    let details = Details { identity: identity.clone(), serving };
    let details = serde_json::to_string(&details).unwrap_or_default();
    let first = format!("{:<10}\n", identity.pid);
    let width = LENGTH - first.len() - 1;
    format!("{first}{details:<width$}\n")
}

/// Returns the beginning of a lock's text after a daemon was told to stop. It names no process, so that no warden
/// starts another daemon. Each such text differs from those before: a warden that compares them sees a new one.
pub fn left(unix_ms: u64) -> String {
    format!("x{:09}\n", unix_ms % 1_000_000_000)
}

/// Parses a lock's text; `None` if it names no holder.
pub fn read(text: &[u8]) -> Option<LockHolder> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines();
    let pid: u32 = lines.next()?.trim().parse().ok()?;
    let details: Option<Details> = lines.next().and_then(|line| serde_json::from_str(line.trim()).ok());
    // An older version overwrites only the first line.
    let details = details.filter(|details| u32::try_from(details.identity.pid) == Ok(pid));
    let serving = details.as_ref().is_some_and(|details| details.serving);
    Some(LockHolder { pid, identity: details.map(|details| details.identity), serving })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Place;

    fn identity() -> Identity {
        let place = Place { machine_id: Some("m".repeat(32)), boot_id: "b".repeat(36), pid_namespace: 7 };
        Identity { place, pid: 40, start_time: 1000, pidfs_inode: Some(5) }
    }

    #[test]
    fn a_holder_is_read_as_it_was_written() {
        for serving in [false, true] {
            let text = text(&identity(), serving);
            assert_eq!(text.len(), LENGTH);
            assert_eq!(text.lines().next().map(str::trim), Some("40"));
            let read = read(text.as_bytes());
            assert_eq!(read, Some(LockHolder { pid: 40, identity: Some(identity()), serving }));
        }
    }

    #[test]
    fn the_lock_of_an_older_version_names_a_pid_alone() {
        let bare = Some(LockHolder { pid: 41, identity: None, serving: false });
        assert_eq!(read(b"41        \n"), bare);
        let over = text(&identity(), true).replacen("40 ", "41 ", 1);
        assert_eq!(read(over.as_bytes()), bare, "the details are those of the daemon before");
    }

    #[test]
    fn the_lock_of_a_daemon_that_left_names_nobody() {
        let mut over = text(&identity(), true);
        let mark = left(12);
        over.replace_range(..mark.len(), &mark);
        assert_eq!(read(over.as_bytes()), None);
        assert_eq!(read(b""), None);
    }
}
