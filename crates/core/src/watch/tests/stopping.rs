//! The ladder, and the cancels that climb it.

use super::*;

#[test]
fn a_cancel_asks_waits_the_grace_kills_and_gives_up() {
    let (watch, due) = play(
        unlimited(),
        [
            (0, Sighting::Started),
            (1_000, CANCEL),
            (5_999, Sighting::Tick),
            (6_000, Sighting::Tick),
            (15_999, Sighting::Tick),
            (16_000, Sighting::Tick),
        ],
    );
    assert_eq!(due, [Step::Nothing, TERM, Step::Nothing, KILL, Step::Nothing, Step::ListSurvivors]);
    assert_eq!(
        (watch.state(), watch.cause(), watch.wake_at()),
        (State::Exiting, Some(Cause::ManualCancel), None)
    );
}

#[test]
fn a_tree_that_leaves_in_the_grace_is_not_killed() {
    let ended = ending(
        unlimited(),
        [(0, Sighting::Started), (1, CANCEL), (2, exits(Exit::Signal(15))), (3, Sighting::Empty)],
    );
    assert_eq!((ended.reason, ended.signal, ended.confirmed), (Reason::ManualCancel, Some(15), true));
}

/// A cancelled run whose tree could not be killed; the survivors' names are due.
fn given_up() -> Watch {
    let (watch, due) = play(
        unlimited(),
        [(0, Sighting::Started), (0, CANCEL_NOW), (10_000, Sighting::Tick), (10_001, exits(Exit::Signal(9)))],
    );
    assert_eq!(due, [Step::Nothing, KILL, Step::ListSurvivors, Step::Nothing]);
    watch
}

fn finished(due: Step) -> Termination {
    match due {
        Step::Finish(termination) => *termination,
        other => panic!("{other:?} is no ending"),
    }
}

#[test]
fn who_survives_the_kill_is_named_and_the_end_is_not_confirmed() {
    let ended = finished(given_up().see(Sighting::Alive(vec![process(7)]), seconds(11)));
    assert_eq!((ended.reason, ended.signal), (Reason::ManualCancel, Some(9)));
    assert_eq!((ended.confirmed, ended.survivors), (false, vec![process(7)]));
}

#[test]
fn a_last_look_that_finds_nobody_confirms_the_end() {
    for seen in [Sighting::Alive(vec![]), Sighting::Empty] {
        let ended = finished(given_up().see(seen, seconds(11)));
        assert_eq!((ended.confirmed, ended.survivors), (true, vec![]));
    }
}

#[test]
fn an_unanswered_look_is_not_asked_for_again() {
    let mut watch = given_up();
    for seen in [Sighting::Tick, CANCEL_NOW, CANCEL] {
        assert_eq!(watch.see(seen, seconds(3_600)), Step::Nothing);
        assert_eq!(watch.wake_at(), None);
    }
}

#[test]
fn survivors_that_nobody_asked_for_decide_nothing() {
    let alive = || Sighting::Alive(vec![process(7)]);
    let (_, due) =
        play(unlimited(), [(0, alive()), (1, Sighting::Started), (2, alive()), (3, CANCEL), (4, alive())]);
    assert_eq!(due, [Step::Nothing, Step::Nothing, Step::Nothing, TERM, Step::Nothing]);
}

#[test]
fn a_repeated_cancel_hastens_nothing() {
    let (watch, due) = play(unlimited(), [(0, Sighting::Started), (0, CANCEL), (4_000, CANCEL)]);
    assert_eq!((due[2].clone(), watch.wake_at()), (Step::Nothing, Some(seconds(5))));
}

#[test]
fn a_cancel_now_kills_at_once() {
    let (watch, due) = play(unlimited(), [(0, Sighting::Started), (1_000, CANCEL_NOW)]);
    assert_eq!((watch.cause(), due[1].clone()), (Some(Cause::ManualCancel), KILL));
    assert_eq!(watch.wake_at(), Some(seconds(11)));
}

#[test]
fn a_cancel_now_in_the_grace_kills_once() {
    let (watch, due) = play(
        unlimited(),
        [(0, Sighting::Started), (0, CANCEL), (1_000, CANCEL_NOW), (2_000, CANCEL_NOW), (3_000, CANCEL)],
    );
    assert_eq!(due[1..], [TERM, KILL, Step::Nothing, Step::Nothing]);
    assert_eq!(watch.wake_at(), Some(seconds(11)));
}

#[test]
fn the_first_cause_stands() {
    let limited = || limited(|limits| limits.overall = Some(seconds(1)));
    let (watch, due) =
        play(limited(), [(0, Sighting::Started), (1_000, Sighting::Tick), (1_001, CANCEL_NOW)]);
    assert_eq!((watch.cause(), due[2].clone()), (Some(Cause::OverallTimeout), KILL));
    let script = [
        (0, Sighting::Started),
        (1, CANCEL),
        (2, Sighting::CallerGone),
        (3_000, Sighting::Tick),
        (4_000, Sighting::Empty),
    ];
    assert_eq!(ending(limited(), script).reason, Reason::ManualCancel);
}

#[test]
fn a_cancel_after_the_commands_own_end_is_no_cause_but_hastens_the_rest() {
    let script =
        || [(0, Sighting::Started), (1, left(1, &[])), (2, CANCEL), (3, CANCEL_NOW), (4, Sighting::Empty)];
    let (_, due) = play(unlimited(), script());
    assert_eq!(due[1..4], [Step::Nothing, Step::Nothing, KILL]);
    let ended = ending(unlimited(), script());
    assert_eq!((ended.reason, ended.exit_code, ended.leftovers), (Reason::Exit, Some(0), 1));
}

#[test]
fn a_grace_of_zero_kills_without_asking() {
    let hard = || limited(|limits| limits.grace = Duration::ZERO);
    for seen in [CANCEL, CANCEL_NOW, Sighting::CallerGone, Sighting::Terminated, left(1, &[])] {
        let (_, due) = play(hard(), [(0, Sighting::Started), (1, seen)]);
        assert_eq!(due[1], KILL);
    }
}

#[test]
fn a_root_that_exits_after_a_cause_changes_nothing_but_is_remembered() {
    let script = || {
        [
            (0, Sighting::Started),
            (0, CANCEL),
            (1, left(2, &[7])),
            (2, exits(Exit::Code(9))),
            (3, Sighting::Empty),
        ]
    };
    let (_, due) = play(unlimited(), script());
    assert_eq!(due[2..4], [Step::Nothing, Step::Nothing]);
    let ended = ending(unlimited(), script());
    assert_eq!((ended.reason, ended.exit_code), (Reason::ManualCancel, Some(0)));
    assert_eq!((ended.leftovers, ended.escapees), (0, vec![]));
}

#[test]
fn a_run_that_has_ended_sees_nothing_more() {
    let (ended, _) =
        play(unlimited(), [(0, Sighting::Started), (1, exits(Exit::Code(0))), (2, Sighting::Empty)]);
    for seen in [
        Sighting::Empty,
        CANCEL_NOW,
        Sighting::Tick,
        Sighting::Alive(vec![process(7)]),
        left(1, &[7]),
        not_found(),
    ] {
        let mut watch = ended.clone();
        assert_eq!(watch.see(seen, seconds(3_600)), Step::Nothing);
        assert_eq!(watch, ended);
    }
}
