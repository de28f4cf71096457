//! The end of a task, derived from the end of the run or turn that it tracks. A timeout is never a success,
//! whatever the exit code; an exit that nobody saw is neither success nor failure.

use super::row::Outcome;
use super::step::{End, Event};
use super::text;
use crate::defaults::TASK_SUMMARY;
use crate::ending::{Reason, Termination};
use crate::output::Totals;
use crate::session::TurnState;

/// The end of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The end; `None` if nobody saw it.
    pub end: Option<End>,
    /// The result, for people.
    pub summary: Option<String>,
    /// The error, for people.
    pub error: Option<String>,
    /// Further facts.
    pub outcome: Outcome,
}

impl Verdict {
    /// Returns the verdict on a task that tracked a run.
    pub fn of_run(how: &Termination, output: Totals) -> Self {
        let end = match how.reason {
            Reason::Exit => match how.exit_code {
                Some(0) => Some(End::Succeeded),
                Some(_) => Some(End::Failed),
                None => None,
            },
            Reason::OverallTimeout | Reason::NoOutputTimeout => Some(End::TimedOut),
            Reason::ManualCancel => Some(End::Cancelled),
            // A run whose owner was lost was not cancelled by anybody, so that its work is unfinished is a failure.
            Reason::Signal | Reason::SpawnError | Reason::OwnershipEscape | Reason::OwnerLost => {
                Some(End::Failed)
            }
            Reason::ReconciledStale => None,
        };
        let sentence = text::line(&how.sentence(), TASK_SUMMARY);
        let error = match end {
            Some(End::Succeeded | End::Cancelled) => None,
            Some(End::Failed | End::TimedOut) | None => Some(sentence.clone()),
        };
        let outcome = Outcome {
            reason: Some(how.reason),
            exit_code: how.exit_code,
            signal: how.signal,
            confirmed: Some(how.confirmed),
            output_bytes: Some(output.bytes),
        };
        Self { end, summary: Some(sentence), error, outcome }
    }

    /// Returns the verdict on a task that tracked a turn; `None` while it runs. The agent's words are the answer
    /// only if the turn is done; otherwise they are talk on the way, which stays in the session's history.
    pub fn of_turn(state: TurnState, said: Option<&str>, error: Option<&str>) -> Option<Self> {
        let end = match state {
            TurnState::Running => return None,
            TurnState::Done => Some(End::Succeeded),
            TurnState::Failed => Some(End::Failed),
            TurnState::Cancelled => Some(End::Cancelled),
            TurnState::TimedOut => Some(End::TimedOut),
            TurnState::Lost => None,
        };
        let short = |text: Option<&str>| {
            text.map(|text| text::line(text, TASK_SUMMARY)).filter(|text| !text.is_empty())
        };
        let answer = said.filter(|_| end == Some(End::Succeeded));
        Some(Self { end, summary: short(answer), error: short(error), outcome: Outcome::default() })
    }

    /// Returns the verdict on a task that was withdrawn before it began.
    pub fn withdrawn() -> Self {
        Self {
            end: Some(End::Cancelled),
            summary: Some("withdrawn before it began".to_owned()),
            error: None,
            outcome: Outcome::default(),
        }
    }

    /// Returns the verdict on a task that nothing backs any more.
    pub fn lost(why: &str) -> Self {
        let why = text::line(why, TASK_SUMMARY);
        Self { end: None, summary: None, error: Some(why), outcome: Outcome::default() }
    }

    /// Returns the event for the task.
    pub fn event(&self) -> Event {
        self.end.map_or(Event::Lost, Event::Ended)
    }
}
