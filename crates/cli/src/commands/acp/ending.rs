//! Exit codes and messages for the end of a turn.

use crate::print;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::session::{Stop, TurnState};
use tenure_core::tools::sessions::TurnJson;

/// Exit code of a turn that the agent refused, or that ended because the agent was refused a permission.
pub(super) const REFUSED: u8 = 120;

/// The exit code of a turn that has ended.
pub(super) fn code(turn: &TurnJson) -> u8 {
    match (turn.state, turn.stop) {
        (TurnState::Lost, _) => 121,
        (_, Some(Stop::EndTurn)) | (TurnState::Done, None) => 0,
        (_, Some(Stop::Error | Stop::MaxTokens | Stop::MaxTurnRequests)) | (TurnState::Failed, None) => 1,
        (_, Some(Stop::Crashed)) => 119,
        (_, Some(Stop::Refusal)) => REFUSED,
        (_, Some(Stop::Cancelled)) | (TurnState::Cancelled, None) => 123,
        (_, Some(Stop::TimedOut)) | (TurnState::TimedOut | TurnState::Running, None) => 124,
    }
}

/// Error message for an ended turn, if something went wrong.
pub(super) fn error_message(turn: &TurnJson) -> Option<String> {
    let error = turn.error.as_deref().map(print::plain);
    if code(turn) == 0 {
        return error;
    }
    let message = match (turn.state, turn.stop) {
        (TurnState::Lost, _) => "how the turn ended is unknown",
        (_, Some(Stop::MaxTokens)) => "the agent reached its token limit",
        (_, Some(Stop::MaxTurnRequests)) => "the agent reached its limit of model requests per turn",
        (_, Some(Stop::Refusal)) => "the agent refused",
        (_, Some(Stop::Crashed)) => "the agent's process ended during the turn",
        (TurnState::Cancelled, _) | (_, Some(Stop::Cancelled)) => "the turn was cancelled",
        (TurnState::TimedOut, _) | (_, Some(Stop::TimedOut)) => "the turn timed out",
        _ => "the turn failed",
    };
    Some(error.map_or(message.to_owned(), |error| format!("{message}: {error}")))
}

/// Closing line of a turn: how it ended, its duration and its usage.
pub(super) fn closing_line(turn: &TurnJson, usage: Option<&str>) -> String {
    let how = turn.stop.map_or(turn.state.word(), Stop::word);
    let took = turn.ended_at_ms.map(|at| Duration::from_millis(at.saturating_sub(turn.began_at_ms)));
    let took = took.map_or(String::new(), |took| format!(" after {}", show(took)));
    let usage = usage.map_or(String::new(), |usage| format!(", {usage}"));
    format!("turn {}: {how}{took}{usage}", turn.number)
}

/// Closing line of a turn in a history, with its error.
pub(super) fn history_line(turn: &TurnJson) -> String {
    let error = turn.error.as_deref().map_or(String::new(), |error| format!(": {}", print::plain(error)));
    format!("{}{error}", closing_line(turn, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn turn(state: TurnState, stop: Option<Stop>) -> TurnJson {
        let turn = json!({"turnId": "0123456789abcdef01234567", "number": 3, "state": state, "stop": stop,
            "askedBy": "operator", "message": "hi", "text": null, "error": null, "runId": null, "sentAtMs": 1,
            "beganAtMs": 1000, "endedAtMs": 3000});
        serde_json::from_value(turn).unwrap()
    }

    #[test]
    fn every_reason_to_stop_has_its_exit_code() {
        let codes = Stop::ALL.iter().map(|&stop| (stop.word(), code(&turn(TurnState::Failed, Some(stop)))));
        assert!(codes.eq([
            ("end-turn", 0),
            ("max-tokens", 1),
            ("max-turn-requests", 1),
            ("refusal", 120),
            ("cancelled", 123),
            ("timed-out", 124),
            ("error", 1),
            ("crashed", 119),
        ]));
        assert_eq!(code(&turn(TurnState::Lost, None)), 121);
        assert_eq!(code(&turn(TurnState::Lost, Some(Stop::Crashed))), 121);
        assert_eq!(code(&turn(TurnState::Cancelled, None)), 123);
        assert_eq!(code(&turn(TurnState::Done, None)), 0);
    }

    #[test]
    fn only_a_failed_turn_has_an_error_message() {
        assert_eq!(error_message(&turn(TurnState::Done, Some(Stop::EndTurn))), None);
        let mut failed = turn(TurnState::Failed, Some(Stop::Crashed));
        failed.error = Some("exit code 3\nlast words".to_owned());
        let message = error_message(&failed).unwrap();
        assert_eq!(message, "the agent's process ended during the turn: exit code 3 last words");
    }

    #[test]
    fn the_closing_line_has_the_duration() {
        let line = closing_line(&turn(TurnState::Done, Some(Stop::EndTurn)), Some("5 of 10 tokens"));
        assert_eq!(line, "turn 3: end-turn after 2.0 s, 5 of 10 tokens");
        let mut failed = turn(TurnState::Failed, Some(Stop::Crashed));
        failed.error = Some("exit 3".to_owned());
        assert_eq!(history_line(&failed), "turn 3: crashed after 2.0 s: exit 3");
    }
}
