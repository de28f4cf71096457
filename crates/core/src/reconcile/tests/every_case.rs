//! Every case there is, against the rules that no verdict may break. The rules are stated from the invariants and not
//! from the code: each names what must be true of the case if the verdict is what it is.

use super::*;

fn every_case(mut each: impl FnMut(&Case, &Verdict)) {
    let mut number = 0;
    for state in [State::Starting, State::Running, State::Exiting, State::Exited] {
        for (orphan, is_taken_over) in owners() {
            for us in [Standing::Holding, Standing::Unrenewed, Standing::Superseded] {
                for lease in leases() {
                    for (ending, keeper) in product(&endings(), &keepers()) {
                        for (nursery, root) in product(&nurseries(), &roots()) {
                            for leftovers in leftovers() {
                                let case = Case {
                                    record: Recorded { state, orphan, is_taken_over },
                                    us,
                                    lease: lease.clone(),
                                    ending: ending.clone(),
                                    keeper: keeper.clone(),
                                    nursery: nursery.clone(),
                                    root: root.clone(),
                                    leftovers,
                                };
                                each(&case, &decide(&case));
                                number += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(number, 4 * 3 * 3 * 9 * 3 * 4 * 4 * 6 * 3);
}

fn product<A: Clone, B: Clone>(some: &[A], others: &[B]) -> Vec<(A, B)> {
    some.iter().flat_map(|a| others.iter().map(|b| (a.clone(), b.clone()))).collect()
}

fn owners() -> [(Orphan, bool); 3] {
    [(Orphan::Terminate, false), (Orphan::Terminate, true), (Orphan::Keep, true)]
}

fn leases() -> Vec<LeaseView> {
    let agreements = [Agreement::Agrees, Agreement::Differs, Agreement::Unreadable(denied())];
    let legacy = agreements.into_iter().flat_map(|it| [Claim::Wrapper(it.clone()), Claim::Command(it)]);
    let mut all = vec![LeaseView::Mine, LeaseView::OtherHealthy, LeaseView::Expired];
    all.extend(legacy.map(LeaseView::Legacy));
    all
}

fn endings() -> [EndingEvidence; 3] {
    [EndingEvidence::Found, EndingEvidence::Missing, EndingEvidence::Unreadable(denied())]
}

fn keepers() -> [KeeperEvidence; 4] {
    use KeeperEvidence::{Answers, LockFree, LockHeldButSilent, Unreadable};
    [Answers, LockHeldButSilent, LockFree, Unreadable(denied())]
}

fn nurseries() -> [NurseryEvidence; 4] {
    use NurseryEvidence::{Disclaims, LockFree, LockHeld, Unreadable};
    [LockFree, LockHeld, Disclaims, Unreadable(denied())]
}

fn roots() -> [RootEvidence; 6] {
    use RootEvidence::{Gone, NoIdentity, Other, Rebooted, Same, Unreadable};
    [Same(held()), Other, Gone, Rebooted, Unreadable(denied()), NoIdentity]
}

fn leftovers() -> [Leftovers; 3] {
    [Leftovers::Known(0), Leftovers::Known(2), Leftovers::Unreadable(denied())]
}

fn unreadable(case: &Case) -> bool {
    matches!(case.ending, EndingEvidence::Unreadable(_))
        || matches!(case.keeper, KeeperEvidence::Unreadable(_))
        || matches!(case.nursery, NurseryEvidence::Unreadable(_))
        || matches!(case.root, RootEvidence::Unreadable(_))
        || matches!(case.leftovers, Leftovers::Unreadable(_))
        || matches!(
            case.lease,
            LeaseView::Legacy(
                Claim::Wrapper(Agreement::Unreadable(_)) | Claim::Command(Agreement::Unreadable(_))
            )
        )
}

fn alone(case: &Case) -> bool {
    case.keeper == KeeperEvidence::LockFree
        && matches!(case.nursery, NurseryEvidence::LockFree | NurseryEvidence::Disclaims)
}

#[test]
fn a_healthy_lease_of_another_is_never_touched() {
    every_case(|case, verdict| {
        if case.lease == LeaseView::OtherHealthy {
            assert!(matches!(verdict, Verdict::Leave { .. }), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn only_a_daemon_that_may_act_does_and_only_on_what_has_not_ended() {
    every_case(|case, verdict| {
        if case.us != Standing::Holding || case.record.state == State::Exited {
            assert!(!verdict.acts(), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn a_steal_precedes_every_act_on_an_expired_lease_and_no_other() {
    every_case(|case, verdict| {
        let expected = verdict.acts() && case.lease == LeaseView::Expired;
        assert_eq!(verdict.steals(), expected, "{case:?} → {verdict}");
    });
}

#[test]
fn what_is_unreadable_never_leads_to_a_signal() {
    every_case(|case, verdict| {
        if unreadable(case) {
            assert!(!verdict.signals(), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn nobody_is_signalled_without_proof_or_beside_a_keeper_or_a_nursery() {
    every_case(|case, verdict| {
        if !verdict.signals() {
            return;
        }
        assert!(alone(case), "{case:?} → {verdict}");
        match verdict {
            Verdict::EndTree { root, .. } => {
                assert_eq!(case.root, RootEvidence::Same(root.clone()), "{case:?}");
            }
            Verdict::CloseAsLost { leftovers, .. } => {
                assert_eq!(case.leftovers, Leftovers::Known(*leftovers), "{case:?}");
            }
            other => panic!("{case:?} → {other}"),
        }
    });
}

#[test]
fn an_ending_on_disk_wins_over_everything_but_the_lease() {
    every_case(|case, verdict| {
        let ours = case.lease != LeaseView::OtherHealthy && case.record.state != State::Exited;
        if case.ending == EndingEvidence::Found && ours && case.us == Standing::Holding {
            assert!(matches!(verdict, Verdict::TakeEnding { .. }), "{case:?} → {verdict}");
        } else {
            assert!(!matches!(verdict, Verdict::TakeEnding { .. }), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn an_ending_is_written_by_us_only_where_nobody_else_can_and_none_is() {
    every_case(|case, verdict| {
        if verdict.reason().is_some() {
            assert!(alone(case) && case.ending == EndingEvidence::Missing, "{case:?} → {verdict}");
        }
    });
}

#[test]
fn a_keeper_that_answers_is_asked_to_end_its_run_only_without_its_owner_and_if_the_policy_says_so() {
    every_case(|case, verdict| {
        let answers = case.keeper == KeeperEvidence::Answers;
        if let Verdict::Resume { .. } | Verdict::EndByPolicy { .. } = verdict {
            assert!(answers, "{case:?} → {verdict}");
        }
        let lost_owner = case.lease == LeaseView::Expired || case.record.is_taken_over;
        let due = lost_owner && case.record.orphan == Orphan::Terminate;
        assert!(due || !matches!(verdict, Verdict::EndByPolicy { .. }), "{case:?} → {verdict}");
        if answers && !due && case.lease == LeaseView::Mine && case.ending == EndingEvidence::Missing {
            let resumed = *verdict == Verdict::Resume { steal: false };
            assert!(resumed || !verdict.acts(), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn a_legacy_record_is_never_acted_on_by_its_pid_alone() {
    every_case(|case, verdict| {
        let LeaseView::Legacy(Claim::Wrapper(agreement) | Claim::Command(agreement)) = &case.lease else {
            return;
        };
        if verdict.signals() {
            assert!(matches!(verdict, Verdict::EndTree { .. }), "{case:?} → {verdict}");
            assert_eq!(*agreement, Agreement::Agrees, "{case:?} → {verdict}");
        }
    });
}

#[test]
fn a_living_root_is_never_closed_as_lost_or_as_never_started() {
    every_case(|case, verdict| {
        if let Verdict::CloseAsLost { .. } | Verdict::NeverStarted { .. } = verdict {
            assert!(!matches!(case.root, RootEvidence::Same(_) | RootEvidence::Unreadable(_)), "{case:?}");
        }
        if let Verdict::NeverStarted { .. } = verdict {
            let bare = case.root == RootEvidence::NoIdentity && case.record.state == State::Starting;
            assert!(bare && case.leftovers != Leftovers::Known(2), "{case:?}");
        }
    });
}

#[test]
fn a_run_that_nobody_answers_for_is_settled_once_everything_can_be_read() {
    every_case(|case, verdict| {
        let ours = matches!(case.lease, LeaseView::Mine | LeaseView::Expired) && case.us == Standing::Holding;
        if ours && alone(case) && !unreadable(case) && case.record.state != State::Exited {
            assert!(verdict.acts(), "{case:?} → {verdict}");
        }
    });
}

#[test]
fn every_verdict_is_one_line_that_begins_with_its_name() {
    let mut names = std::collections::BTreeSet::new();
    every_case(|case, verdict| {
        if case.us == Standing::Holding && case.nursery != NurseryEvidence::Disclaims {
            let line = verdict.to_string();
            assert!(line.starts_with(verdict.name()) && !line.contains(char::is_control), "{line:?}");
            names.insert(verdict.name());
        }
    });
    let all = "close-as-lost end-by-policy end-tree leave never-started resume retry-later take-ending";
    assert_eq!(names.into_iter().collect::<Vec<_>>().join(" "), all);
}
