//! Roots that exit by themselves, and the processes that outlive them.

use super::*;

fn on_escape(on_escape: OnEscape) -> RunOptions {
    RunOptions { on_escape, ..unlimited() }
}

#[test]
fn a_root_that_leaves_nobody_is_awaited_without_a_signal() {
    let (watch, due) = play(unlimited(), [(0, Sighting::Started), (1, exits(Exit::Code(7)))]);
    assert_eq!((watch.state(), watch.cause(), due[1].clone()), (State::Exiting, None, Step::Nothing));
}

#[test]
fn a_command_ends_as_its_root_did() {
    let ended = |exit| ending(unlimited(), [(0, Sighting::Started), (1, exits(exit)), (2, Sighting::Empty)]);
    let code = ended(Exit::Code(7));
    assert_eq!((code.reason, code.exit_code, code.signal), (Reason::Exit, Some(7), None));
    let signal = ended(Exit::Signal(11));
    assert_eq!((signal.reason, signal.exit_code, signal.signal), (Reason::Signal, None, Some(11)));
}

#[test]
fn a_process_that_was_overlooked_at_the_roots_end_is_ended_after_the_grace() {
    let (watch, due) = play(
        unlimited(),
        [
            (0, Sighting::Started),
            (1_000, exits(Exit::Code(0))),
            (6_000, Sighting::Tick),
            (11_000, Sighting::Tick),
            (21_000, Sighting::Tick),
        ],
    );
    assert_eq!(due[2..], [TERM, KILL, Step::ListSurvivors]);
    assert_eq!(watch.cause(), None);
}

#[test]
fn leftovers_are_ended_and_counted_and_the_ending_is_the_commands_own() {
    let script = || {
        let ended = (6_201, Sighting::Empty);
        [
            (0, Sighting::Started),
            (1_000, left(3, &[])),
            (1_200, Sighting::Tick),
            (6_200, Sighting::Tick),
            ended,
        ]
    };
    assert_eq!(play(unlimited(), script()).1[1..4], [Step::Nothing, TERM, KILL]);
    let ended = ending(unlimited(), script());
    assert_eq!((ended.reason, ended.leftovers, ended.confirmed), (Reason::Exit, 3, true));
}

#[test]
fn who_finishes_what_the_root_began_is_not_asked_to_leave() {
    let script =
        [(0, Sighting::Started), (1_000, left(1, &[])), (1_199, Sighting::Tick), (1_199, Sighting::Empty)];
    let (_, due) = play(unlimited(), script);
    assert_eq!(due[1..3], [Step::Nothing, Step::Nothing]);
}

#[test]
fn an_escape_is_ended_and_fails_the_run() {
    let script =
        || [(0, Sighting::Started), (1, left(0, &[7])), (201, Sighting::Tick), (202, Sighting::Empty)];
    assert_eq!(play(on_escape(OnEscape::Fail), script()).1[2], TERM);
    let ended = ending(on_escape(OnEscape::Fail), script());
    assert_eq!((ended.reason, ended.exit_code, ended.code()), (Reason::OwnershipEscape, Some(0), 122));
    assert_eq!(ended.escapees, [process(7)]);
}

#[test]
fn a_reaped_escape_is_ended_and_the_run_keeps_its_own_ending() {
    let script =
        || [(0, Sighting::Started), (1, left(0, &[7])), (201, Sighting::Tick), (202, Sighting::Empty)];
    assert_eq!(play(on_escape(OnEscape::Reap), script()).1[2], TERM);
    let ended = ending(on_escape(OnEscape::Reap), script());
    assert_eq!((ended.reason, ended.exit_code, ended.escapees), (Reason::Exit, Some(0), vec![process(7)]));
}

#[test]
fn an_allowed_escape_is_spared_when_leftovers_are_ended() {
    let script = || {
        [
            (0, Sighting::Started),
            (0, left(1, &[7])),
            (200, Sighting::Tick),
            (5_200, Sighting::Tick),
            (15_200, Sighting::Tick),
            (15_201, Sighting::Empty),
        ]
    };
    let (watch, due) = play(on_escape(OnEscape::Allow), script());
    assert_eq!(
        due[2..5],
        [Step::Term(StopScope::Session), Step::Kill(StopScope::Session), Step::ListSurvivors]
    );
    assert_eq!(watch.scope(), StopScope::Session);
    let ended = ending(on_escape(OnEscape::Allow), script());
    assert_eq!((ended.reason, ended.leftovers, ended.escapees), (Reason::Exit, 1, vec![process(7)]));
}

#[test]
fn an_allowed_escape_alone_calls_for_no_signal() {
    let (watch, due) = play(on_escape(OnEscape::Allow), [(0, Sighting::Started), (1, left(0, &[7]))]);
    assert_eq!((watch.scope(), due[1].clone()), (StopScope::Session, Step::Nothing));
}

#[test]
fn a_cancel_now_spares_an_allowed_escape() {
    for leftovers in [0, 1] {
        let script = [(0, Sighting::Started), (1, left(leftovers, &[7])), (2, CANCEL_NOW)];
        assert_eq!(play(on_escape(OnEscape::Allow), script).1[2], Step::Kill(StopScope::Session));
    }
}

#[test]
fn where_escapes_are_allowed_leftovers_and_causes_are_still_for_all() {
    let script = [(0, Sighting::Started), (1, left(1, &[])), (201, Sighting::Tick)];
    assert_eq!(play(on_escape(OnEscape::Allow), script).1[2], TERM);
    let (watch, due) =
        play(on_escape(OnEscape::Allow), [(0, Sighting::Started), (1, CANCEL), (2, left(1, &[7]))]);
    assert_eq!((watch.scope(), due[1].clone()), (StopScope::All, TERM));
}

#[test]
fn an_escape_seen_after_a_cause_is_not_judged() {
    let script = [(0, Sighting::Started), (1, CANCEL), (2, left(0, &[7])), (3, Sighting::Empty)];
    let ended = ending(on_escape(OnEscape::Fail), script);
    assert_eq!((ended.reason, ended.escapees), (Reason::ManualCancel, vec![]));
}

#[test]
fn an_escape_that_survives_is_both_an_escape_and_not_confirmed() {
    let ended = ending(
        on_escape(OnEscape::Fail),
        [
            (0, Sighting::Started),
            (0, left(0, &[7])),
            (200, Sighting::Tick),
            (5_200, Sighting::Tick),
            (15_200, Sighting::Tick),
            (15_201, Sighting::Alive(vec![process(7)])),
        ],
    );
    assert_eq!((ended.reason, ended.confirmed), (Reason::OwnershipEscape, false));
    assert_eq!((ended.escapees, ended.survivors), (vec![process(7)], vec![process(7)]));
}
