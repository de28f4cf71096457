//! Reused pids: a record of one process never matches another (I1).

use crate::init::use_up_pids;
use crate::stranger::{Stranger, block_all, fork_idle, reap};
use rustix::process::Signal;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use tenure_core::ending::Reason;
use tenure_core::identity::{Evidence, Identity, Sighting, judge};
use tenure_core::signal;
use tenure_it::background_run::BackgroundRun;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc, within};
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::orphaned::by_parent::{self, FallenRun};
use tenure_keeper::rundir::RunDir;
use tenure_os::fork::SingleThread;
use tenure_os::process::{Process, Sent, here, look};
use tenure_os::run_marks::RunMarks;
use tenure_os::tree::{self, Member};

pub(crate) fn begin() -> SingleThread {
    block_all();
    let alone = SingleThread::check().expect("one thread");
    use_up_pids(&alone);
    alone
}

fn end(process: &HeldProcess) {
    process.send(Signal::KILL);
    reap(process.pid);
}

/// Pid and start time repeat; the kernel's own number of the process does not.
pub(crate) fn in_one_tick() {
    let alone = begin();
    let mut collisions = 0;
    for _ in 0..100 {
        let first = fork_idle(&alone);
        let opened = Process::open(first.pid).expect("/proc").expect("it lives");
        let recorded = opened.identity().clone();
        let Evidence::Same(held) = opened.judge(&recorded) else { panic!("not itself") };
        end(&first);
        assert!(matches!(look(&recorded), (Evidence::Gone, None)), "it is gone");
        let stranger = Stranger::at(&alone, first.pid);
        let (evidence, found) = look(&recorded);
        assert_eq!(evidence, Evidence::Other);
        let found = found.expect("a stranger");
        if found.identity().start_time == recorded.start_time {
            collisions += 1;
            let without = Identity { pidfs_inode: None, ..recorded.clone() };
            let seen = Sighting::Found { start_time: found.identity().start_time, pidfs_inode: None };
            assert!(
                matches!(judge(&without, here(), &seen), Evidence::Same(_)),
                "only the inode tells them apart"
            );
        }
        // An old proof opens nothing, and the old descriptor still means the dead process.
        assert_eq!(opened.signal(&held, signal::Signal::KILL), Sent::Gone);
        let abused = catch_unwind(AssertUnwindSafe(|| found.signal(&held, signal::Signal::KILL)));
        assert!(abused.is_err(), "a proof about another process was taken");
        stranger.assert_untouched();
        end_stranger(first.pid);
    }
    assert!(collisions > 0, "no pid was reused within one clock tick: nothing was tested");
    println!("{collisions} of 100 came round within one tick");
}

pub(crate) fn end_stranger(pid: i32) {
    end(&HeldProcess::hold(pid).expect("a stranger"));
}

/// A list of members that died after it was made.
pub(crate) fn of_a_member() {
    let alone = begin();
    let first = fork_idle(&alone);
    let members: Vec<Member> = tree::members(&HashSet::new(), &RunMarks::default());
    assert_eq!(members.iter().map(Member::pid).collect::<Vec<_>>(), [first.pid]);
    end(&first);
    let stranger = Stranger::at(&alone, first.pid);
    for number in 1..=64 {
        assert_eq!(members[0].signal(signal::Signal(number)), Sent::Gone);
    }
    stranger.assert_untouched();
    members[0].forbid_forking();
    stranger.assert_untouched();
}

/// The directory of a run whose processes are all dead, and whose pids are reused.
pub(crate) fn of_a_run() {
    let alone = begin();
    for later in ["sweep", "hunt"] {
        for install in [Install::new(), Install::new().without_cgroup()] {
            let run = BackgroundRun::start(&install, &[], &["child", "setsid", "sleep"]);
            let pids: Vec<i32> =
                [&run.nursery, &run.keeper].into_iter().chain(&run.members).map(|one| one.pid).collect();
            run.kill(&[&run.nursery, &run.keeper]);
            run.members.iter().for_each(|member| member.send(Signal::KILL));
            for &pid in &pids {
                eventually("a free pid", || proc::stat(pid).is_none().then_some(()));
            }
            let strangers: Vec<Stranger> = pids.iter().map(|&pid| Stranger::at(&alone, pid)).collect();
            let note = run.dir.note().expect("a note").expect("a note");
            for recorded in [&note.root, &note.keeper] {
                assert_eq!(look(recorded).0, Evidence::Other, "{recorded:?}");
            }
            try_everything(&install, &run, later);
            strangers.iter().for_each(Stranger::assert_untouched);
            let ending = run.dir.ending().expect("an ending that is whole").expect("an ending").termination;
            assert_eq!(ending.reason, Reason::OwnerLost);
            tenure_it::leftovers::forget(&install);
            for pid in pids {
                end_stranger(pid);
            }
        }
    }
}

/// Tries every command and every reconcile on a stale run.
#[expect(clippy::disallowed_methods, reason = "a laboratory starts its own experiment")]
fn try_everything(install: &Install, run: &BackgroundRun, later: &str) {
    let id = run.dir.id().as_str();
    for words in
        [&["cancel", id][..], &["cancel", "--now", id], &["show", id], &["ps", "--all"], &["tree", id]]
    {
        install.tenure(words);
    }
    assert_eq!(install.tenure(&["cancel", id]).status.code(), Some(1), "there is no process to cancel it");
    let status = Command::new("/proc/self/exe").arg(later).arg(run.dir.path()).status().expect("lab starts");
    assert!(status.success());
    install.tenure(&["cancel", id]);
}

/// Reconciles as a process without children.
pub(crate) fn sweep(directory: &str) {
    let dir = RunDir::open(Path::new(directory)).expect("a run");
    assert_eq!(dir.ending().expect("no torn ending"), None);
    let ticket = dir.ticket().expect("a ticket");
    let run = OrphanedRun::read(dir, &ticket).expect("records");
    let how = run.keeper_killed();
    run.close(how).expect("an ending");
}

/// Reconciles as a parent of last resort without children.
pub(crate) fn reconcile_as_nursery(directory: &str) {
    let mut fallen = FallenRun::read(Path::new(directory));
    assert_eq!(fallen.len(), 1, "a run without an ending");
    within(WAIT_LIMIT, "a reconciled run", || {
        by_parent::stop_round(&HashSet::new(), &mut fallen);
        fallen.is_empty().then_some(())
    });
}
