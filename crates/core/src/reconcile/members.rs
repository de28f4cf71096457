//! Membership of processes that no walk down from a run's root finds, because their parents died. A pid, a parent
//! or a command proves nothing here (I1): pids are reused, and a process that lost its parent has another.

use crate::wire::Via;

/// The tolerance for start times: the boot time that they may be counted from is known to the second.
const COARSE_MS: u64 = 2_000;

/// The marks that a run's processes are recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// True while the root is the same, alive or unreaped: the system assigns no number that a session has, so the
    /// number of the root's session belongs to it alone.
    pub is_session_pinned: bool,
    /// True if the lease is known, which every process of the run got in its environment.
    pub has_lease: bool,
    /// The time before which no process of the run started, in Unix milliseconds.
    pub since_ms: u64,
}

/// A process, as the system shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Its pid.
    pub pid: i32,
    /// True if its session has the number of the root's.
    pub is_in_session: bool,
    /// True if it is this user's. Another user's process is recognized by its session alone.
    pub is_own_users: bool,
    /// Its start time, in Unix milliseconds.
    pub started_at_ms: u64,
    /// The lease in its environment.
    pub lease: Carried,
    /// True if it could still run after all else was read: a process that ends shows no environment.
    pub is_alive: bool,
}

/// The lease in a process's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// The run's lease.
    Yes,
    /// None, or another's; also of a process whose environment [need not be read](Marks::asks_for_lease).
    No,
    /// The environment cannot be read, as of a process that is about to execute or to end.
    Unreadable,
}

/// The relation of one process to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Membership {
    /// The process is not of the run.
    Stranger,
    /// The process is of the run, by this proof.
    Member(Via),
    /// The process is gone. It may have been of the run, and may have left a child.
    Vanished,
    /// The process must be examined again.
    Unreadable,
    /// The process may be of the run, without any proof. It is never signalled, and the run does not count as empty
    /// (I6).
    Doubtful,
}

impl Marks {
    /// Returns true if the environment of this process must be read: no other proof would do, and it is young
    /// enough.
    pub fn asks_for_lease(&self, is_in_session: bool, started_at_ms: u64) -> bool {
        let is_young = started_at_ms.saturating_add(COARSE_MS) >= self.since_ms;
        // A session that is pinned proves by itself, whatever the clock says: it may have been set back.
        self.has_lease && is_young && !(is_in_session && self.is_session_pinned)
    }

    /// Judges one process. Init and the numbers before it are never of a run.
    pub fn judge(&self, seen: &ObservedProcess) -> Membership {
        if seen.pid <= 1 {
            return Membership::Stranger;
        }
        if !seen.is_alive {
            return Membership::Vanished;
        }
        if seen.is_in_session && self.is_session_pinned {
            return Membership::Member(Via::Session);
        }
        if seen.is_own_users && self.asks_for_lease(seen.is_in_session, seen.started_at_ms) {
            match seen.lease {
                Carried::Yes => return Membership::Member(Via::Mark),
                Carried::Unreadable => return Membership::Unreadable,
                Carried::No => {}
            }
        }
        if seen.is_in_session { Membership::Doubtful } else { Membership::Stranger }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks { is_session_pinned: true, has_lease: true, since_ms: 100_000 };
    const UNPINNED: Marks = Marks { is_session_pinned: false, ..MARKS };
    const STRANGER: ObservedProcess = ObservedProcess {
        pid: 50,
        is_in_session: false,
        is_own_users: true,
        started_at_ms: 200_000,
        lease: Carried::No,
        is_alive: true,
    };

    #[test]
    fn each_proof_alone_is_enough() {
        for (seen, proof) in [
            (ObservedProcess { is_in_session: true, ..STRANGER }, Via::Session),
            (ObservedProcess { is_in_session: true, is_own_users: false, ..STRANGER }, Via::Session),
            (ObservedProcess { is_in_session: true, started_at_ms: 0, ..STRANGER }, Via::Session),
            (ObservedProcess { lease: Carried::Yes, ..STRANGER }, Via::Mark),
            (ObservedProcess { lease: Carried::Yes, started_at_ms: 98_000, ..STRANGER }, Via::Mark),
        ] {
            assert_eq!(MARKS.judge(&seen), Membership::Member(proof), "{seen:?}");
        }
    }

    #[test]
    fn without_a_proof_no_process_is_of_the_run() {
        let carrier = ObservedProcess { lease: Carried::Yes, ..STRANGER };
        for seen in [
            STRANGER,
            ObservedProcess { is_own_users: false, ..carrier },
            ObservedProcess { started_at_ms: 97_999, ..carrier },
            ObservedProcess { pid: 1, is_in_session: true, ..carrier },
        ] {
            assert_eq!(MARKS.judge(&seen), Membership::Stranger, "{seen:?}");
        }
        assert_eq!(Marks { has_lease: false, ..MARKS }.judge(&carrier), Membership::Stranger);
    }

    #[test]
    fn a_session_number_that_nobody_pins_proves_nothing_and_excludes_nothing() {
        let seen = ObservedProcess { is_in_session: true, ..STRANGER };
        assert_eq!(UNPINNED.judge(&seen), Membership::Doubtful);
        assert_eq!(UNPINNED.judge(&ObservedProcess { is_own_users: false, ..seen }), Membership::Doubtful);
        let carrier = ObservedProcess { lease: Carried::Yes, ..seen };
        assert_eq!(UNPINNED.judge(&carrier), Membership::Member(Via::Mark));
    }

    #[test]
    fn an_unreadable_environment_is_looked_at_again_only_where_it_counts() {
        let seen = ObservedProcess { lease: Carried::Unreadable, ..STRANGER };
        assert_eq!(MARKS.judge(&seen), Membership::Unreadable);
        assert_eq!(MARKS.judge(&ObservedProcess { started_at_ms: 0, ..seen }), Membership::Stranger);
        assert_eq!(
            MARKS.judge(&ObservedProcess { is_in_session: true, ..seen }),
            Membership::Member(Via::Session)
        );
        assert!(MARKS.asks_for_lease(false, 98_000) && UNPINNED.asks_for_lease(true, 98_000));
        assert!(!MARKS.asks_for_lease(true, 98_000) && !MARKS.asks_for_lease(false, 97_999));
    }

    #[test]
    fn the_dead_are_no_members_whatever_they_showed() {
        let seen = ObservedProcess { is_in_session: true, lease: Carried::Yes, is_alive: false, ..STRANGER };
        assert_eq!(MARKS.judge(&seen), Membership::Vanished);
    }
}
