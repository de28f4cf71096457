//! Sightings before the command executes.

use super::*;

#[test]
fn a_command_that_cannot_be_executed_ends_as_a_spawn_error() {
    let ended = ending(unlimited(), [(1, not_found())]);
    assert_eq!((ended.reason, ended.code(), ended.confirmed), (Reason::SpawnError, 127, true));
    assert_eq!(ended.detail.as_deref(), Some("no such program"));
}

#[test]
fn a_command_that_executes_is_running() {
    let (watch, due) = play(unlimited(), [(0, Sighting::Started)]);
    assert_eq!((watch.state(), due), (State::Running, [Step::Nothing]));
}

#[test]
fn a_run_without_limits_needs_no_timer() {
    let (watch, _) = play(unlimited(), [(0, Sighting::Started), (1, Sighting::Output)]);
    assert_eq!(watch.wake_at(), None);
}

#[test]
fn a_run_that_starts_is_ended_by_every_cause() {
    for (seen, cause) in [
        (CANCEL, Cause::ManualCancel),
        (Sighting::CallerGone, Cause::OwnerLost),
        (Sighting::Terminated, Cause::OwnerLost),
        (Sighting::Abandoned, Cause::OwnerLost),
        (Sighting::DirectoryDeleted, Cause::OwnerLost),
    ] {
        let (watch, due) = play(unlimited(), [(0, seen)]);
        assert_eq!((watch.state(), watch.cause(), due), (State::Exiting, Some(cause), [TERM]));
    }
    let (watch, due) = play(unlimited(), [(0, Sighting::HolderGone), (60_000, Sighting::Tick)]);
    assert_eq!((watch.cause(), due), (Some(Cause::OwnerLost), [Step::Nothing, TERM]));
}

#[test]
fn a_run_cancelled_before_it_started_ends_once_whatever_comes_of_the_start() {
    let (_, due) = play(
        unlimited(),
        [
            (0, CANCEL),
            (1, Sighting::Started),
            (2, exits(Exit::Signal(15))),
            (3, Sighting::Empty),
            (4, Sighting::Empty),
        ],
    );
    assert!(matches!(due, [_, Step::Nothing, Step::Nothing, Step::Finish(_), Step::Nothing]), "{due:?}");
    let ended = ending(unlimited(), [(0, CANCEL), (1, Sighting::Empty)]);
    assert_eq!((ended.reason, ended.exit_code, ended.signal), (Reason::ManualCancel, None, None));
}

#[test]
fn a_failed_start_after_a_cancel_is_a_cancel_that_tells_of_the_failure() {
    let ended = ending(unlimited(), [(0, CANCEL), (1, not_found())]);
    assert_eq!((ended.reason, ended.exit_code), (Reason::ManualCancel, None));
    assert_eq!(ended.detail.as_deref(), Some("no such program"));
}

#[test]
fn an_exit_seen_before_the_start_was_reported_is_the_commands_own() {
    let ended =
        ending(unlimited(), [(0, exits(Exit::Code(3))), (1, Sighting::Started), (2, Sighting::Empty)]);
    assert_eq!((ended.reason, ended.exit_code), (Reason::Exit, Some(3)));
}

#[test]
fn an_exit_seen_before_a_failed_start_was_reported_is_no_exit_of_the_command() {
    let ended = ending(unlimited(), [(0, exits(Exit::Code(1))), (1, not_found())]);
    assert_eq!((ended.reason, ended.exit_code), (Reason::SpawnError, Some(127)));
    let ended = ending(unlimited(), [(0, CANCEL), (1, exits(Exit::Code(1))), (2, not_found())]);
    assert_eq!((ended.reason, ended.exit_code), (Reason::ManualCancel, None));
}

#[test]
fn a_tree_that_is_gone_unseen_has_an_unknown_exit() {
    let never_seen = ending(unlimited(), [(0, Sighting::Empty)]);
    let running = ending(unlimited(), [(0, Sighting::Started), (1, Sighting::Empty)]);
    for ended in [never_seen, running] {
        assert_eq!((ended.reason, ended.exit_code, ended.signal), (Reason::Exit, None, None));
        assert_eq!((ended.confirmed, ended.code()), (true, 121));
    }
}
