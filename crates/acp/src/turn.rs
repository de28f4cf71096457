//! How a turn ended, by what the agent answered. An agent that never answers is ended by a clock of our own, elsewhere.

use crate::schema::{Error, PromptResponse, StopReason};
use serde_json::value::RawValue;
use tenure_core::session::Stop;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// The agent said what it had to say.
    Done,
    /// The agent stopped before it was done, for this reason.
    Cut(Stop, &'static str),
    /// The agent will not do it.
    Refused,
    /// Somebody had it ended.
    Cancelled,
    /// The agent says that something went wrong.
    Failed(String),
}

/// What the answer to a prompt says.
pub fn over(answer: Result<&RawValue, &Error>) -> Over {
    let response = match answer {
        Ok(result) => serde_json::from_str::<PromptResponse>(result.get()),
        Err(error) => return Over::Failed(said(error)),
    };
    match response.map(|response| response.stop_reason) {
        Ok(StopReason::MaxTokens) => Over::Cut(Stop::MaxTokens, "it has used up its tokens"),
        Ok(StopReason::MaxTurnRequests) => {
            Over::Cut(Stop::MaxTurnRequests, "it has asked its model as often as it may in a turn")
        }
        Ok(StopReason::Refusal) => Over::Refused,
        Ok(StopReason::Cancelled) => Over::Cancelled,
        // `end_turn`; of a reason of a later version, only that the agent is done is known.
        Ok(_) => Over::Done,
        Err(error) => Over::Failed(format!("its answer is not understood: {error}")),
    }
}

/// An error in the agent's words.
pub fn said(error: &Error) -> String {
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

    fn of(value: &serde_json::Value) -> Over {
        over(Ok(&raw(value)))
    }

    #[test]
    fn every_reason_to_stop_is_told_apart() {
        for (reason, expected) in [
            ("end_turn", Over::Done),
            ("max_tokens", Over::Cut(Stop::MaxTokens, "it has used up its tokens")),
            (
                "max_turn_requests",
                Over::Cut(Stop::MaxTurnRequests, "it has asked its model as often as it may in a turn"),
            ),
            ("refusal", Over::Refused),
            ("cancelled", Over::Cancelled),
        ] {
            assert_eq!(of(&json!({"stopReason": reason})), expected);
        }
        assert!(matches!(of(&json!({"stopped": true})), Over::Failed(_)));
        assert!(matches!(of(&json!(null)), Over::Failed(_)));
    }

    #[test]
    fn an_error_is_told_in_the_agents_words() {
        let error = |data: serde_json::Value| Error::new(-32603, "Internal error").data(data);
        assert_eq!(
            over(Err(&error(json!({"details": "no credit"})))),
            Over::Failed("Internal error: no credit".to_owned())
        );
        assert_eq!(said(&error(json!("overloaded"))), "Internal error: overloaded");
        assert_eq!(said(&error(json!({"other": 1}))), "Internal error");
    }
}
