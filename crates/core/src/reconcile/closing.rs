//! The end of a run that lost its keeper, round by round: every process that is proven to belong to it is killed,
//! children before their parents, until none is left. The nursery, the daemon and the simulator all use this.

use crate::defaults;
use crate::signal::Signal;
use std::collections::HashMap;
use std::time::Duration;

/// The signal that ends the processes of a run without a keeper. There is no grace: the keeper that would time it
/// is gone, and with it the reader of their output.
pub const SIGNAL: Signal = Signal::KILL;

/// The state of the processes of a run, as one round finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// No process is left, and none can have been overlooked.
    Nobody,
    /// A process is left, or may be.
    Somebody,
}

/// The next step towards the end of a run without a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Round {
    /// Kill all listed processes, [children first](children_first), and look again.
    Kill,
    /// Write the ending: no process is left.
    Close,
    /// Write the ending, and name the survivors.
    GiveUp,
}

/// Returns the time at which a closing that begins `now` is given up.
pub fn give_up_at(now: Duration) -> Duration {
    now.saturating_add(defaults::GIVE_UP)
}

/// Decides on one round.
pub fn round(left: Left, now: Duration, give_up: Duration) -> Round {
    match left {
        Left::Nobody => Round::Close,
        Left::Somebody if now > give_up => Round::GiveUp,
        Left::Somebody => Round::Kill,
    }
}

/// Orders members, given as pid and parent, with every child before its parent, so that no parent sees a child die
/// and starts another. Returns their indices. Members at the same depth go by their pids.
pub fn children_first(members: &[(i32, i32)]) -> Vec<usize> {
    let parents: HashMap<i32, i32> = members.iter().copied().collect();
    let mut depths = HashMap::new();
    let mut order: Vec<(usize, i32, usize)> = Vec::with_capacity(members.len());
    for (at, &(pid, _)) in members.iter().enumerate() {
        order.push((depth(pid, &parents, &mut depths), pid, at));
    }
    order.sort_unstable_by_key(|&(depth, pid, at)| (std::cmp::Reverse(depth), pid, at));
    order.into_iter().map(|(.., at)| at).collect()
}

/// Counts the members above a process, itself included. A list that was read while it changed may hold a circle.
fn depth(pid: i32, parents: &HashMap<i32, i32>, depths: &mut HashMap<i32, usize>) -> usize {
    let mut path = Vec::new();
    let mut next = pid;
    let top = loop {
        if let Some(&known) = depths.get(&next) {
            break known;
        }
        let Some(&parent) = parents.get(&next) else { break 0 };
        path.push(next);
        // Not known yet: a walk that returns here has closed a circle.
        depths.insert(next, 0);
        next = parent;
    };
    for (above, one) in path.into_iter().rev().enumerate() {
        depths.insert(one, top + above + 1);
    }
    depths.get(&pid).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(members: &[(i32, i32)]) -> Vec<i32> {
        children_first(members).into_iter().map(|at| members[at].0).collect()
    }

    #[test]
    fn children_come_before_their_parents_however_they_are_listed() {
        let tree = [(40, 1), (41, 40), (43, 41), (42, 41), (9, 40)];
        assert_eq!(ordered(&tree), [42, 43, 9, 41, 40]);
        let mut backwards = tree;
        backwards.reverse();
        assert_eq!(ordered(&backwards), [42, 43, 9, 41, 40]);
        assert!(ordered(&[]).is_empty());
    }

    #[test]
    fn a_circle_and_a_chain_of_thousands_have_an_order_too() {
        assert_eq!(ordered(&[(2, 3), (3, 2)]).len(), 2);
        assert_eq!(ordered(&[(2, 2)]), [2]);
        let chain: Vec<(i32, i32)> = (2..50_000).map(|pid| (pid, pid - 1)).collect();
        assert!(ordered(&chain).into_iter().eq((2..50_000).rev()));
    }

    #[test]
    fn a_run_is_closed_when_nobody_is_left_and_given_up_only_after_its_time() {
        let give_up = give_up_at(Duration::from_secs(5));
        assert_eq!(give_up, Duration::from_secs(5) + defaults::GIVE_UP);
        let later = give_up + Duration::from_nanos(1);
        assert_eq!(round(Left::Somebody, give_up, give_up), Round::Kill);
        assert_eq!(round(Left::Somebody, later, give_up), Round::GiveUp);
        for now in [Duration::ZERO, later] {
            assert_eq!(round(Left::Nobody, now, give_up), Round::Close);
        }
    }
}
