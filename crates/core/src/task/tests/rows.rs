//! Rows: their words, their JSON, and their events.

use super::*;
use crate::ending::{Exit, Reason, Termination};
use crate::ids::TurnId;
use crate::output::Totals;
use crate::session::{self, Backend, Known, SpawnLimits, SpawnRequest, TurnState, Work, spawn};
use std::str::FromStr;

#[test]
fn a_word_that_is_none_is_refused_with_the_valid_ones() {
    fn refused<T: FromStr<Err = BadWord> + std::fmt::Debug>(text: &str) -> String {
        T::from_str(text).unwrap_err().to_string()
    }
    assert_eq!(
        refused::<NotifyPolicy>("typo"),
        "unknown notify policy \"typo\": use one of done_only, state_changes, silent"
    );
    assert_eq!(
        refused::<Status>("done"),
        "unknown task status \"done\": use one of queued, running, succeeded, failed, timed_out, cancelled, lost"
    );
    assert_eq!(refused::<Kind>("exec"), "unknown task kind \"exec\": use one of run, acp, subagent, cli");
    let words: Vec<_> = DeliveryStatus::ALL.iter().map(|it| it.word()).collect();
    let expected = ["pending", "delivered", "session_queued", "failed", "parent_missing", "not_applicable"];
    assert_eq!(words, expected);
    for status in Status::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.word());
        assert_eq!(status.word().parse(), Ok(*status));
    }
}

#[test]
fn a_task_as_json_has_every_field_of_the_contract() {
    let json = serde_json::to_value(task()).unwrap();
    for field in "taskId kind status deliveryStatus notifyPolicy runId ownerSessionKey childSessionKey label \
                  progressSummary terminalSummary error recentEvents createdAtMs startedAtMs endedAtMs \
                  lastEventAtMs cleanupAfterMs"
        .split_whitespace()
    {
        assert!(json.as_object().unwrap().contains_key(field), "{field}: {json}");
    }
    assert_eq!(
        (&json["kind"], &json["status"], &json["notifyPolicy"]),
        (&"run".into(), &"queued".into(), &"done_only".into())
    );
    assert_eq!(serde_json::from_value::<TaskRow>(json).unwrap(), task());
}

#[test]
fn what_has_ended_is_kept_for_a_week_and_what_is_lost_for_a_day() {
    const HOUR: u64 = 3_600_000;
    for end in End::ALL {
        let mut row = task();
        let _ = row.end(verdict(Some(end)), NOW + 5, NOW + 6).unwrap();
        assert_eq!((row.ended_at_ms, row.cleanup_after_ms), (Some(NOW + 5), Some(NOW + 5 + 7 * 24 * HOUR)));
        assert_eq!((row.status, row.last_event_at_ms), (end.status(), NOW + 6));
    }
    let mut row = task();
    let (step, event) = row.end(Verdict::lost("its run is gone"), NOW, NOW).unwrap();
    assert_eq!((step.tells, event.kind), (Some(Telling::Terminal), EventKind::Lost));
    assert_eq!(
        (row.cleanup_after_ms, row.error.as_deref()),
        (Some(NOW + 24 * HOUR), Some("its run is gone"))
    );
    let (step, event) = row.end(verdict(Some(End::Succeeded)), NOW + 1, NOW + 9).unwrap();
    assert_eq!((step.tells, event.kind), (Some(Telling::Correction), EventKind::Corrected));
    assert_eq!((row.cleanup_after_ms, row.error), (Some(NOW + 1 + 7 * 24 * HOUR), None));
}

#[test]
fn a_wish_to_cancel_is_noted_and_the_end_decides() {
    let mut row = task();
    let _ = row.start(NOW, NOW).unwrap();
    let _ = row.ask_cancel(NOW + 1).unwrap();
    let _ = row.ask_cancel(NOW + 2).unwrap();
    assert_eq!((row.status, row.cancel_asked_at_ms), (Status::Running, Some(NOW + 1)));
    let _ = row.end(verdict(Some(End::Succeeded)), NOW + 3, NOW + 3).unwrap();
    assert_eq!(row.status, Status::Succeeded, "it was faster");
    let over = Refused::Over(Over { status: Status::Succeeded });
    assert_eq!(row.ask_cancel(NOW + 4).unwrap_err(), over);
}

#[test]
fn every_ending_of_a_run_is_an_end_of_its_task() {
    use Reason::{
        Exit as Exited, ManualCancel, NoOutputTimeout, OverallTimeout, OwnerLost, OwnershipEscape,
        ReconciledStale, Signal, SpawnError,
    };
    let (zero, three) = (Some(Exit::Code(0)), Some(Exit::Code(3)));
    let cases = [
        (Exited, zero, Some(End::Succeeded)),
        (Exited, three, Some(End::Failed)),
        (Exited, None, None),
        (Signal, Some(Exit::Signal(9)), Some(End::Failed)),
        (ManualCancel, zero, Some(End::Cancelled)),
        (OverallTimeout, zero, Some(End::TimedOut)),
        (NoOutputTimeout, None, Some(End::TimedOut)),
        (SpawnError, None, Some(End::Failed)),
        (OwnershipEscape, zero, Some(End::Failed)),
        (OwnerLost, None, Some(End::Failed)),
        (ReconciledStale, None, None),
    ];
    for reason in Reason::ALL {
        assert!(cases.iter().any(|case| case.0 == reason), "{reason}");
    }
    for (reason, exit, end) in cases {
        let how = Termination::new(reason, exit, Some("more\u{1b}[31m\nof it".to_owned()));
        let got = Verdict::of_run(&how, Totals { bytes: 7, dropped_bytes: 0 });
        assert_eq!(got.end, end, "{reason}");
        assert_eq!(got.error.is_none(), matches!(end, Some(End::Succeeded | End::Cancelled)), "{reason}");
        assert!(got.summary.as_ref().unwrap().ends_with(": more of it"), "{got:?}");
        assert_eq!((got.outcome.reason, got.outcome.output_bytes), (Some(reason), Some(7)));
    }
}

#[test]
fn every_outcome_of_a_turn_is_an_end_of_its_task() {
    let ends = [
        (TurnState::Done, Some(End::Succeeded)),
        (TurnState::Failed, Some(End::Failed)),
        (TurnState::Cancelled, Some(End::Cancelled)),
        (TurnState::TimedOut, Some(End::TimedOut)),
        (TurnState::Lost, None),
    ];
    for (state, end) in ends {
        let got = Verdict::of_turn(state, Some("I did\nit"), Some("")).unwrap();
        // The words of an unfinished turn are not an answer.
        let answer = (state == TurnState::Done).then_some("I did it");
        assert_eq!((got.end, got.summary.as_deref(), got.error), (end, answer, None));
    }
    assert_eq!(Verdict::of_turn(TurnState::Running, None, None), None);
    assert_eq!(Verdict::withdrawn().end, Some(End::Cancelled));
}

#[test]
fn a_turns_kind_is_that_of_its_session() {
    use session::Kind as Of;
    for (of, backend, kind) in [
        (Of::Subagent, Backend::Cli, Kind::Subagent),
        (Of::Subagent, Backend::Acp, Kind::Subagent),
        (Of::Cli, Backend::Cli, Kind::Cli),
        (Of::Main, Backend::Acp, Kind::Acp),
        (Of::Exec, Backend::Exec, Kind::Run),
        (Of::Main, Backend::Run, Kind::Run),
    ] {
        assert_eq!(Kind::of_turn(of, backend), kind, "{of} {backend}");
    }
}

#[test]
fn an_owner_is_told_on_its_own_channel_unless_it_has_none_to_speak_on() {
    let row = |name: &str, interaction, origin| {
        let request = SpawnRequest {
            key: key(name),
            agent: None,
            kind: session::Kind::Main,
            mode: session::Mode::Persistent,
            backend: Backend::Cli,
            by: None,
            instance: InstanceId::from_random([7; 12]),
            origin,
            interaction: None,
            sandboxed: false,
            work: Work::default(),
            now_ms: 1,
        };
        let row = spawn(None, request, Known::default(), SpawnLimits::default()).unwrap();
        session::SessionRow { interaction, ..row }
    };
    let other = Origin { channel: "mail".to_owned(), ..slack() };
    let speaks = row("a", Interaction::Interactive, Some(slack()));
    let child = row("b", Interaction::Interactive, Some(other.clone()));
    let hidden = row("c", Interaction::ParentOwnedBackground, Some(slack()));
    assert_eq!(origin_for(Some(&speaks), Some(&child)), Some(slack()));
    assert_eq!(origin_for(Some(&speaks), Some(&hidden)), Some(slack()));
    assert_eq!(origin_for(Some(&hidden), Some(&child)), None, "not even by way of its child");
    assert_eq!(origin_for(None, Some(&child)), Some(other));
    assert_eq!(origin_for(None, Some(&hidden)), None);
    assert_eq!(origin_for(None, None), None);
}

#[test]
fn the_ids_of_tasks_and_turns_are_not_the_same_thing() {
    let turn = TurnId::from_random([3; 12]);
    let mut row = task();
    row.turn = Some(turn.clone());
    assert_eq!(serde_json::to_value(row).unwrap()["turnId"], turn.as_str());
}
