//! Several keepers of one nursery die at once: each run gets its own ending, with its own processes.

use tenure_core::ending::{Cause, Reason};
use tenure_core::journal::{JournalEvent, Target};
use tenure_core::wire::{KeeperMessage, Role};
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::nursery_fixture::{WarmNursery, hear, wait_written};
use tenure_it::{WAIT_LIMIT, eventually, proc};
use tenure_keeper::rundir::RunDir;

const HOLDER: Role = Role::Holder { epoch: 1 };

/// A launched run, and its keeper's descendants except the root.
struct Run {
    dir: RunDir,
    keeper: HeldProcess,
    below: Vec<i32>,
}

#[track_caller]
fn launch(warm: &WarmNursery, command: &[&str], below: usize) -> Run {
    let (dir, mut peers) = warm.launch(command, &[HOLDER]);
    let note =
        hear(
            &mut peers[0],
            |tell| if let KeeperMessage::Started { note } = tell { Some(*note) } else { None },
        );
    // The actor prints that once the whole tree is ready.
    wait_written(&mut peers[0], "ready");
    let mut tree = proc::descendants(note.keeper.pid);
    tree.retain(|&pid| pid != note.root.pid);
    assert_eq!(tree.len(), below, "{tree:?}");
    Run { dir, keeper: HeldProcess::hold(note.keeper.pid).expect("it lives"), below: tree }
}

#[test]
fn survivors_of_several_dead_keepers_are_attributed_to_their_own_runs() {
    let install = Install::new();
    let warm = WarmNursery::new(&install);
    let actor = install.actor();
    let runs = [
        launch(&warm, &[&actor, "tree"], 2),
        launch(&warm, &[&actor, "sleep"], 0),
        launch(&warm, &[&actor, "chrome-like", "1"], 4),
    ];
    runs.iter().for_each(|run| run.keeper.stop());
    runs.iter().for_each(|run| run.keeper.send(rustix::process::Signal::KILL));
    runs.iter().for_each(|run| run.keeper.wait_dead(WAIT_LIMIT));
    for run in &runs {
        let ending = eventually("the ending", || run.dir.ending().expect("a record")).termination;
        assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
        assert_eq!(ending.leftovers as usize, run.below.len(), "{ending:?}");
        let mut named: Vec<i32> = ending.leftover_processes.iter().map(|one| one.pid).collect();
        named.sort_unstable();
        let mut below = run.below.clone();
        below.sort_unstable();
        assert_eq!(named, below, "{ending:?}");
        assert!(ending.leftover_processes.iter().all(|one| one.exe.is_some()), "{ending:?}");
        let journal = run.dir.journal().expect("a journal");
        let lost = JournalEvent::Exiting {
            cause: Some(Cause::OwnerLost),
            exit: None,
            detail: Some("keeper-killed".into()),
        };
        assert!(journal.iter().any(|entry| entry.what == lost), "{journal:?}");
        let mut hit: Vec<i32> = journal.iter().filter_map(|entry| hit(&entry.what)).collect();
        hit.sort_unstable();
        hit.dedup();
        let theirs = hit.iter().filter(|pid| run.below.contains(pid)).count();
        assert_eq!(theirs, run.below.len(), "every process was ended by name: {journal:?}");
        assert!(hit.len() <= run.below.len() + 1, "no other process was ended: {journal:?}");
    }
}

/// A cgroup is killed at once, and the dead have no executable.
#[test]
fn processes_in_a_cgroup_are_named_before_it_is_killed() {
    let install = Install::new();
    let mut warm = WarmNursery::new(&install);
    warm.cgroup = true;
    let run = launch(&warm, &[&install.actor(), "tree"], 2);
    run.keeper.send(rustix::process::Signal::KILL);
    let ending = eventually("the ending", || run.dir.ending().expect("a record")).termination;
    let mut named: Vec<i32> = ending.leftover_processes.iter().map(|one| one.pid).collect();
    named.sort_unstable();
    let mut below = run.below.clone();
    below.sort_unstable();
    assert_eq!((ending.leftovers as usize, named), (below.len(), below), "{ending:?}");
    assert!(ending.leftover_processes.iter().all(|one| one.exe.is_some()), "{ending:?}");
}

fn hit(what: &JournalEvent) -> Option<i32> {
    match what {
        JournalEvent::Signalled { target: Target::Process { pid, .. }, .. } => Some(*pid),
        _ => None,
    }
}
