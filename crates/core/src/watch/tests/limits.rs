//! Both time limits, and activity.

use super::*;

fn overall() -> RunOptions {
    limited(|limits| limits.overall = Some(seconds(10)))
}

fn no_output() -> RunOptions {
    limited(|limits| limits.no_output = Some(seconds(2)))
}

fn cpu() -> RunOptions {
    limited(|limits| {
        limits.no_output = Some(seconds(2));
        limits.activity = Activity::Cpu;
    })
}

#[test]
fn the_overall_limit_counts_from_the_start_and_no_output_extends_it() {
    let (watch, due) = play(
        overall(),
        [
            (500, Sighting::Started),
            (10_000, Sighting::Output),
            (10_499, Sighting::Tick),
            (10_500, Sighting::Tick),
        ],
    );
    assert_eq!(due, [Step::Nothing, Step::Nothing, Step::Nothing, TERM]);
    assert_eq!((watch.state(), watch.cause()), (State::Exiting, Some(Cause::OverallTimeout)));
}

#[test]
fn a_timeout_says_how_long_the_run_took_and_how_its_root_ended() {
    let ended = ending(
        overall(),
        [
            (0, Sighting::Started),
            (10_000, Sighting::Tick),
            (10_001, exits(Exit::Code(0))),
            (10_002, Sighting::Empty),
        ],
    );
    assert_eq!((ended.reason, ended.exit_code, ended.code()), (Reason::OverallTimeout, Some(0), 124));
    assert_eq!(ended.detail.as_deref(), Some("ran longer than 10.0 s"));
}

#[test]
fn an_exit_before_the_deadline_is_no_timeout() {
    let ended = ending(
        overall(),
        [
            (0, Sighting::Started),
            (9_999, exits(Exit::Code(7))),
            (20_000, Sighting::Tick),
            (20_001, Sighting::Empty),
        ],
    );
    assert_eq!((ended.reason, ended.exit_code, ended.detail), (Reason::Exit, Some(7), None));
}

#[test]
fn an_exit_seen_before_the_tick_is_no_timeout_however_late_it_is() {
    let ended =
        ending(overall(), [(0, Sighting::Started), (60_000, left(0, &[])), (60_001, Sighting::Empty)]);
    assert_eq!(ended.reason, Reason::Exit);
}

#[test]
fn only_a_tick_lets_a_limit_pass() {
    let (watch, due) = play(overall(), [(0, Sighting::Started), (60_000, Sighting::Output)]);
    assert_eq!((watch.state(), due[1].clone()), (State::Running, Step::Nothing));
}

#[test]
fn of_two_limits_that_passed_the_earlier_is_the_cause() {
    let both = limited(|limits| {
        limits.overall = Some(seconds(10));
        limits.no_output = Some(seconds(2));
    });
    let (watch, _) = play(both.clone(), [(0, Sighting::Started), (60_000, Sighting::Tick)]);
    assert_eq!(watch.cause(), Some(Cause::NoOutputTimeout));
    let (watch, _) =
        play(both, [(0, Sighting::Started), (9_000, Sighting::Output), (60_000, Sighting::Tick)]);
    assert_eq!(watch.cause(), Some(Cause::OverallTimeout));
}

#[test]
fn the_no_output_limit_counts_from_the_start_and_anew_from_each_output() {
    let (watch, due) = play(
        no_output(),
        [(0, Sighting::Started), (1_900, Sighting::Output), (3_899, Sighting::Tick), (3_900, Sighting::Tick)],
    );
    assert_eq!(due[2..], [Step::Nothing, TERM]);
    assert_eq!(watch.cause(), Some(Cause::NoOutputTimeout));
}

#[test]
fn a_silence_that_was_too_long_says_how_long() {
    let ended =
        ending(no_output(), [(0, Sighting::Started), (2_000, Sighting::Tick), (2_001, Sighting::Empty)]);
    assert_eq!(
        (ended.reason, ended.detail.as_deref()),
        (Reason::NoOutputTimeout, Some("no output for 2.0 s"))
    );
}

#[test]
fn output_after_the_exit_changes_nothing() {
    let (watch, due) =
        play(no_output(), [(0, Sighting::Started), (1, exits(Exit::Code(0))), (2, Sighting::Output)]);
    assert_eq!((watch.state(), due[2].clone()), (State::Exiting, Step::Nothing));
}

#[test]
fn the_tree_is_measured_at_half_the_limit_and_at_the_limit() {
    let (watch, due) = play(
        cpu(),
        [
            (0, Sighting::Started),
            (999, Sighting::Tick),
            (1_000, Sighting::Tick),
            (1_010, used(500, 0)),
            (1_999, Sighting::Tick),
            (2_000, Sighting::Tick),
        ],
    );
    assert_eq!(due, [Step::Nothing, Step::Nothing, Step::Sample, Step::Nothing, Step::Nothing, Step::Sample]);
    assert_eq!(watch.state(), State::Running);
}

/// The state after both measurements, a second apart, of a tree that used this much between them.
fn measured(cpu_ms: u64, io_bytes: u64) -> (Watch, Step) {
    let (watch, due) = play(
        cpu(),
        [
            (0, Sighting::Started),
            (1_000, Sighting::Tick),
            (1_000, used(700, 5)),
            (2_000, Sighting::Tick),
            (2_000, used(700 + cpu_ms, 5 + io_bytes)),
        ],
    );
    (watch, due[4].clone())
}

#[test]
fn a_silent_tree_that_works_begins_a_new_silence() {
    for (cpu_ms, io_bytes) in [(10, 0), (0, 64 << 10), (900, 1 << 30)] {
        let (watch, due) = measured(cpu_ms, io_bytes);
        assert_eq!(
            (watch.cause(), due, watch.wake_at()),
            (None, Step::Nothing, Some(seconds(3))),
            "{cpu_ms} {io_bytes}"
        );
    }
}

#[test]
fn a_silent_tree_that_hardly_works_is_ended() {
    for (cpu_ms, io_bytes) in [(0, 0), (9, (64 << 10) - 1)] {
        let (watch, due) = measured(cpu_ms, io_bytes);
        assert_eq!((watch.cause(), due), (Some(Cause::NoOutputTimeout), TERM), "{cpu_ms} {io_bytes}");
    }
}

#[test]
fn totals_that_shrink_are_no_work() {
    let script = [
        (0, Sighting::Started),
        (1_000, Sighting::Tick),
        (1_000, used(700, 1 << 30)),
        (2_000, Sighting::Tick),
        (2_000, used(0, 0)),
    ];
    assert_eq!(play(cpu(), script).0.cause(), Some(Cause::NoOutputTimeout));
}

#[test]
fn output_discards_the_measurements_of_the_silence_it_ends() {
    let (watch, due) = play(
        cpu(),
        [
            (0, Sighting::Started),
            (1_000, Sighting::Tick),
            (1_000, used(0, 0)),
            (2_000, Sighting::Tick),
            (2_001, Sighting::Output),
            (2_002, used(0, 0)),
            (3_001, Sighting::Tick),
        ],
    );
    assert_eq!(due[4..], [Step::Nothing, Step::Nothing, Step::Sample]);
    assert_eq!(watch.cause(), None);
}

#[test]
fn an_unanswered_measurement_is_not_asked_for_again() {
    for asked_at in [1_000, 2_000] {
        let mut watch = play(cpu(), [(0, Sighting::Started), (1_000, Sighting::Tick)]).0;
        if asked_at == 2_000 {
            assert_eq!(watch.see(used(0, 0), seconds(1)), Step::Nothing);
            assert_eq!(watch.see(Sighting::Tick, seconds(2)), Step::Sample);
        }
        assert_eq!(watch.wake_at(), None);
        assert_eq!(watch.see(Sighting::Tick, seconds(60)), Step::Nothing);
    }
}

#[test]
fn the_overall_limit_holds_while_a_measurement_is_awaited_or_due() {
    let both = || RunOptions { limits: Limits { overall: Some(seconds(3)), ..cpu().limits }, ..cpu() };
    let (watch, due) =
        play(both(), [(0, Sighting::Started), (1_000, Sighting::Tick), (3_000, Sighting::Tick)]);
    assert_eq!((watch.cause(), due), (Some(Cause::OverallTimeout), [Step::Nothing, Step::Sample, TERM]));
    let (watch, _) = play(both(), [(0, Sighting::Started), (3_000, Sighting::Tick)]);
    assert_eq!(watch.cause(), Some(Cause::OverallTimeout));
}

#[test]
fn a_late_first_measurement_leaves_time_enough_to_be_judged_by() {
    let (watch, _) = play(cpu(), [(0, Sighting::Started), (1_900, Sighting::Tick), (1_900, used(0, 0))]);
    assert_eq!(watch.wake_at(), Some(Duration::from_millis(2_400)));
}

#[test]
fn a_measurement_that_nobody_asked_for_decides_nothing() {
    let (watch, due) =
        play(cpu(), [(0, used(0, 0)), (0, Sighting::Started), (1, used(0, 0)), (2, used(9, 9))]);
    assert_eq!((watch.wake_at(), due), (Some(seconds(1)), [const { Step::Nothing }; 4]));
}
