//! The eight cases of the process lifecycle seed, and their neighbours: who is signalled, in which order, and what is
//! recorded. Everybody who is not named in a case is a bystander and has to live.

use super::*;
use crate::ending::Cause;
use crate::spec::RunOptions;
use crate::watch::{Sighting, Step, Watch};
use std::time::Duration;

const TERM: Signal = Signal::TERM;
const KILL: Signal = Signal::KILL;

struct Expected<'a> {
    verdict: &'a str,
    signalled: &'a [(i32, Signal)],
    reason: Option<Reason>,
}

const LEFT: Expected<'static> = Expected { verdict: "leave", signalled: &[], reason: None };
const LOST: Expected<'static> =
    Expected { verdict: "close-as-lost", signalled: &[], reason: Some(Reason::ReconciledStale) };

fn ended(signalled: &[(i32, Signal)]) -> Expected<'_> {
    Expected { verdict: "end-tree", signalled, reason: Some(Reason::OwnerLost) }
}

/// Reconciles twice: whatever was settled the first time stays as it is.
fn check(name: &str, mut record: Record, mut machine: Machine, expected: &Expected) -> (Record, Machine) {
    // Looks like the run, is nobody's: an editor on the adapter's file, in the last session that was free.
    machine.processes.push(process(99, &["vi", "/state/mine/wrap.mjs"]).below(1, 98));
    let verdict = record.reconcile(&mut machine);
    assert_eq!(verdict.name(), expected.verdict, "{name}: {verdict}");
    for _ in 0..2 {
        assert_eq!(machine.signalled, expected.signalled, "{name}");
        assert_eq!(record.reason, expected.reason, "{name}");
        let _ = record.reconcile(&mut machine);
    }
    assert!(machine.find(99).is_some(), "{name}: a bystander was killed");
    (record, machine)
}

fn root() -> Process {
    process(40, &["node", "/state/mine/wrap.mjs"]).marked(1)
}

fn child() -> Process {
    process(41, &["adapter"]).below(40, 40).marked(1)
}

fn grandchild() -> Process {
    process(42, &["mcp-server"]).below(41, 40).marked(1)
}

#[test]
fn a_pid_that_an_unrelated_process_has_now_is_not_signalled() {
    for stranger in
        [process(40, &["sshd"]).born_again(), process(40, &["node", "/state/mine/wrap.mjs"]).born_again()]
    {
        for view in [LeaseView::Mine, LeaseView::Expired] {
            let (record, _) =
                check("reused", Record::of(&root(), view.clone()), Machine::new([stranger.clone()]), &LOST);
            assert_eq!(record.stolen, view == LeaseView::Expired);
        }
    }
    let unrelated = Lease::LegacyCommand { line: "node /state/mine/wrap.mjs" };
    check(
        "reused, legacy",
        Record::legacy(&root(), unrelated),
        Machine::new([process(40, &["sshd"])]),
        &LEFT,
    );
}

#[test]
fn a_pid_that_another_gateways_process_has_now_is_not_signalled() {
    let theirs = || process(40, &["node", "/state/theirs/wrap.mjs"]).marked(2).born_again();
    let their_child = || process(41, &["adapter"]).below(40, 40).marked(2);
    let both = || Machine::new([theirs(), their_child()]);
    check("another gateway's", Record::of(&root(), LeaseView::Mine), both(), &LOST);
    let wrapper = Lease::LegacyWrapper { root: "/state/mine" };
    check("another gateway's, legacy", Record::legacy(&root(), wrapper), both(), &LEFT);
}

#[test]
fn a_run_of_a_healthy_gateway_is_left_though_its_keeper_is_gone() {
    let machine = Machine::new([root(), child()]);
    check("healthy", Record::of(&root(), LeaseView::OtherHealthy), machine, &LEFT);
}

#[test]
fn a_recorded_command_in_quotes_is_the_live_one_without_them() {
    let live = process(40, &["node", "/opt/my adapter/run.mjs", "--note", "it's"]);
    let quoted = Lease::LegacyCommand { line: r#"node '/opt/my adapter/run.mjs' --note "it's""# };
    let other = Lease::LegacyCommand { line: "node /opt/my adapter/run.mjs --note its" };
    let machine = || Machine::new([live.clone()]);
    check("quoted", Record::legacy(&live, quoted), machine(), &ended(&[(40, KILL)]));
    check("other words", Record::legacy(&live, other), machine(), &LEFT);
    let wrapper = Lease::LegacyWrapper { root: "/state/mine" };
    check("wrapper", Record::legacy(&root(), wrapper), Machine::new([root()]), &ended(&[(40, KILL)]));
}

#[test]
fn a_grandchild_in_the_session_is_ended_when_its_parent_is_gone() {
    let mut machine = Machine::new([root(), child(), grandchild()]);
    machine.exits(41);
    let both = ended(&[(40, KILL), (42, KILL)]);
    check("root alive", Record::of(&root(), LeaseView::Mine), machine.clone(), &both);

    machine.exits(40);
    // The session's number is free again and a stranger has it: it no longer proves anything.
    machine.processes.push(process(43, &["make"]).below(1, 40));
    let expected = Expected { signalled: &[(42, KILL)], ..LOST };
    let (_, machine) = check("root gone", Record::of(&root(), LeaseView::Mine), machine, &expected);
    assert!(machine.find(43).is_some(), "a stranger in a reused session was killed");
}

#[test]
fn a_tree_whose_owner_died_and_that_ignores_sigterm_is_killed_after_the_grace() {
    let mut machine = Machine::new([root().stubborn(), child().stubborn(), grandchild()]);
    let policy = RunOptions::default();
    let (orphan_grace, grace) = (policy.limits.orphan_grace, policy.limits.grace);
    let mut watch = Watch::new(policy);
    assert_eq!(watch.see(Sighting::Started, Duration::ZERO), Step::Nothing);
    assert_eq!(watch.see(Sighting::HolderGone, Duration::ZERO), Step::Nothing);
    let mut finished = None;
    let mut rungs = Vec::new();
    while finished.is_none() {
        let at = watch.wake_at().expect("an owner's death has a deadline");
        let members = machine.processes.clone();
        let signal = match watch.see(Sighting::Tick, at) {
            Step::Term(_) => TERM,
            Step::Kill(_) => KILL,
            other => panic!("{other:?}"),
        };
        rungs.push((at, signal));
        machine.signal_all(&members, signal);
        if machine.processes.is_empty() {
            match watch.see(Sighting::Empty, at) {
                Step::Finish(termination) => finished = Some(termination),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(rungs, [(orphan_grace, TERM), (orphan_grace + grace, KILL)]);
    assert_eq!(machine.signalled, [(42, TERM), (41, TERM), (40, TERM), (41, KILL), (40, KILL)]);
    let termination = finished.unwrap();
    assert_eq!((termination.reason, termination.confirmed), (Reason::OwnerLost, true));
    assert_eq!(watch.cause(), Some(Cause::OwnerLost));
}

#[test]
fn without_a_process_list_nobody_is_signalled_and_nothing_recorded() {
    let later = Expected { verdict: "retry-later", ..LEFT };
    let wrapper = || Lease::LegacyWrapper { root: "/state/mine" };
    for record in [
        Record::of(&root(), LeaseView::Mine),
        Record::of(&root(), LeaseView::Expired),
        Record::legacy(&root(), wrapper()),
    ] {
        let machine = Machine { readable: false, ..Machine::new([root(), child(), grandchild()]) };
        let (record, _) = check("unreadable", record, machine, &later);
        assert!(!record.stolen);
    }
    let machine = Machine { readable: false, ..Machine::new([grandchild()]) };
    check("unreadable, root gone", Record::of(&root(), LeaseView::Mine), machine, &later);
}

#[test]
fn a_stale_lease_with_no_process_is_stolen_and_lost() {
    let (record, _) = check("stale", Record::of(&root(), LeaseView::Expired), Machine::new([]), &LOST);
    assert!(record.stolen);
    let rebooted = Machine { boot: "second", ..Machine::new([root(), child()]) };
    check("rebooted", Record::of(&root(), LeaseView::Mine), rebooted, &LOST);
    let wrapper = Lease::LegacyWrapper { root: "/state/mine" };
    check("legacy", Record::legacy(&root(), wrapper), Machine::new([]), &LOST);
}

#[test]
fn a_startup_orphan_is_ended_grandchild_child_and_root_in_this_order() {
    let machine = || Machine::new([root(), child(), grandchild()]);
    let killed = [(42, KILL), (41, KILL), (40, KILL)];
    for view in [LeaseView::Mine, LeaseView::Expired] {
        let (record, _) = check("orphan", Record::of(&root(), view.clone()), machine(), &ended(&killed));
        assert_eq!(record.stolen, view == LeaseView::Expired);
    }
}

#[test]
fn an_escapee_in_a_session_of_its_own_is_ended_by_the_lease_that_it_carries() {
    let escapee = process(50, &["chrome"]).marked(1);
    let another_runs = process(51, &["chrome"]).marked(2);
    let machine = Machine::new([root(), escapee, another_runs]);
    let (_, machine) =
        check("escapee", Record::of(&root(), LeaseView::Mine), machine, &ended(&[(40, KILL), (50, KILL)]));
    assert!(machine.find(51).is_some(), "another run's process was killed");
}
