//! Who belongs to a run whose keeper is gone, and in which order its tree is ended. A pid, a parent or a command proves
//! nothing here (I1): numbers are used again, and whoever lost its parent has another.

use crate::ids::LeaseId;
use std::collections::{BTreeMap, BTreeSet};

/// What the records say of a run's boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    /// The lease, which every process of the run got in its environment.
    pub lease: LeaseId,
    /// Whose processes they are.
    pub uid: u32,
    /// When the lease was made, in the system's own unit since boot.
    pub since: u64,
    /// The run's own control group.
    pub cgroup: Option<String>,
    /// The group and session number of the root, only while the living root pins it.
    pub pinned_group: Option<i32>,
}

/// What is seen of one process, on the boot of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// Its pid.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its group.
    pub group: i32,
    /// Whose it is.
    pub uid: u32,
    /// When it started.
    pub start_time: u64,
    /// The lease in its environment, where there is one that can be read.
    pub lease: Option<LeaseId>,
    /// Its control group.
    pub cgroup: Option<String>,
}

/// What proves that a process is a run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    /// It is in the run's control group.
    Cgroup,
    /// It is in the group that the living root pins.
    PinnedGroup,
    /// It carries the run's lease, is of the same user and started after it.
    Mark,
}

impl Enclosure {
    /// What proves that this process is one of ours, if anything does. Init and the numbers before it never are.
    pub fn proof(&self, seen: &Stranger) -> Option<Proof> {
        if seen.pid <= 1 || seen.start_time < self.since {
            return None;
        }
        if self.cgroup.is_some() && self.cgroup == seen.cgroup {
            return Some(Proof::Cgroup);
        }
        if self.pinned_group.is_some_and(|group| group > 1 && group == seen.group) {
            return Some(Proof::PinnedGroup);
        }
        (seen.uid == self.uid && seen.lease.as_ref() == Some(&self.lease)).then_some(Proof::Mark)
    }
}

/// The pids of these processes, every child before its parent, so that nobody sees a child die and starts it anew.
pub fn children_first(members: &[Stranger]) -> Vec<i32> {
    let parents: BTreeMap<i32, i32> = members.iter().map(|it| (it.pid, it.parent)).collect();
    let mut pids: Vec<(usize, i32)> = parents.keys().map(|&pid| (depth(pid, &parents), pid)).collect();
    pids.sort_by_key(|&(depth, pid)| (std::cmp::Reverse(depth), pid));
    pids.into_iter().map(|(_, pid)| pid).collect()
}

/// How many of them are above it. A list that was read while it changed may hold a circle.
fn depth(mut pid: i32, parents: &BTreeMap<i32, i32>) -> usize {
    let mut above = BTreeSet::new();
    while let Some(&parent) = parents.get(&pid)
        && above.insert(pid)
    {
        pid = parent;
    }
    above.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(n: u8) -> LeaseId {
        LeaseId::from_random([n; 12])
    }

    fn ours() -> Enclosure {
        let cgroup = Some("/run-1".to_owned());
        Enclosure { lease: lease(1), uid: 1000, since: 100, cgroup, pinned_group: Some(40) }
    }

    fn stranger() -> Stranger {
        Stranger { pid: 50, parent: 1, group: 50, uid: 1000, start_time: 200, lease: None, cgroup: None }
    }

    #[test]
    fn each_proof_alone_is_enough() {
        for (seen, proof) in [
            (Stranger { cgroup: Some("/run-1".into()), uid: 0, ..stranger() }, Proof::Cgroup),
            (Stranger { group: 40, ..stranger() }, Proof::PinnedGroup),
            (Stranger { lease: Some(lease(1)), ..stranger() }, Proof::Mark),
        ] {
            assert_eq!(ours().proof(&seen), Some(proof), "{seen:?}");
        }
    }

    #[test]
    fn without_a_proof_nobody_is_ours() {
        for seen in [
            stranger(),
            Stranger { cgroup: Some("/run-2".into()), lease: Some(lease(2)), ..stranger() },
            Stranger { lease: Some(lease(1)), uid: 1001, ..stranger() },
            Stranger { lease: Some(lease(1)), group: 40, start_time: 99, ..stranger() },
            Stranger { pid: 1, group: 40, lease: Some(lease(1)), ..stranger() },
        ] {
            assert_eq!(ours().proof(&seen), None, "{seen:?}");
        }
    }

    #[test]
    fn a_group_number_proves_nothing_once_nobody_pins_it() {
        let freed = Enclosure { pinned_group: None, ..ours() };
        assert_eq!(freed.proof(&Stranger { group: 40, ..stranger() }), None);
    }

    #[test]
    fn a_run_without_a_cgroup_does_not_own_everybody_without_one() {
        let bare = Enclosure { cgroup: None, pinned_group: None, ..ours() };
        assert_eq!(bare.proof(&stranger()), None);
    }

    #[test]
    fn children_come_before_their_parents_even_in_a_circle() {
        let at = |pid, parent| Stranger { pid, parent, ..stranger() };
        let tree = [at(40, 1), at(41, 40), at(43, 41), at(42, 41), at(9, 40)];
        assert_eq!(children_first(&tree), [42, 43, 9, 41, 40]);
        assert_eq!(children_first(&[at(2, 3), at(3, 2)]).len(), 2);
        assert!(children_first(&[]).is_empty());
    }
}
