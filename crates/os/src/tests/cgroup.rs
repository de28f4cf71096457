//! Tests of control groups. A user who may not create one has nothing to test: then the reason must be a sentence.

use super::{Shell, eventually, shell};
use crate::enclosure::Enclosure;
use crate::tree;
use std::collections::HashSet;
use std::path::PathBuf;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::record::Boundary;

/// A group of a run that does not exist; dropping it kills its processes and removes it.
struct Group {
    held: Enclosure,
    instance: InstanceId,
    run: RunId,
}

impl Group {
    fn make() -> Option<Self> {
        let instance = InstanceId::from_random(crate::random::bytes().unwrap());
        let run = RunId::from_random(crate::random::bytes().unwrap());
        match Enclosure::make(true, &instance, &run) {
            Ok(held) => Some(Self { held, instance, run }),
            Err(why) => {
                assert!(!why.is_empty());
                eprintln!("cannot run here: {why}");
                None
            }
        }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(self.held.to_string())
    }

    /// Starts a shell that moves itself into the group, or into one below.
    fn member(&self, below: &str) -> Shell {
        let path = self.path().join(below);
        let mut member = shell(&format!("echo $$ > {}/cgroup.procs && echo in; read x", path.display()));
        assert_eq!(member.line(), "in");
        member
    }

    fn nested(&self) -> PathBuf {
        let nested = self.path().join("a/b");
        std::fs::create_dir_all(&nested).unwrap();
        nested
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.held.kill();
        let gone = || self.held.remove().is_ok().then_some(());
        eventually("an empty group", gone);
        let _ = std::fs::remove_dir(self.path().parent().unwrap());
    }
}

#[test]
fn a_group_holds_who_is_in_it_and_below_and_nobody_else() {
    let Some(group) = Group::make() else { return };
    group.nested();
    let (inside, below, outside) = (group.member("."), group.member("a/b"), shell("read x"));
    let mut pids = group.held.pids().unwrap();
    pids.sort_unstable();
    let mut expected = [inside.pid(), below.pid()];
    expected.sort_unstable();
    assert_eq!(pids, expected);
    assert!(group.held.holds(inside.pid()) && group.held.holds(below.pid()));
    assert!(!group.held.holds(outside.pid()) && !group.held.holds(std::process::id().cast_signed()));
    let seen = HashSet::from([inside.pid()]);
    let members = tree::in_enclosure(&group.held, &seen);
    assert_eq!(members.iter().map(tree::Member::pid).collect::<Vec<_>>(), [below.pid()]);
}

#[test]
fn a_group_with_a_longer_name_is_another_group() {
    let Some(group) = Group::make() else { return };
    let sibling = PathBuf::from(format!("{}0", group.path().display()));
    std::fs::create_dir(&sibling).unwrap();
    let mut other = shell(&format!("echo $$ > {}/cgroup.procs && echo in; read x", sibling.display()));
    assert_eq!(other.line(), "in");
    assert!(!group.held.holds(other.pid()));
    drop(other);
    eventually("an empty sibling", || std::fs::remove_dir(&sibling).ok());
}

#[test]
fn a_kill_ends_everybody_at_once_also_below() {
    let Some(group) = Group::make() else { return };
    group.nested();
    let (mut inside, mut below, mut outside) = (group.member("."), group.member("a/b"), shell("read x"));
    group.held.kill().unwrap();
    assert!(!inside.0.wait().unwrap().success() && !below.0.wait().unwrap().success());
    assert!(outside.0.try_wait().unwrap().is_none());
}

#[test]
fn an_occupied_group_is_not_removed_and_an_empty_one_goes_with_what_is_below() {
    let Some(group) = Group::make() else { return };
    let nested = group.nested();
    let member = group.member("a/b");
    assert!(group.held.remove().is_err());
    assert!(nested.exists());
    drop(member);
    eventually("a removed group", || group.held.remove().ok());
    assert!(!group.path().exists());
    group.held.remove().expect("one that is gone is no error");
}

#[test]
fn a_group_is_found_again_by_path_and_by_run_until_it_is_gone() {
    let Some(group) = Group::make() else { return };
    let member = group.member(".");
    let again = Enclosure::open(&group.held.boundary()).unwrap().expect("by path");
    let found = Enclosure::find(&group.instance, &group.run).unwrap().expect("by run");
    for same in [&again, &found] {
        assert!(same.holds(member.pid()));
        assert_eq!(same.pids().unwrap(), [member.pid()]);
    }
    assert!(Enclosure::make(true, &group.instance, &group.run).is_err(), "a run's group is made once");
    drop(member);
    eventually("a removed group", || group.held.remove().ok());
    assert!(Enclosure::open(&group.held.boundary()).unwrap().is_none());
    assert!(Enclosure::find(&group.instance, &group.run).unwrap().is_none());
    assert!(
        Enclosure::open(&Boundary::Cgroup { path: "/etc".to_owned() }).unwrap().is_none(),
        "a directory that is no group"
    );
}
