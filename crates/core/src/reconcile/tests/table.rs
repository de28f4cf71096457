//! The table of the design, a test a row.

use super::*;

fn mine_or_expired() -> [(LeaseView, bool); 2] {
    [(LeaseView::Mine, false), (LeaseView::Expired, true)]
}

#[test]
fn what_another_holds_is_left_whatever_is_seen() {
    for keeper in [KeeperEvidence::LockFree, KeeperEvidence::Answers] {
        let root = RootEvidence::Same(held());
        let verdict = decide(&Case { lease: LeaseView::OtherHealthy, keeper, root, ..case() });
        assert_eq!(verdict, Verdict::Leave { why: Settled::HeldByAnother });
    }
}

#[test]
fn a_run_that_we_started_is_resumed_with_its_keeper_whatever_its_orphan_policy() {
    for orphan in [Orphan::Keep, Orphan::Terminate] {
        let record = Recorded { orphan, ..case().record };
        let verdict = decide(&Case { record, keeper: KeeperEvidence::Answers, ..case() });
        assert_eq!(verdict, Verdict::Resume { steal: false });
    }
}

#[test]
fn an_expired_run_with_a_keeper_is_stolen_and_then_resumed_or_ended_as_its_policy_says() {
    for (orphan, expected) in [
        (Orphan::Keep, Verdict::Resume { steal: true }),
        (Orphan::Terminate, Verdict::EndByPolicy { steal: true }),
    ] {
        let record = Recorded { orphan, ..case().record };
        let keeper = KeeperEvidence::Answers;
        assert_eq!(decide(&Case { record, keeper, lease: LeaseView::Expired, ..case() }), expected);
    }
}

#[test]
fn a_run_that_was_taken_over_is_ended_as_its_policy_says_though_its_thief_died_before_it_said_so() {
    for (orphan, expected) in [
        (Orphan::Keep, Verdict::Resume { steal: false }),
        (Orphan::Terminate, Verdict::EndByPolicy { steal: false }),
    ] {
        let record = Recorded { orphan, is_taken_over: true, ..case().record };
        assert_eq!(decide(&Case { record, keeper: KeeperEvidence::Answers, ..case() }), expected);
    }
}

#[test]
fn a_run_without_identity_and_keeper_never_started() {
    let record = Recorded { state: State::Starting, ..case().record };
    for (lease, steal) in mine_or_expired() {
        let verdict = decide(&Case { record, lease, root: RootEvidence::NoIdentity, ..case() });
        assert_eq!(verdict, Verdict::NeverStarted { steal });
    }
}

#[test]
fn a_run_without_identity_is_left_while_its_nursery_may_still_start_it() {
    let record = Recorded { state: State::Starting, ..case().record };
    let starting = Case { record, root: RootEvidence::NoIdentity, ..case() };
    let verdict = decide(&Case { nursery: NurseryEvidence::LockHeld, ..starting.clone() });
    assert_eq!(verdict, Verdict::RetryLater { why: Doubt::NurseryAtWork });
    let verdict = decide(&Case { nursery: NurseryEvidence::Disclaims, ..starting });
    assert_eq!(verdict, Verdict::NeverStarted { steal: false });
}

#[test]
fn a_run_that_was_never_recorded_and_yet_left_somebody_is_lost_not_unstarted() {
    let record = Recorded { state: State::Starting, ..case().record };
    let leftovers = Leftovers::Known(1);
    let verdict = decide(&Case { record, leftovers, root: RootEvidence::NoIdentity, ..case() });
    assert_eq!(verdict, Verdict::CloseAsLost { steal: false, why: Lost::NeverRecorded, leftovers: 1 });
}

#[test]
fn an_ending_on_disk_is_taken_and_nobody_is_killed() {
    for (lease, steal) in mine_or_expired() {
        let root = RootEvidence::Same(held());
        let verdict = decide(&Case { ending: EndingEvidence::Found, lease, root, ..case() });
        assert_eq!(verdict, Verdict::TakeEnding { steal });
    }
}

#[test]
fn a_living_root_without_keeper_and_nursery_is_ended_with_its_tree() {
    for (lease, steal) in mine_or_expired() {
        let verdict = decide(&Case { lease, root: RootEvidence::Same(held()), ..case() });
        assert_eq!(verdict, Verdict::EndTree { steal, root: held() });
    }
}

#[test]
fn the_tree_of_a_fallen_keeper_is_left_to_a_living_nursery() {
    let case = Case { nursery: NurseryEvidence::LockHeld, root: RootEvidence::Same(held()), ..case() };
    assert_eq!(decide(&case), Verdict::RetryLater { why: Doubt::NurseryAtWork });
}

#[test]
fn a_run_whose_root_is_gone_or_another_is_lost_and_its_leftovers_are_ended() {
    for (lease, steal) in mine_or_expired() {
        for (root, why) in [(RootEvidence::Gone, Lost::ProcessesGone), (RootEvidence::Other, Lost::PidReused)]
        {
            for leftovers in [0, 3] {
                let seen = Leftovers::Known(leftovers);
                let case = Case { lease: lease.clone(), root: root.clone(), leftovers: seen, ..case() };
                assert_eq!(decide(&case), Verdict::CloseAsLost { steal, why, leftovers });
            }
        }
    }
}

#[test]
fn after_a_reboot_a_run_is_lost_and_nobody_can_be_left() {
    for leftovers in [Leftovers::Known(2), Leftovers::Unreadable(denied())] {
        let verdict = decide(&Case { root: RootEvidence::Rebooted, leftovers, ..case() });
        assert_eq!(verdict, Verdict::CloseAsLost { steal: false, why: Lost::Rebooted, leftovers: 0 });
    }
}

#[test]
fn whatever_is_unreadable_is_left_told_and_tried_again() {
    let alive = || Case { root: RootEvidence::Same(held()), ..case() };
    for (case, why) in [
        (Case { ending: EndingEvidence::Unreadable(denied()), ..alive() }, Doubt::EndingUnreadable(denied())),
        (Case { keeper: KeeperEvidence::LockHeldButSilent, ..alive() }, Doubt::KeeperSilent),
        (Case { keeper: KeeperEvidence::Unreadable(denied()), ..alive() }, Doubt::KeeperUnreadable(denied())),
        (
            Case { nursery: NurseryEvidence::Unreadable(denied()), ..alive() },
            Doubt::NurseryUnreadable(denied()),
        ),
        (Case { root: RootEvidence::Unreadable(denied()), ..alive() }, Doubt::RootUnreadable(denied())),
        (Case { leftovers: Leftovers::Unreadable(denied()), ..alive() }, Doubt::TreeUnreadable(denied())),
    ] {
        assert_eq!(decide(&case), Verdict::RetryLater { why });
    }
}

#[test]
fn a_legacy_root_is_ended_only_if_it_agrees_with_its_record() {
    let verdict =
        |claim, root, leftovers| decide(&Case { lease: LeaseView::Legacy(claim), root, leftovers, ..case() });
    for claim in [Claim::Wrapper, Claim::Command] {
        let alive = || RootEvidence::Same(held());
        let listed = || Leftovers::Known(1);
        assert_eq!(
            verdict(claim(Agreement::Agrees), alive(), listed()),
            Verdict::EndTree { steal: false, root: held() }
        );
        assert_eq!(
            verdict(claim(Agreement::Differs), alive(), listed()),
            Verdict::Leave { why: Settled::LegacyUnverified }
        );
        assert_eq!(
            verdict(claim(Agreement::Unreadable(denied())), alive(), listed()),
            Verdict::RetryLater { why: Doubt::LegacyUnreadable(denied()) }
        );
        assert_eq!(
            verdict(claim(Agreement::Agrees), RootEvidence::Gone, listed()),
            Verdict::CloseAsLost { steal: false, why: Lost::ProcessesGone, leftovers: 0 }
        );
    }
}

#[test]
fn a_daemon_that_may_not_act_decides_nothing() {
    for (us, why) in [(Standing::Unrenewed, Doubt::Unrenewed), (Standing::Superseded, Doubt::Superseded)] {
        let verdict = decide(&Case { us, ending: EndingEvidence::Found, ..case() });
        assert_eq!(verdict, Verdict::RetryLater { why });
    }
}

#[test]
fn a_verdict_tells_its_evidence_in_one_line() {
    for (case, line) in [
        (case(), "close-as-lost: its root is gone, no process of it is left"),
        (
            Case { lease: LeaseView::Expired, root: RootEvidence::Same(held()), ..case() },
            "end-tree, after stealing the lease: its root is alive (pid 40 started 7), its keeper and nursery are gone",
        ),
        (
            Case { root: RootEvidence::Unreadable(denied()), ..case() },
            "retry-later: its root cannot be read (permission denied by policy)",
        ),
    ] {
        assert_eq!(decide(&case).to_string(), line);
    }
}

#[test]
fn a_root_is_judged_by_its_boot_before_its_pid() {
    let recorded = held().identity().clone();
    let here = recorded.place.clone();
    let later = Place { boot_id: "c".into(), ..here.clone() };
    let found = Sighting::Found { start_time: 7, pidfs_inode: None };
    let of = |recorded, here: &Place, seen: &Sighting, is_alive| {
        RootEvidence::of(recorded, here, |root| (identity::judge(root, here, seen), is_alive))
    };
    assert_eq!(of(None, &here, &found, true), RootEvidence::NoIdentity);
    assert_eq!(of(Some(&recorded), &here, &found, true), RootEvidence::Same(held()));
    assert_eq!(of(Some(&recorded), &here, &found, false), RootEvidence::Gone, "a zombie");
    assert_eq!(of(Some(&recorded), &here, &Sighting::NoSuchProcess, false), RootEvidence::Gone);
    assert_eq!(of(Some(&recorded), &later, &found, true), RootEvidence::Rebooted);
    let denied = Sighting::Unreadable(denied());
    assert!(matches!(of(Some(&recorded), &here, &denied, false), RootEvidence::Unreadable(_)));
}

#[test]
fn a_hold_is_seen_as_whose_it_is() {
    let [me, other] = [1, 2].map(|n| InstanceId::from_random([n; 12]));
    let of = |instance: &InstanceId, expired| {
        LeaseView::of(&Hold { instance: instance.clone(), epoch: 1 }, &me, expired)
    };
    assert_eq!([of(&me, false), of(&me, true)], [LeaseView::Mine, LeaseView::Mine]);
    assert_eq!([of(&other, false), of(&other, true)], [LeaseView::OtherHealthy, LeaseView::Expired]);
}
