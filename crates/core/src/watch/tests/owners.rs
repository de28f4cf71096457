//! Callers and lease holders that come and go.

use super::*;

const LONG_AFTER: u64 = 3_600_000;

fn cause_of<const N: usize>(
    options: RunOptions,
    script: [(u64, Sighting); N],
) -> (Option<Cause>, Option<Duration>) {
    let (watch, _) = play(options, script);
    (watch.cause(), watch.wake_at())
}

#[test]
fn a_caller_that_goes_takes_its_run_along_at_once() {
    let (_, due) = play(unlimited(), [(0, Sighting::Started), (1, Sighting::CallerGone)]);
    assert_eq!(due[1], TERM);
    let ended =
        ending(unlimited(), [(0, Sighting::Started), (1, Sighting::CallerGone), (2, Sighting::Empty)]);
    assert_eq!((ended.reason, ended.detail.as_deref()), (Reason::OwnerLost, Some("the caller is gone")));
}

#[test]
fn a_keeper_that_is_told_to_end_ends_its_run() {
    let (_, due) = play(unlimited(), [(0, Sighting::Started), (1, Sighting::Terminated)]);
    assert_eq!(due[1], TERM);
    let ended =
        ending(unlimited(), [(0, Sighting::Started), (1, Sighting::Terminated), (2, Sighting::Empty)]);
    assert_eq!(
        (ended.reason, ended.detail.as_deref()),
        (Reason::OwnerLost, Some("the keeper was told to end"))
    );
}

#[test]
fn a_run_goes_on_without_a_holder_for_the_orphan_grace() {
    let (watch, due) = play(
        unlimited(),
        [
            (0, Sighting::Started),
            (1_000, Sighting::HolderGone),
            (60_999, Sighting::Tick),
            (61_000, Sighting::Tick),
        ],
    );
    assert_eq!(
        (watch.cause(), due),
        (Some(Cause::OwnerLost), [Step::Nothing, Step::Nothing, Step::Nothing, TERM])
    );
    let ended = ending(
        unlimited(),
        [
            (0, Sighting::Started),
            (0, Sighting::HolderGone),
            (60_000, Sighting::Tick),
            (60_001, Sighting::Empty),
        ],
    );
    assert_eq!(ended.detail.as_deref(), Some("no owner came back within 1 min 0 s"));
}

#[test]
fn an_orphan_grace_of_zero_is_over_at_once() {
    let options = limited(|limits| limits.orphan_grace = Duration::ZERO);
    let (watch, due) = play(options, [(0, Sighting::Started), (1, Sighting::HolderGone)]);
    assert_eq!((watch.cause(), due[1].clone()), (Some(Cause::OwnerLost), TERM));
}

#[test]
fn a_holder_that_is_back_stops_the_orphan_grace() {
    let script = [
        (0, Sighting::Started),
        (1, Sighting::HolderGone),
        (59_000, Sighting::HolderBack),
        (LONG_AFTER, Sighting::Tick),
    ];
    assert_eq!(cause_of(unlimited(), script), (None, None));
}

#[test]
fn a_holder_that_is_back_before_the_tick_is_not_too_late() {
    let script =
        [(0, Sighting::HolderGone), (LONG_AFTER, Sighting::HolderBack), (LONG_AFTER, Sighting::Tick)];
    assert_eq!(cause_of(unlimited(), script), (None, None));
}

#[test]
fn a_holder_that_is_gone_twice_is_gone_since_the_first_time() {
    let script = [(0, Sighting::Started), (1_000, Sighting::HolderGone), (30_000, Sighting::HolderGone)];
    assert_eq!(cause_of(unlimited(), script), (None, Some(seconds(61))));
}

#[test]
fn a_released_run_waits_without_limit_also_when_the_connection_then_ends() {
    let script = [
        (0, Sighting::Started),
        (1, Sighting::HolderReleased),
        (2, Sighting::HolderGone),
        (LONG_AFTER, Sighting::Tick),
    ];
    assert_eq!(cause_of(unlimited(), script), (None, None));
    let script = [
        (0, Sighting::Started),
        (1, Sighting::HolderGone),
        (2, Sighting::HolderReleased),
        (LONG_AFTER, Sighting::Tick),
    ];
    assert_eq!(cause_of(unlimited(), script), (None, None));
}

#[test]
fn a_new_holder_of_a_released_run_counts_again() {
    let script = [
        (0, Sighting::Started),
        (1, Sighting::HolderReleased),
        (2, Sighting::HolderGone),
        (3, Sighting::HolderBack),
        (4_000, Sighting::HolderGone),
    ];
    assert_eq!(cause_of(unlimited(), script), (None, Some(seconds(64))));
}

#[test]
fn a_run_to_keep_goes_on_without_its_holder_for_ever() {
    for grace in [Duration::ZERO, seconds(60)] {
        let options = RunOptions { orphan: Orphan::Keep, ..limited(|limits| limits.orphan_grace = grace) };
        let script = [(0, Sighting::Started), (1, Sighting::HolderGone), (LONG_AFTER, Sighting::Tick)];
        assert_eq!(cause_of(options, script), (None, None));
    }
}

#[test]
fn a_run_to_keep_still_ends_with_its_foreground_caller() {
    let options = RunOptions { orphan: Orphan::Keep, ..unlimited() };
    let (watch, _) = play(options, [(0, Sighting::Started), (1, Sighting::CallerGone)]);
    assert_eq!(watch.cause(), Some(Cause::OwnerLost));
}

#[test]
fn a_holder_is_not_missed_while_a_caller_is_there() {
    for grace in [Duration::ZERO, seconds(60)] {
        let options = limited(|limits| limits.orphan_grace = grace);
        for come in [Sighting::CallerHere, Sighting::HolderBack] {
            let script = [
                (0, Sighting::CallerHere),
                (1, Sighting::Started),
                (2, come),
                (3, Sighting::HolderGone),
                (LONG_AFTER, Sighting::Tick),
            ];
            assert_eq!(cause_of(options.clone(), script), (None, None));
        }
    }
}

#[test]
fn a_caller_that_comes_stops_the_orphan_grace_and_still_takes_its_run_along() {
    let script = [(0, Sighting::Started), (1, Sighting::HolderGone), (59_000, Sighting::CallerHere)];
    assert_eq!(cause_of(unlimited(), script), (None, None));
    let script = [
        (0, Sighting::Started),
        (1, Sighting::HolderGone),
        (59_000, Sighting::CallerHere),
        (59_001, Sighting::CallerGone),
    ];
    assert_eq!(cause_of(unlimited(), script).0, Some(Cause::OwnerLost));
}

#[test]
fn owners_that_come_and_go_change_nothing_of_a_run_that_ends() {
    let zero = limited(|limits| limits.orphan_grace = Duration::ZERO);
    for seen in [
        Sighting::CallerHere,
        Sighting::CallerGone,
        Sighting::Terminated,
        Sighting::HolderGone,
        Sighting::HolderBack,
        Sighting::HolderReleased,
        CANCEL,
    ] {
        let (before, _) = play(zero.clone(), [(0, Sighting::Started), (1, exits(Exit::Code(0)))]);
        let mut after = before.clone();
        assert_eq!(after.see(seen, Duration::from_millis(2)), Step::Nothing);
        assert_eq!(after, before);
    }
}
