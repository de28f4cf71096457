//! Pids that come round: what was recorded of one process is never taken for another (I1).

use crate::init::use_up_pids;
use crate::stranger::{Stranger, block_all, bury, fork_idle};
use rustix::process::Signal;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use tenure_core::ending::Reason;
use tenure_core::identity::{Evidence, Identity, Sighting, judge};
use tenure_core::signal;
use tenure_it::background::Background;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::{PATIENCE, eventually, proc, within};
use tenure_keeper::forsaken::Forsaken;
use tenure_keeper::rundir::RunDir;
use tenure_keeper::salvage::{self, Fallen};
use tenure_os::fork::Alone;
use tenure_os::kin::Kin;
use tenure_os::process::{Process, Sent, here, look};
use tenure_os::tree::{self, Member};

pub(crate) fn begin() -> Alone {
    block_all();
    let alone = Alone::check().expect("one thread");
    use_up_pids(&alone);
    alone
}

fn end(process: &Known) {
    process.send(Signal::KILL);
    bury(process.pid);
}

/// Pid and start time are the same again and again; the kernel's own number of the process is not.
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
        // An old proof opens nothing, and the old descriptor means the dead one still.
        assert_eq!(opened.signal(&held, signal::Signal::KILL), Sent::Gone);
        let abused = catch_unwind(AssertUnwindSafe(|| found.signal(&held, signal::Signal::KILL)));
        assert!(abused.is_err(), "a proof about another process was taken");
        stranger.assert_untouched();
        end_stranger(first.pid);
    }
    assert!(collisions > 0, "no pid came round within one tick of the clock: nothing was shown");
    println!("{collisions} of 100 came round within one tick");
}

pub(crate) fn end_stranger(pid: i32) {
    end(&Known::hold(pid).expect("a stranger"));
}

/// A list that was made before its members died.
pub(crate) fn of_a_member() {
    let alone = begin();
    let first = fork_idle(&alone);
    let members: Vec<Member> = tree::members(&HashSet::new(), &Kin::default());
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

/// The directory of a run whose processes are all dead, and whose pids are others' now.
pub(crate) fn of_a_run() {
    let alone = begin();
    for later in ["sweep", "hunt"] {
        for install in [Install::new(), Install::new().without_cgroup()] {
            let run = Background::start(&install, &[], &["child", "setsid", "sleep"]);
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
            tenure_it::remains::forget(&install);
            for pid in pids {
                end_stranger(pid);
            }
        }
    }
}

/// All that a person or a later look can do to a stale run.
#[expect(clippy::disallowed_methods, reason = "a laboratory starts its own experiment")]
fn try_everything(install: &Install, run: &Background, later: &str) {
    let id = run.dir.id().as_str();
    for words in
        [&["cancel", id][..], &["cancel", "--now", id], &["show", id], &["ps", "--all"], &["tree", id]]
    {
        install.tenure(words);
    }
    assert_eq!(install.tenure(&["cancel", id]).status.code(), Some(1), "there is nobody to cancel it");
    let status = Command::new("/proc/self/exe").arg(later).arg(run.dir.path()).status().expect("lab starts");
    assert!(status.success());
    install.tenure(&["cancel", id]);
}

/// A later look by somebody who is nobody's parent.
pub(crate) fn sweep(directory: &str) {
    let dir = RunDir::open(Path::new(directory)).expect("a run");
    assert_eq!(dir.ending().expect("no torn ending"), None);
    let ticket = dir.ticket().expect("a ticket");
    let forsaken = Forsaken::read(dir, ticket).expect("records");
    let how = forsaken.keeper_killed();
    forsaken.close(how).expect("an ending");
}

/// A later look by a parent of last resort, which has no children.
pub(crate) fn hunt(directory: &str) {
    let mut fallen = Fallen::read(Path::new(directory));
    assert_eq!(fallen.len(), 1, "a run without an ending");
    within(PATIENCE, "a hunted run", || {
        salvage::hunt(&HashSet::new(), &mut fallen);
        fallen.is_empty().then_some(())
    });
}
