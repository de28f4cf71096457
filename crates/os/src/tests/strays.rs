use super::{eventually, role};
use crate::process::Process;
use crate::run_marks::RunMarks;
use crate::unix::strays::{look_at_foreign, search};
use std::collections::HashSet;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::reconcile::members::Membership;
use tenure_core::signal::Signal;
use tenure_core::wire::Via;

fn now_ms() -> u64 {
    crate::clock::unix_ms()
}

fn open(pid: i32) -> Process {
    Process::open(pid).unwrap().expect("a process")
}

fn end(process: &Process) {
    if let Evidence::Same(held) = process.judge(process.identity()) {
        process.signal(&held, Signal::KILL);
    }
}

#[test]
fn who_is_of_the_roots_session_is_known_by_it_only_while_the_root_pins_its_number() {
    let since = now_ms();
    let mut root = role::start("lead 1");
    let speakers = [root.hear("up"), root.hear("up")];
    let top = root.pid();
    let below = open(*speakers.iter().find(|&&pid| pid != top).expect("one below"));
    let (identity, pid) = (open(top).identity().clone(), below.identity().pid);
    let marks = RunMarks { root: Some(&identity), since_ms: since, ..RunMarks::default() };
    let found = |marks: &RunMarks<'_>| -> Vec<(i32, Via)> {
        let members = search(marks, &HashSet::from([top])).unwrap().members;
        members.iter().map(|member| (member.pid(), member.via())).collect()
    };
    assert_eq!(found(&marks), [(pid, Via::Session)]);
    let later = RunMarks { since_ms: now_ms() + 60_000, ..marks };
    assert_eq!(found(&later), [(pid, Via::Session)], "the clock may have been set back");
    root.child.kill().unwrap();
    eventually("the root is dead", || (!open(top).is_alive()).then_some(()));
    assert_eq!(found(&marks), [(pid, Via::Session)], "the dead root is not reaped");
    root.child.wait().unwrap();
    assert_eq!(found(&marks), [], "now the number may be anybody's");
    assert!(!search(&marks, &HashSet::new()).unwrap().whole, "but somebody is there who may be of the run");
    end(&below);
    eventually("nobody is there", || search(&marks, &HashSet::new()).unwrap().whole.then_some(()));
}

#[test]
fn who_carries_the_mark_is_found_in_any_session_and_an_unreadable_root_is_an_error() {
    let since = now_ms();
    let play = format!("lead 0 {}-{since}", std::process::id());
    let mut carrier = role::start(&play);
    carrier.hear("up");
    let mark = format!("{}={play}", role::ROLE);
    let marks = RunMarks { mark: Some(mark.as_bytes()), since_ms: since, ..RunMarks::default() };
    let found = search(&marks, &HashSet::new()).unwrap().members;
    let found: Vec<_> = found.iter().map(|one| (one.pid(), one.via())).collect();
    assert_eq!(found, [(carrier.pid(), Via::Mark)]);
    let later = search(&RunMarks { since_ms: now_ms() + 60_000, ..marks }, &HashSet::new()).unwrap();
    assert!(later.members.is_empty(), "it started before that run");
    let own: Identity = open(carrier.pid()).identity().clone();
    let elsewhere = Identity { place: tenure_core::identity::Place { pid_namespace: 1, ..own.place }, ..own };
    assert!(search(&RunMarks { root: Some(&elsewhere), ..marks }, &HashSet::new()).is_err());
}

#[test]
fn who_was_seen_before_is_found_by_who_it_is_and_by_nothing_else() {
    let mut lost = role::start("lead 0");
    lost.hear("up");
    let known = [open(lost.pid()).identity().clone()];
    let found = |known: &[Identity]| {
        let found = search(&RunMarks { known, ..RunMarks::default() }, &HashSet::new()).unwrap();
        assert!(found.whole);
        found.members.iter().map(|one| (one.pid(), one.via())).collect::<Vec<_>>()
    };
    assert_eq!(found(&known), [(lost.pid(), Via::Child)]);
    let older = Identity { start_time: known[0].start_time - 1, pidfs_inode: None, ..known[0].clone() };
    assert_eq!(found(&[older]), [], "another had that number");
    lost.child.kill().unwrap();
    eventually("it is dead", || found(&known).is_empty().then_some(()));
}

#[test]
fn another_users_process_is_known_by_the_pinned_session_alone() {
    let mut root = role::start("lead 0");
    root.hear("up");
    let (pid, identity) = (root.pid(), open(root.pid()).identity().clone());
    let mark = format!("{}=lead 0", role::ROLE);
    let by_mark = RunMarks { mark: Some(mark.as_bytes()), ..RunMarks::default() };
    let look = |marks: &RunMarks<'_>, pinned| look_at_foreign(pid, marks, pinned).0;
    assert_eq!(look(&by_mark, false), Membership::Stranger);
    let marks = RunMarks { root: Some(&identity), ..by_mark };
    assert_eq!(look(&marks, true), Membership::Member(Via::Session));
    assert_eq!(look(&marks, false), Membership::Doubtful, "the number may be another's");
    root.child.kill().unwrap();
    eventually("it is dead", || (look(&marks, true) == Membership::Vanished).then_some(()));
}
