//! The states of a run: `starting → running → exiting → exited`. No state comes back; a run that never runs goes
//! from `starting` to `exiting`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The run was requested; its command has not been executed yet.
    Starting,
    /// The command runs.
    Running,
    /// The command has ended or is being ended; the rest of its tree is being ended.
    Exiting,
    /// The ending is written. Nothing changes any more.
    Exited,
}

/// A transition that runs do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {from} cannot become {to}")]
pub struct IllegalMove {
    /// The present state.
    pub from: State,
    /// The requested state.
    pub to: State,
}

impl State {
    /// Returns the state after the transition to `to`; staying is not a transition.
    pub fn advance(self, to: State) -> Result<State, IllegalMove> {
        use State::{Exited, Exiting, Running, Starting};
        match (self, to) {
            (Starting, Running | Exiting) | (Running, Exiting) | (Exiting, Exited) => Ok(to),
            (Starting, Starting | Exited)
            | (Running, Starting | Running | Exited)
            | (Exiting, Starting | Running | Exiting)
            | (Exited, Starting | Running | Exiting | Exited) => Err(IllegalMove { from: self, to }),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Starting => "starting",
            State::Running => "running",
            State::Exiting => "exiting",
            State::Exited => "exited",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, *};

    #[test]
    fn a_run_only_ever_moves_forward() {
        for from in [Starting, Running, Exiting, Exited] {
            for to in [Starting, Running, Exiting, Exited] {
                if from.advance(to).is_ok() {
                    assert!(to > from, "{from} → {to}");
                }
            }
        }
    }

    #[test]
    fn exited_is_terminal() {
        for to in [Starting, Running, Exiting, Exited] {
            assert!(State::Exited.advance(to).is_err());
        }
    }

    #[test]
    fn every_end_passes_through_exiting() {
        assert!(Starting.advance(Exited).is_err());
        assert!(Running.advance(Exited).is_err());
        assert_eq!(Running.advance(Exiting).and_then(|s| s.advance(Exited)), Ok(Exited));
    }
}
