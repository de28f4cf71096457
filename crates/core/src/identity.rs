//! The identity of a process, the evidence about it now, and the proof that lets it be signalled (I1). The proof
//! exists only inside [`Evidence::Same`], and only [`judge`] makes that.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The scope of an identity: one boot of one machine, and one pid namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The machine's id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The boot's id.
    pub boot_id: String,
    /// The pid namespace's number.
    pub pid_namespace: u64,
}

/// The identity of a process. Pid and start time alone are not enough: the clock tick is coarse and a pid can be
/// reused within one tick. So the kernel's own process inode is part of it where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The scope in which the pid is meaningful.
    #[serde(flatten)]
    pub place: Place,
    /// The process id.
    pub pid: i32,
    /// The start time, in the system's own unit since boot.
    pub start_time: u64,
    /// The process's inode in the kernel's process file system, unique for one boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pidfs_inode: Option<u64>,
}

/// The system's information about one pid, in one scope, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// A process with that pid exists.
    Found {
        /// The process's start time.
        start_time: u64,
        /// The process's inode, if the kernel has one.
        pidfs_inode: Option<u64>,
    },
    /// No process has that pid.
    NoSuchProcess,
    /// The system gave no answer.
    Unreadable(String),
}

/// The comparison of a recorded identity with the system's present state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The process is the recorded one; this is the right to signal it.
    Same(SignalProof),
    /// The pid belongs to another process now.
    Other,
    /// The process is gone.
    Gone,
    /// The system cannot tell (I6: leave it alone and say so).
    Unreadable(String),
}

/// The right to signal one process. Only [`judge`] makes it; it cannot be constructed:
///
/// ```compile_fail,E0451
/// use tenure_core::identity::{SignalProof, Identity};
/// fn forge(identity: Identity) -> SignalProof {
///     SignalProof { identity }
/// }
/// ```
///
/// Nor can it be deserialized:
///
/// ```compile_fail,E0277
/// use tenure_core::identity::SignalProof;
/// fn forge(text: &str) -> SignalProof {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalProof {
    identity: Identity,
}

impl SignalProof {
    /// Returns the identity of the process that may be signalled.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }
}

impl fmt::Display for SignalProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} started {}", self.identity.pid, self.identity.start_time)
    }
}

/// Compares a recorded identity with what is seen `here` now.
pub fn judge(recorded: &Identity, here: &Place, seen: &Sighting) -> Evidence {
    if recorded.pid <= 1 {
        return Evidence::Unreadable(format!("pid {} is never ours", recorded.pid));
    }
    let there = &recorded.place;
    if there.machine_id != here.machine_id {
        return Evidence::Unreadable("it was recorded on another machine".to_owned());
    }
    if there.boot_id != here.boot_id {
        return Evidence::Gone;
    }
    if there.pid_namespace != here.pid_namespace {
        return Evidence::Unreadable("it was recorded in another pid namespace".to_owned());
    }
    match seen {
        Sighting::NoSuchProcess => Evidence::Gone,
        Sighting::Unreadable(why) => Evidence::Unreadable(why.clone()),
        Sighting::Found { start_time, pidfs_inode } => {
            let same_inode = match (recorded.pidfs_inode, pidfs_inode) {
                (Some(then), Some(now)) => then == *now,
                (None, _) | (_, None) => true,
            };
            if *start_time == recorded.start_time && same_inode {
                Evidence::Same(SignalProof { identity: recorded.clone() })
            } else {
                Evidence::Other
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { machine_id: Some("m".into()), boot_id: "b".into(), pid_namespace: 7 }
    }

    fn identity() -> Identity {
        Identity { place: place(), pid: 40, start_time: 1000, pidfs_inode: Some(5) }
    }

    fn found(start_time: u64, pidfs_inode: Option<u64>) -> Sighting {
        Sighting::Found { start_time, pidfs_inode }
    }

    #[test]
    fn the_same_process_is_held() {
        let Evidence::Same(held) = judge(&identity(), &place(), &found(1000, Some(5))) else {
            panic!("not held");
        };
        assert_eq!(held.identity(), &identity());
    }

    #[test]
    fn a_reused_pid_in_the_same_tick_is_another_process() {
        assert_eq!(judge(&identity(), &place(), &found(1000, Some(6))), Evidence::Other);
    }

    #[test]
    fn a_reused_pid_with_another_start_is_another_process() {
        assert_eq!(judge(&identity(), &place(), &found(1001, Some(5))), Evidence::Other);
        assert_eq!(judge(&identity(), &place(), &found(1001, None)), Evidence::Other);
    }

    #[test]
    fn a_kernel_without_process_inodes_is_judged_by_start_time() {
        assert!(matches!(judge(&identity(), &place(), &found(1000, None)), Evidence::Same(_)));
    }

    #[test]
    fn what_was_recorded_before_a_reboot_is_gone() {
        let here = Place { boot_id: "later".into(), ..place() };
        assert_eq!(judge(&identity(), &here, &found(1000, Some(5))), Evidence::Gone);
    }

    #[test]
    fn another_machine_or_namespace_is_unreadable_never_same() {
        for here in [Place { machine_id: Some("x".into()), ..place() }, Place { pid_namespace: 8, ..place() }]
        {
            assert!(matches!(judge(&identity(), &here, &found(1000, Some(5))), Evidence::Unreadable(_)));
        }
    }

    #[test]
    fn unreadable_is_not_gone() {
        let seen = Sighting::Unreadable("denied".into());
        assert!(matches!(judge(&identity(), &place(), &seen), Evidence::Unreadable(_)));
    }

    #[test]
    fn pids_up_to_one_are_never_held() {
        for pid in [-5, 0, 1] {
            let bad = Identity { pid, ..identity() };
            assert!(matches!(judge(&bad, &place(), &found(1000, Some(5))), Evidence::Unreadable(_)), "{pid}");
        }
    }
}
