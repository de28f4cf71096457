//! Many tasks drain through a webhook, and the daemon is no larger for it.

use std::collections::BTreeSet;
use tenure_it::eventually;
use tenure_it::receiver::Receiver;
use tenure_it::told::{Told, webhook};

const TASKS: usize = 2_000;
/// How many are begun before the daemon is measured: its caches are full then.
const FIRST: usize = 400;
/// How much it may have grown after the others, in KiB: 8 for each would show, and so would the notices themselves,
/// which are of 1 KiB and in memory as rows, as JSON and as requests. Freed memory that the allocator keeps is within.
const GROWTH: u64 = 12 << 10;

fn resident_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a live process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_swarm_of_tasks_drains_without_growing_memory() {
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let mut runs = BTreeSet::new();
    let drain = |runs: &mut BTreeSet<String>, count: usize| {
        while runs.len() < count {
            runs.insert(told.task("owner", "exit 3"));
        }
        eventually("that each is taken", || (receiver.accepted().len() == count).then_some(()));
        told.settled();
    };
    let pid = told.daemon().pid;
    drain(&mut runs, FIRST);
    let before = resident_kib(pid);
    drain(&mut runs, TASKS);
    let after = resident_kib(pid);
    eprintln!("{before} KiB after {FIRST} tasks, {after} KiB after {TASKS}");
    assert!(after < before + GROWTH, "{before} KiB grew to {after} KiB");
    assert!(receiver.accepted().values().all(|&times| times == 1), "nothing is told twice");
    told.check(&receiver, &runs);
    told.finish();
}
