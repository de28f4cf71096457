//! Reads the response to a prompt: how its turn ended. The silence limit for an agent that never responds is elsewhere.

use crate::schema::{Error, PromptResponse, StopReason};
use serde_json::value::RawValue;
use tenure_core::session::Stop;

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnResult {
    /// The agent is done.
    Done,
    /// The agent stopped before it was done, for this reason.
    Cut(Stop, &'static str),
    /// The agent refuses the prompt.
    Refused,
    /// The turn was cancelled.
    Cancelled,
    /// The agent reports an error.
    Failed(String),
}

/// Reads the response to a prompt.
pub fn turn_result(answer: Result<&RawValue, &Error>) -> TurnResult {
    let response = match answer {
        Ok(result) => serde_json::from_str::<PromptResponse>(result.get()),
        Err(error) => return TurnResult::Failed(error_text(error)),
    };
    match response.map(|response| response.stop_reason) {
        Ok(StopReason::MaxTokens) => TurnResult::Cut(Stop::MaxTokens, "it has used up its tokens"),
        Ok(StopReason::MaxTurnRequests) => {
            TurnResult::Cut(Stop::MaxTurnRequests, "it has asked its model as often as it may in a turn")
        }
        Ok(StopReason::Refusal) => TurnResult::Refused,
        Ok(StopReason::Cancelled) => TurnResult::Cancelled,
        // `end_turn`, or a reason of a later version of the protocol.
        Ok(_) => TurnResult::Done,
        Err(error) => TurnResult::Failed(format!("its response is invalid: {error}")),
    }
}

/// Returns an error in the agent's words.
pub fn error_text(error: &Error) -> String {
    match &error.data {
        Some(serde_json::Value::String(more)) => format!("{}: {more}", error.message),
        Some(serde_json::Value::Object(fields)) => {
            let more = ["details", "message", "error"].iter().find_map(|name| fields.get(*name)?.as_str());
            more.map_or_else(|| error.message.clone(), |more| format!("{}: {more}", error.message))
        }
        _ => error.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::raw;
    use serde_json::json;

    fn of(value: &serde_json::Value) -> TurnResult {
        turn_result(Ok(&raw(value)))
    }

    #[test]
    fn every_reason_to_stop_is_told_apart() {
        for (reason, expected) in [
            ("end_turn", TurnResult::Done),
            ("max_tokens", TurnResult::Cut(Stop::MaxTokens, "it has used up its tokens")),
            (
                "max_turn_requests",
                TurnResult::Cut(Stop::MaxTurnRequests, "it has asked its model as often as it may in a turn"),
            ),
            ("refusal", TurnResult::Refused),
            ("cancelled", TurnResult::Cancelled),
        ] {
            assert_eq!(of(&json!({"stopReason": reason})), expected);
        }
        assert!(matches!(of(&json!({"stopped": true})), TurnResult::Failed(_)));
        assert!(matches!(of(&json!(null)), TurnResult::Failed(_)));
    }

    #[test]
    fn an_error_is_told_in_the_agents_words() {
        let error = |data: serde_json::Value| Error::new(-32603, "Internal error").data(data);
        assert_eq!(
            turn_result(Err(&error(json!({"details": "no credit"})))),
            TurnResult::Failed("Internal error: no credit".to_owned())
        );
        assert_eq!(error_text(&error(json!("overloaded"))), "Internal error: overloaded");
        assert_eq!(error_text(&error(json!({"other": 1}))), "Internal error");
    }
}
