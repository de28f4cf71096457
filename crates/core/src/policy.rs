//! Decides if a command of an agent's `exec` tool runs, needs approval, or is refused. [`decide`] is the only
//! decision. It takes the result of the allowlist and does not know how a command line is matched.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The commands that an agent may execute; ordered, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// No command.
    Deny,
    /// The commands on the allowlist.
    Allowlist,
    /// The commands on the allowlist; the rest needs approval.
    Ask,
    /// Every command.
    Full,
}

/// The cases in which a command needs approval; ordered, the most lenient first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Never.
    #[default]
    Off,
    /// For commands that the allowlist does not allow.
    OnMiss,
    /// For every command.
    Always,
}

/// The allowlist's result for a whole command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Every segment of the line is allowed.
    Every,
    /// A segment is not allowed, or the line cannot be split into segments.
    No {
        /// The segment and the reason, as one clause without a full stop.
        why: String,
    },
}

/// The decision about a command.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "decision")]
pub enum Decision {
    /// The command runs.
    Run,
    /// The command waits for approval.
    Ask,
    /// The command is refused.
    Deny {
        /// The reason, and the way to fix it.
        why: String,
    },
}

/// A word that is not a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode {0:?}: use deny, allowlist, ask or full")]
pub struct BadMode(pub String);

/// A word that does not say when to ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {0:?} for ask: use off, on-miss or always")]
pub struct BadAsk(pub String);

/// Decides about a command. `settings` is the `ask` of the settings, `call` that of the call: a call can ask for
/// more caution than the settings, never for less.
pub fn decide(mode: Mode, settings: Ask, call: Option<Ask>, listed: &Listed) -> Decision {
    let ask = settings.max(call.unwrap_or_default());
    match mode {
        Mode::Deny => Decision::Deny { why: DENIED.to_owned() },
        Mode::Full => full(ask),
        Mode::Allowlist => by_allowlist(ask, listed),
        Mode::Ask => by_allowlist(ask.max(Ask::OnMiss), listed),
    }
}

const DENIED: &str = "the exec mode is deny, so no command runs: have the operator set another mode";

/// Decides in mode `full`, in which nothing is a miss.
fn full(ask: Ask) -> Decision {
    match ask {
        Ask::Off | Ask::OnMiss => Decision::Run,
        Ask::Always => Decision::Ask,
    }
}

fn by_allowlist(ask: Ask, listed: &Listed) -> Decision {
    match (ask, listed) {
        (Ask::Always, Listed::Every | Listed::No { .. }) | (Ask::OnMiss, Listed::No { .. }) => Decision::Ask,
        (Ask::Off | Ask::OnMiss, Listed::Every) => Decision::Run,
        (Ask::Off, Listed::No { why }) => Decision::Deny {
            why: format!("{why}; have the operator allow it, or make the call with ask = on-miss"),
        },
    }
}

impl Mode {
    /// All modes, the strictest first.
    pub const ALL: [Self; 4] = [Self::Deny, Self::Allowlist, Self::Ask, Self::Full];

    /// Returns the word on the wire and in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allowlist => "allowlist",
            Self::Ask => "ask",
            Self::Full => "full",
        }
    }
}

impl Ask {
    /// All values, the most lenient first.
    pub const ALL: [Self; 3] = [Self::Off, Self::OnMiss, Self::Always];

    /// Returns the word on the wire and in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::OnMiss => "on-miss",
            Self::Always => "always",
        }
    }
}

impl FromStr for Mode {
    type Err = BadMode;

    fn from_str(text: &str) -> Result<Self, BadMode> {
        Self::ALL.into_iter().find(|mode| mode.word() == text).ok_or_else(|| BadMode(text.to_owned()))
    }
}

impl FromStr for Ask {
    type Err = BadAsk;

    fn from_str(text: &str) -> Result<Self, BadAsk> {
        Self::ALL.into_iter().find(|ask| ask.word() == text).ok_or_else(|| BadAsk(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss() -> Listed {
        Listed::No { why: "rm is in no entry".to_owned() }
    }

    fn letter(decision: &Decision) -> char {
        match decision {
            Decision::Run => 'r',
            Decision::Ask => 'a',
            Decision::Deny { .. } => 'd',
        }
    }

    /// A row per mode. In it, for each `ask` of the settings and each `ask` of the call (none, off, on-miss,
    /// always): the decision for a listed and for an unlisted command.
    const TABLE: [(Mode, [&str; 3]); 4] = [
        (Mode::Deny, ["dd dd dd dd", "dd dd dd dd", "dd dd dd dd"]),
        (Mode::Allowlist, ["rd rd ra aa", "ra ra ra aa", "aa aa aa aa"]),
        (Mode::Ask, ["ra ra ra aa", "ra ra ra aa", "aa aa aa aa"]),
        (Mode::Full, ["rr rr rr aa", "rr rr rr aa", "aa aa aa aa"]),
    ];

    #[test]
    fn the_whole_table_is_as_written() {
        let calls = [None, Some(Ask::Off), Some(Ask::OnMiss), Some(Ask::Always)];
        assert_eq!(TABLE.map(|(mode, _)| mode), Mode::ALL);
        for (mode, rows) in TABLE {
            for (settings, row) in Ask::ALL.into_iter().zip(rows) {
                let decided = calls.map(|call| {
                    [Listed::Every, miss()]
                        .map(|it| letter(&decide(mode, settings, call, &it)))
                        .iter()
                        .collect()
                });
                let decided: [String; 4] = decided;
                assert_eq!(decided.join(" "), row, "{mode}, {settings}");
            }
        }
    }

    #[test]
    fn a_call_never_makes_a_decision_more_lenient() {
        let rank = |decision: &Decision| "rad".find(letter(decision));
        for mode in Mode::ALL {
            for settings in Ask::ALL {
                for listed in [Listed::Every, miss()] {
                    let plain = decide(mode, settings, None, &listed);
                    for call in Ask::ALL {
                        let hardened = decide(mode, settings, Some(call), &listed);
                        // A call may turn a refusal into a request for approval: then a person decides.
                        let asked = hardened == Decision::Ask && mode == Mode::Allowlist;
                        assert!(asked || rank(&hardened) >= rank(&plain), "{mode}, {settings}, {call}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_refusal_says_why_and_what_to_do() {
        let Decision::Deny { why } = decide(Mode::Allowlist, Ask::Off, None, &miss()) else { panic!() };
        assert!(why.starts_with("rm is in no entry; ") && why.contains("on-miss"), "{why}");
        let Decision::Deny { why } = decide(Mode::Deny, Ask::Always, Some(Ask::Always), &Listed::Every)
        else {
            panic!()
        };
        assert!(why.contains("deny"), "{why}");
    }

    #[test]
    fn words_read_back_and_are_the_same_in_json() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.word());
        }
        for ask in Ask::ALL {
            assert_eq!(ask.to_string().parse(), Ok(ask));
            assert_eq!(serde_json::to_value(ask).unwrap(), ask.word());
        }
        assert!("onmiss".parse::<Ask>().unwrap_err().to_string().contains("on-miss"));
        assert!("FULL".parse::<Mode>().unwrap_err().to_string().contains("full"));
        assert!(Mode::ALL.is_sorted() && Ask::ALL.is_sorted());
    }
}
